"""The part of Vault's HTTP API that an issuer needs; OpenBao has the same.

``sys/health``, ``auth/token/lookup-self``, ``auth/<mount>/login`` and the ``sign`` endpoints
of the PKI engine.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from certwright.issuers.web import Web, WebError, WebResponse
from certwright.pki import SigningRequest
from certwright.pki.names import common_name

_DETAIL_LIMIT = 300
_TO_SIGN = "to sign"
_UNFIT = {501: "is not initialized", 503: "is sealed", 472: "is a disaster recovery secondary"}


class VaultRefused(Exception):
    """Vault refused; *is_about_request* is whether another request might be accepted."""

    def __init__(self, what: str, code: int, reasons: tuple[str, ...]) -> None:
        text = "".join(one if one.isprintable() else " " for one in "; ".join(reasons))
        super().__init__(f"Vault refused {what} ({code}): {text[:_DETAIL_LIMIT] or 'no reason'}")
        is_unknown_role = any("unknown role" in reason for reason in reasons)
        self.is_about_request = what == _TO_SIGN and code == 400 and not is_unknown_role


class _Failure(msgspec.Struct, frozen=True):
    errors: tuple[str, ...] = ()


class _Auth(msgspec.Struct, frozen=True):
    client_token: str


class _Login(msgspec.Struct, frozen=True):
    auth: _Auth


class _Certificate(msgspec.Struct, frozen=True):
    certificate: str
    issuing_ca: str = ""
    ca_chain: tuple[str, ...] = ()


class _Signed(msgspec.Struct, frozen=True):
    data: _Certificate


class VaultClient:
    """Asks one Vault, in one of its namespaces.

    Raises (all methods):
        VaultRefused: it refused.
        WebError: it gave no usable answer.
    """

    def __init__(self, web: Web, server: str, namespace: str = "") -> None:
        self._web = web
        self._base = server.rstrip("/") + "/v1/"
        self._headers = {"x-vault-request": "true"}
        if namespace:
            self._headers["x-vault-namespace"] = namespace

    async def check_health(self) -> None:
        """Ask whether it is up and unsealed; standby nodes forward and count as well."""
        path = "sys/health?standbyok=true&perfstandbyok=true"
        answer = await self._web.send("GET", self._base + path)
        if not answer.is_success:
            reason = _UNFIT.get(answer.status, f"answers {answer.status}")
            raise WebError(f"Vault cannot sign: it {reason}")

    async def check_token(self, token: str) -> None:
        """Ask whether a token is good."""
        await self._call("the token", "GET", "auth/token/lookup-self", token=token)

    async def log_in(self, mount: str, role: str, jwt: str) -> str:
        """Exchange a ServiceAccount's token for one of Vault's."""
        body = {"role": role, "jwt": jwt}
        answer = await self._call("the login", "POST", f"auth/{mount.strip('/')}/login", body)
        return answer.json(_Login).auth.client_token

    async def sign(self, path: str, token: str, order: Mapping[str, Any]) -> list[str]:
        """Ask for a certificate (see `sign_order`); return it and its chain, as PEM."""
        answer = await self._call(_TO_SIGN, "POST", path.strip("/"), order, token)
        signed = answer.json(_Signed).data
        return [signed.certificate, *(signed.ca_chain or (signed.issuing_ca,))]

    async def _call(
        self,
        what: str,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        token: str = "",
    ) -> WebResponse:
        answer = await self._web.send(
            method,
            self._base + path,
            headers={**self._headers, **({"x-vault-token": token} if token else {})},
            body=None if body is None else orjson.dumps(body),
        )
        if answer.is_success:
            return answer
        try:
            reasons = answer.json(_Failure).errors
        except WebError:
            reasons = ()
        raise VaultRefused(what, answer.status, reasons)


def sign_order(request: SigningRequest, csr_pem: str, lifetime_seconds: int) -> dict[str, Any]:
    """Return what to ask the PKI engine for.

    Roles take the names from the signing request unless configured otherwise
    (``use_csr_common_name``, ``use_csr_sans``); for those they are repeated here.
    """
    names = request.names
    return {
        "csr": csr_pem,
        "format": "pem",
        "common_name": common_name(request.subject),
        "alt_names": ",".join((*names.dns, *names.emails)),
        "ip_sans": ",".join(str(address) for address in names.ips),
        "uri_sans": ",".join(names.uris),
        "ttl": f"{lifetime_seconds}s",
        "exclude_cn_from_sans": True,
    }
