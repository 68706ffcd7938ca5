"""Where the token is in a Secret, and the data of the Secret with a new one.

``data.token``, or the user of the current context in ``data.kubeconfig`` if there is one. With
`TokenRequest.inject_ca_bundle` the authority of the target's API server goes beside it:
``data["bundle.crt"]``, or the cluster of the current context.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.tokenrequestor.kubeconfig import (
    KubeconfigError,
    ca_bundle_in,
    token_in,
    with_token,
)

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

    *template* is the ``data`` of the Secret that asks: its kubeconfig, if it has one, is what
    gets filled in.

    Raises:
        KubeconfigError: the kubeconfig has no place for them.
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
