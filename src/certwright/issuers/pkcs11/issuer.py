"""An authority whose key is inside an HSM.

Which module is loaded is a setting of the process, never of an issuer: a module is
code. The PIN comes from a Secret of the issuer.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Annotated

from msgspec import Meta

from certwright import pki
from certwright.issuer import (
    Bundle,
    Issuer,
    IssuerApp,
    IssuerUnavailable,
    Permanent,
    Request,
    SecretKey,
)
from certwright.issuers.pkcs11.keys import check_inside, key_inside
from certwright.issuers.pkcs11.module import HsmError, KeyPlace, Module
from certwright.pki.certificates import public_key_of

MODULE = "PKCS11_MODULE"
"""The environment variable with the path of the module."""


@dataclass(frozen=True)
class Pkcs11Spec:
    """Which key of which token, and its certificate."""

    token: Annotated[str, Meta(description="The label of the token.")]
    key: Annotated[str, Meta(description="The label of the private key.")]
    pin: SecretKey
    certificates: Annotated[
        str,
        Meta(
            description="PEM: the authority's own certificate and its chain, with or without root."
        ),
    ]
    revocation_lists: list[str] = field(default_factory=list)
    ocsp_servers: list[str] = field(default_factory=list)
    issuing_certificates: list[str] = field(default_factory=list)

    def place(self) -> KeyPlace:
        """Return where the key is."""
        return KeyPlace(self.token, self.key, self.pin)

    def chain(self) -> pki.Chain:
        """Return the certificates, the authority's own first."""
        return pki.read_chain(self.certificates)

    def authority(self, module: Module) -> pki.Authority:
        """Return the authority; nothing is asked of the module yet."""
        own, *above = self.chain().certificates
        key = key_inside(module, self.place(), public_key_of(own))
        endpoints = pki.Endpoints(
            tuple(self.revocation_lists), tuple(self.ocsp_servers), tuple(self.issuing_certificates)
        )
        return pki.Authority(own, key, tuple(above), endpoints)


def pkcs11_issuer(module: Callable[[], Module]) -> IssuerApp[Pkcs11Spec]:
    """Make the issuer; *module* is called in a thread, whenever the module is needed."""
    app = IssuerApp(
        group="issuers.certwright.dev", kind="PKCS11Issuer", spec=Pkcs11Spec, set_ca=True
    )

    @app.check(every=timedelta(minutes=5))
    def check(issuer: Issuer[Pkcs11Spec]) -> None:
        """Open the token and make the key sign: only that proves that it is the right one."""
        module().check(issuer.spec.place())
        check_inside(issuer.spec.authority(module()).key)

    @app.sign
    def sign(request: Request, issuer: Issuer[Pkcs11Spec]) -> Bundle:
        """Sign inside the module. Not async: it runs in a thread, as waiting for it demands."""
        try:
            authority = issuer.spec.authority(module())
            leaf = authority.issue_request(request.csr, request.terms, request.now)
        except HsmError as error:
            raise IssuerUnavailable(str(error)) from error
        except pki.AuthorityUnfit as error:
            raise Permanent(str(error)) from error
        root = issuer.spec.chain().authority or authority.certificate
        return Bundle(authority.write_chain(leaf), pki.write_certificates(root))

    return app


@cache
def _configured() -> Module:
    library = os.environ.get(MODULE, "")
    if not library:
        raise HsmError(f"the environment variable {MODULE} does not name a PKCS#11 module")
    return Module(library)


app = pkcs11_issuer(_configured)
