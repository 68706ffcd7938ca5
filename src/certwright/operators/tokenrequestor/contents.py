"""Where the token is in a Secret, and the data of the Secret with a new one.

``data.token``, or the user of the current context in ``data.kubeconfig`` if there is one. With
`TokenRequest.inject_ca_bundle` the authority of the target's API server goes beside it:
``data["bundle.crt"]``, or the cluster of the current context. Everything else in a kubeconfig stays
as it is. Messages never quote it: it holds credentials.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from certwright.apply import ReadLimits, read_text
from certwright.kube import JsonObject

TOKEN: Final = "token"  # noqa: S105 - a key of data
KUBECONFIG: Final = "kubeconfig"
CA_BUNDLE: Final = "bundle.crt"


@dataclass(frozen=True, slots=True)
class SecretContents:
    """What is stored in a Secret. The repr does not show it."""

    token: str = field(repr=False)
    ca_bundle: bytes | None = field(default=None, repr=False)
    """PEM; None if it was not asked for."""


def held_token(secret: JsonObject) -> str:
    """Return the token a Secret holds; empty if there is none that can be read."""
    data = secret.get("data") or {}
    try:
        if KUBECONFIG in data:
            return token_in(_text(data[KUBECONFIG]))
        return _text(data.get(TOKEN) or "")
    except (KubeconfigError, UnicodeDecodeError, binascii.Error):
        return ""


def holds_ca_bundle(secret: JsonObject, ca_bundle: bytes) -> bool:
    """Return whether a Secret holds this authority where it should."""
    data = secret.get("data") or {}
    wanted = base64.b64encode(ca_bundle).decode()
    try:
        if KUBECONFIG in data:
            return ca_bundle_in(_text(data[KUBECONFIG])) == wanted
    except (KubeconfigError, UnicodeDecodeError, binascii.Error):
        return False
    return bool(data.get(CA_BUNDLE) == wanted)


def filled(template: Mapping[str, str], contents: SecretContents) -> dict[str, str]:
    """Return the ``data`` keys that hold token and authority, as base64.

    *template* is the ``data`` of the Secret that asks: its kubeconfig, if it has one, is what gets
    filled in. Raises `KubeconfigError` if the kubeconfig has no place for them.
    """
    bundle = contents.ca_bundle
    if KUBECONFIG in template:
        try:
            text = _text(template[KUBECONFIG])
        except (UnicodeDecodeError, binascii.Error):
            raise KubeconfigError("data.kubeconfig is not UTF-8; replace it") from None
        encoded = None if bundle is None else base64.b64encode(bundle).decode()
        return {KUBECONFIG: _base64(with_token(text, contents.token, encoded).encode())}
    keys = {TOKEN: _base64(contents.token.encode())}
    return keys if bundle is None else {**keys, CA_BUNDLE: _base64(bundle)}


def _text(value: str) -> str:
    return base64.b64decode(value, validate=True).decode()


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


# Kubeconfigs


_LIMITS: Final = ReadLimits(size=1024 * 1024, documents=1, depth=50, nodes=50_000, aliases=0)
_PLAIN: Final = re.compile(r"[A-Za-z][-A-Za-z0-9_./:]+")


class KubeconfigError(ValueError):
    """A kubeconfig has no place for a token; the message names what is missing."""


def token_in(text: str) -> str:
    """Return the token of the current context's user, or ""; `KubeconfigError` without a user."""
    token = _current(_read(text), "user").get("token") or ""
    return token if isinstance(token, str) else ""


def ca_bundle_in(text: str) -> str:
    """Return the authority of the current cluster, or ""; `KubeconfigError` without a cluster."""
    bundle = _current(_read(text), "cluster").get("certificate-authority-data") or ""
    return bundle if isinstance(bundle, str) else ""


def with_token(text: str, token: str, ca_bundle: str | None = None) -> str:
    """Return the kubeconfig with a token, and with an authority (base64) if one is given.

    Raises:
        KubeconfigError: there is no current context with a user and a cluster to put them.
    """
    config = _read(text)
    _current(config, "user")["token"] = token
    if ca_bundle is not None:
        cluster = _current(config, "cluster")
        cluster["certificate-authority-data"] = ca_bundle
        cluster.pop("certificate-authority", None)  # a path on another machine
    return yaml.dump(config, Dumper=_Dumper, sort_keys=False, width=2**30)


def _read(text: str) -> JsonObject:
    read = read_text(text, "kubeconfig", limits=_LIMITS)
    if read.errors:
        line = read.errors[0].origin.line
        raise KubeconfigError(f"data.kubeconfig is neither YAML nor JSON (line {line}); replace it")
    if len(read.objects) != 1:
        raise KubeconfigError("data.kubeconfig is empty; put a kubeconfig there, or remove the key")
    return read.objects[0].obj


def _current(config: JsonObject, what: str) -> JsonObject:
    """Return the user or the cluster entry of the current context, to be read or changed."""
    name = config.get("current-context")
    if not isinstance(name, str) or not name:
        raise KubeconfigError("data.kubeconfig has no current-context; set it")
    context = _entry(config, "context", name)
    wanted = context.get(what)
    if not isinstance(wanted, str) or not wanted:
        raise KubeconfigError(
            f"data.kubeconfig: the current context names no {what}; set contexts[].context.{what}"
        )
    return _entry(config, what, wanted)


def _entry(config: JsonObject, what: str, name: str) -> JsonObject:
    entries = config.get(f"{what}s")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            found = entry.setdefault(what, {})
            if found is None:
                found = entry[what] = {}
            if isinstance(found, dict):
                return found
    raise KubeconfigError(
        f"data.kubeconfig has no {what} of the name its current context uses; add it to {what}s"
    )


class _Dumper(yaml.SafeDumper):
    """Writes YAML that every reader understands alike: in doubt, it quotes text."""


def _quoted(dumper: yaml.SafeDumper, value: str) -> Any:
    style = None if _PLAIN.fullmatch(value) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _quoted)
