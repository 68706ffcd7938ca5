"""CFSSL's HTTP API: ``info`` and ``sign``, or ``authsign`` where the profile wants a key.

Unauthenticated profiles are served by ``sign`` only and others by ``authsign`` only, so
whether there is a key decides which one is asked. A profile that the server does not know
is silently replaced by its default one: the certificate must be checked.
"""

import binascii
import hashlib
import hmac
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import orjson

from certwright.issuers.web import Web, WebError, WebResponse

_API = "/api/v1/cfssl/"
_REQUEST_CODES = range(9_000, 10_000)  # CFSSL's own: something is wrong with the signing request
_POLICY_CODES = {5_300, 5_500}  # the profile allows no such authority, or no such name
_DETAIL_LIMIT = 300

ResultT = TypeVar("ResultT", bound=msgspec.Struct)


class CfsslRefused(Exception):
    """The server refused; *is_about_request* is whether another request might be accepted."""

    def __init__(self, message: str, *, is_about_request: bool) -> None:
        super().__init__(message)
        self.is_about_request = is_about_request


@dataclass(frozen=True, slots=True)
class Profile:
    """Where to ask for which certificates, and the key that allows it."""

    url: str
    name: str = ""
    label: str = ""
    """The signer, where ``multirootca`` serves several."""
    key: bytes | None = field(default=None, repr=False)

    @staticmethod
    def read_key(text: str) -> bytes:
        """Read a key as CFSSL's configuration has it: in hexadecimal, else `ValueError`."""
        try:
            return binascii.unhexlify(text.strip())
        except (binascii.Error, ValueError):
            raise ValueError("the authentication key is not hexadecimal") from None


class _Info(msgspec.Struct, frozen=True):
    certificate: str


class _Signed(msgspec.Struct, frozen=True):
    certificate: str


class _Error(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


class _Reply(msgspec.Struct, frozen=True):
    success: bool
    result: msgspec.Raw = msgspec.Raw(b"null")
    errors: tuple[_Error, ...] = ()


class CfsslClient:
    """Asks one CFSSL server.

    Raises (both methods):
        CfsslRefused: it refused.
        WebError: it gave no usable answer.
    """

    def __init__(self, web: Web, profile: Profile) -> None:
        self._web = web
        self._profile = profile

    async def authority(self) -> str:
        """Return the certificate of the signer, as PEM."""
        asked = {"label": self._profile.label, "profile": self._profile.name}
        return (await self._call("info", asked, _Info)).certificate

    async def sign(self, csr_pem: str) -> str:
        """Return a certificate for a signing request, as PEM, without chain."""
        asked = {
            "certificate_request": csr_pem,
            "profile": self._profile.name,
            "label": self._profile.label,
        }
        if self._profile.key is None:
            return (await self._call("sign", asked, _Signed)).certificate
        return (
            await self._call("authsign", _sealed(asked, self._profile.key), _Signed)
        ).certificate

    async def _call(self, endpoint: str, asked: dict[str, Any], kind: type[ResultT]) -> ResultT:
        answer = await self._web.send(
            "POST",
            self._profile.url.rstrip("/") + _API + endpoint,
            headers={"content-type": "application/json"},
            body=orjson.dumps(asked),
        )
        if answer.status == 404:
            raise CfsslRefused(
                f"the CFSSL server has no {endpoint}: either the URL is wrong, or it wants"
                f" {'no key' if endpoint == 'authsign' else 'an authentication key'}",
                is_about_request=False,
            )
        reply = answer.json(_Reply)
        if not reply.success:
            raise _refusal(answer, reply)
        try:
            return msgspec.json.decode(reply.result, type=kind)
        except msgspec.MsgspecError as error:
            raise WebError(f"CFSSL's answer to {endpoint} has no certificate: {error}") from None


def _sealed(asked: dict[str, Any], key: bytes) -> dict[str, str]:
    """Return a request with a MAC, CFSSL's "standard" authentication."""
    body = orjson.dumps(asked)
    token = hmac.digest(key, body, hashlib.sha256)
    return {"token": b64encode(token).decode(), "request": b64encode(body).decode()}


def _refusal(answer: WebResponse, reply: _Reply) -> CfsslRefused:
    first = reply.errors[0] if reply.errors else _Error(answer.status, "no reason given")
    text = "".join(letter if letter.isprintable() else " " for letter in first.message)
    return CfsslRefused(
        f"CFSSL refuses: {text[:_DETAIL_LIMIT]} ({first.code})",
        is_about_request=first.code in _REQUEST_CODES or first.code in _POLICY_CODES,
    )
