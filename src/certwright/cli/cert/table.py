"""Contents and diagnostics as text: the chain as a tree, then each certificate."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from certwright import pki
from certwright.cli.cert.contents import Contents
from certwright.cli.cert.details import CertificateDetails, details_of, names_of, plain
from certwright.cli.cert.diagnostics import Diagnostic
from certwright.pki.certificates import alternative_names

_WIDTH = 14


def table(contents: Contents, diagnostics: Sequence[Diagnostic], now: datetime) -> str:
    """Return everything as text."""
    return "\n".join(_lines(contents, diagnostics, now)) + "\n"


def _lines(contents: Contents, diagnostics: Sequence[Diagnostic], now: datetime) -> Iterator[str]:
    yield contents.source
    if contents.certificates:
        yield ""
        yield from drawn(contents, now)
    for number, certificate in enumerate(contents.certificates, 1):
        yield ""
        yield from _certificate(number, details_of(certificate), contents, now)
    if contents.request is not None and not contents.certificates:
        yield ""
        yield from _request(contents.request)
    elif contents.key is not None and not contents.certificates:
        yield _row("private key", str(pki.key_spec(contents.key)))
    if contents.conditions:
        yield ""
        yield from (f"  {plain(condition)}" for condition in contents.conditions)
    yield ""
    if not diagnostics:
        yield "no findings"
    for diagnostic in diagnostics:
        about = f"certificate {diagnostic.certificate}: " if diagnostic.certificate else ""
        text = f"{about}{plain(diagnostic.message)}"
        yield f"{diagnostic.severity.upper():8} {diagnostic.name}  {text}"


def drawn(contents: Contents, now: datetime) -> Iterator[str]:
    """Yield the certificates as a tree, the roots on top; what is missing is named."""
    certificates = [*contents.certificates, *contents.trusted]
    certificates = list(dict.fromkeys(certificates))
    parents = {one: _parent(one, certificates) for one in certificates}
    children: dict[x509.Certificate | None, list[x509.Certificate]] = {}
    for one, parent in parents.items():
        children.setdefault(parent, []).append(one)

    def below(one: x509.Certificate, indent: str, branch: str) -> Iterator[str]:
        own = f"{indent}{branch}{_subject(one)}"
        note = "  trusted" if one in contents.trusted else ""
        yield f"  {own:<54} {_left(pki.Validity.of(one), now)}{note}"
        deeper = indent + "   " if branch else indent
        for child in children.get(one, []):
            yield from below(child, deeper, "└─ ")

    for top in children.get(None, []):
        if top.subject == top.issuer:
            yield from below(top, "", "")
        else:
            yield f"  {plain(pki.format_name(top.issuer)):<54} not included"
            yield from below(top, "", "└─ ")


def _parent(one: x509.Certificate, among: Sequence[x509.Certificate]) -> x509.Certificate | None:
    if one.subject == one.issuer:
        return None
    for other in among:
        if other is one or other.subject != one.issuer:
            continue
        try:
            one.verify_directly_issued_by(other)
        except (InvalidSignature, ValueError, TypeError):
            continue
        return other
    return None


def _certificate(
    number: int, details: CertificateDetails, contents: Contents, now: datetime
) -> Iterator[str]:
    yield f"certificate {number}: {details.subject or '(no subject)'}"
    yield _row("issuer", details.issuer)
    yield _row("serial", details.serial)
    yield _row("valid", f"{_instant(details.not_before)} to {_instant(details.not_after)}")
    if not details.is_authority:
        when = "due" if now >= details.renewal else "from"
        yield _row("renewal", f"{when} {_instant(details.renewal)}")
    for kind, names in details.names.items():
        yield _row(f"{kind} names" if kind != "ip" else "addresses", ", ".join(names))
    yield _row("usages", ", ".join([*details.usages, *details.extended_usages]) or "any")
    if details.is_authority:
        limit = "any" if details.path_length is None else details.path_length
        yield _row("authority", f"path length {limit}")
    matches = ""
    if contents.key is not None and number == 1:
        matches = f", private key {'matches' if _matches(contents) else 'DOES NOT MATCH'}"
    yield _row("key", details.key + matches)
    yield _row("signature", details.signature)
    for label, urls in (
        ("CRL", details.revocation_lists),
        ("OCSP", details.ocsp),
        ("issued by", details.issuing_certificates),
    ):
        if urls:
            yield _row(label, ", ".join(urls))
    yield _row("SHA-256", details.fingerprint)


def _request(request: pki.SigningRequest) -> Iterator[str]:
    subject = plain(pki.format_name(request.subject))
    yield f"signing request: {subject or '(no subject)'}"
    for kind, names in names_of(request.names).items():
        yield _row(f"{kind} names" if kind != "ip" else "addresses", ", ".join(names))
    if request.usages is not None:
        usages = [*request.usages.key_words(), *request.usages.extended_words()]
        yield _row("usages", ", ".join(usages))
    if request.is_ca:
        yield _row("authority", "yes")
    yield _row("key", str(pki.key_spec(request.public_key)))


def _matches(contents: Contents) -> bool:
    assert contents.key is not None
    try:
        pki.check_key_pair(contents.certificates[0], contents.key)
    except pki.CertificateRefused:
        return False
    return True


def _row(label: str, value: str) -> str:
    return f"  {label:<{_WIDTH}} {value}"


def _subject(certificate: x509.Certificate) -> str:
    names = alternative_names(certificate)
    first = next(iter([*names.dns, *map(str, names.ips), *names.uris]), "(no subject)")
    return plain(pki.format_name(certificate.subject) or first)


def _left(validity: pki.Validity, now: datetime) -> str:
    until = f"until {validity.not_after:%Y-%m-%d}"
    if not validity.covers(now):
        return f"{until}  {'EXPIRED' if now > validity.not_after else 'NOT YET VALID'}"
    left = validity.not_after - now
    if left > timedelta(days=2):
        return f"{until}  {left.days} days left"
    return f"{until}  {left // timedelta(hours=1)} hours left"


def _instant(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
