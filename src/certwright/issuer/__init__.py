"""Make a certificate authority a cert-manager issuer by writing ``check`` and ``sign``.

::

    @dataclass(frozen=True)
    class Spec:
        url: str
        token: SecretKey

    app = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=Spec)

    @app.check(every=timedelta(minutes=5))
    async def check(issuer: Issuer[Spec]) -> None: ...

    @app.sign
    async def sign(request: Request, issuer: Issuer[Spec]) -> Bundle: ...

    app.main()  # run | crds | rbac | deploy | conformance | doctor

The library does the rest: kinds, approval, readiness, retries, conditions, events and metrics.
"""

from certwright.issuer.app import IssuerApp
from certwright.issuer.issuer import Issuer
from certwright.issuer.request import Bundle, Request
from certwright.issuer.spec import SecretData, SecretKey
from certwright.issuer.verbs import (
    IssuerUnavailable,
    Pending,
    Permanent,
    Retry,
    SignOutcome,
    WithCondition,
)

__all__ = [
    "Bundle",
    "Issuer",
    "IssuerApp",
    "IssuerUnavailable",
    "Pending",
    "Permanent",
    "Request",
    "Retry",
    "SecretData",
    "SecretKey",
    "SignOutcome",
    "WithCondition",
]
