"""Name constraints (RFC 5280, 4.2.1.10): which names an authority may sign for."""

import ipaddress
from collections.abc import Callable, Iterable
from typing import TypeAlias
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.x509.oid import NameOID

from certwright.pki.errors import Violation, quoted

NormalName: TypeAlias = tuple[frozenset[tuple[str, str | bytes]], ...]


def name_violations(
    subject: x509.Name, names: x509.SubjectAlternativeName | None, constraints: x509.NameConstraints
) -> list[Violation]:
    """Return the names that the constraints forbid, each as ``NameForbidden``.

    A name is forbidden if it lies in an excluded subtree, or if there are permitted
    subtrees of its kind and it lies in none. What cannot be checked (a kind without rules, a
    URI without a host) is forbidden as soon as its kind is constrained at all.
    """
    permitted = list(constraints.permitted_subtrees or ())
    excluded = list(constraints.excluded_subtrees or ())
    found: list[Violation] = []
    for name in _constrained(subject, names):
        inside = [tree for tree in permitted if type(tree) is type(name)]
        outside = [tree for tree in excluded if type(tree) is type(name)]
        if not inside and not outside:
            continue
        rule = _RULES.get(type(name))
        if rule is None or (rule is _uri and not _host_of(name.value)):
            found.append(Violation("NameForbidden", f"{_shown(name)} cannot be checked"))
        elif any(rule(name.value, tree.value) for tree in outside):
            found.append(Violation("NameForbidden", f"{_shown(name)} is excluded"))
        elif inside and not any(rule(name.value, tree.value) for tree in inside):
            found.append(Violation("NameForbidden", f"{_shown(name)} is not permitted"))
    return found


def normal_name(name: x509.Name) -> NormalName:
    """Return a form that is equal for names which RFC 5280 (7.1) holds for the same."""
    return tuple(
        frozenset((attribute.oid.dotted_string, _folded(attribute.value)) for attribute in rdn)
        for rdn in name.rdns
    )


def _folded(value: str | bytes) -> str | bytes:
    return " ".join(value.split()).casefold() if isinstance(value, str) else value


def _constrained(
    subject: x509.Name, names: x509.SubjectAlternativeName | None
) -> Iterable[x509.GeneralName]:
    if subject.rdns:
        yield x509.DirectoryName(subject)
    yield from names or ()
    if names is None or not any(isinstance(name, x509.RFC822Name) for name in names):
        # Old certificates carry the mail address in the subject.
        for attribute in subject.get_attributes_for_oid(NameOID.EMAIL_ADDRESS):
            if isinstance(attribute.value, str) and attribute.value.isascii():
                yield x509.RFC822Name(attribute.value)


def _directory(name: x509.Name, tree: x509.Name) -> bool:
    wanted = normal_name(tree)
    return normal_name(name)[: len(wanted)] == wanted


def _dns(name: str, tree: str) -> bool:
    return f".{name.lower()}".endswith(f".{tree.lower().removeprefix('.')}") if tree else True


def _email(name: str, tree: str) -> bool:
    local, _, host = name.rpartition("@")
    if "@" in tree:
        tree_local, _, tree_host = tree.rpartition("@")
        return local == tree_local and host.lower() == tree_host.lower()
    return _host(host, tree)


def _uri(name: str, tree: str) -> bool:
    return _host(_host_of(name), tree)


def _host_of(uri: str) -> str:
    try:
        return urlsplit(uri).hostname or ""
    except ValueError:
        return ""


def _host(host: str, tree: str) -> bool:
    """Match a host: a tree with a leading dot means the hosts below it, without one that host."""
    if tree.startswith("."):
        return host.lower().endswith(tree.lower())
    return host.lower() == tree.lower()


def _address(
    name: ipaddress.IPv4Address | ipaddress.IPv6Address,
    tree: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> bool:
    return name in tree


def _shown(name: x509.GeneralName) -> str:
    value = name.value
    return quoted(value.rfc4514_string() if isinstance(value, x509.Name) else value)


_RULES: dict[type[x509.GeneralName], Callable[..., bool]] = {
    x509.DirectoryName: _directory,
    x509.DNSName: _dns,
    x509.RFC822Name: _email,
    x509.UniformResourceIdentifier: _uri,
    x509.IPAddress: _address,
}
