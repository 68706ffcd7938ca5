"""The issuer: ACME decides on lifetime and usages itself.

An order takes several attempts; in between, its ticket is kept on the request.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import msgspec
import structlog
from cryptography.hazmat.primitives.serialization import Encoding
from msgspec import Meta

from certwright import pki
from certwright.issuer import (
    Bundle,
    Issuer,
    IssuerApp,
    IssuerUnavailable,
    Pending,
    Permanent,
    Request,
    SecretKey,
)
from certwright.issuers.acme.client import AccountCredentials, AcmeClient
from certwright.issuers.acme.jws import AccountKey, ExternalAccount
from certwright.issuers.acme.orders import OrderProcess, PendingOrder, Ticket, identifiers
from certwright.issuers.acme.solvers import DNS_01, HTTP_01, Solver, WebhookSolver
from certwright.issuers.acme.verbs import verb_for
from certwright.issuers.web import CaBundle, Web, refuse_plain
from certwright.kube import DurationText
from certwright.kube.durations import parse_duration


@dataclass(frozen=True)
class Webhook:
    """Who puts proofs where the server looks; `WebhookSolver` says what is posted."""

    url: str
    token: Annotated[SecretKey | None, Meta(description="Sent as a bearer token.")] = None
    ca_bundle: CaBundle = ""
    settling: Annotated[
        DurationText, Meta(description="How long a proof takes to be seen everywhere.")
    ] = "0s"

    def __post_init__(self) -> None:
        if self.token is not None:
            refuse_plain(self.url, "the solver's token")


@dataclass(frozen=True)
class ExternalAccountBinding:
    """An account at the authority."""

    key_id: str
    mac_key: Annotated[SecretKey, Meta(description="In base64.")]


@dataclass(frozen=True)
class AcmeSpec:
    """Which server, as whom, and how names are proven."""

    directory: str
    account_key: Annotated[
        SecretKey,
        Meta(description="A private key in PEM; the account is opened where there is none."),
    ]
    email: str = ""
    external_account: ExternalAccountBinding | None = None
    dns01: Webhook | None = None
    http01: Webhook | None = None
    ca_bundle: CaBundle = ""

    def credentials(self) -> AccountCredentials:
        """Return which server, and the account there."""
        external = self.external_account
        return AccountCredentials(
            self.directory,
            AccountKey(pki.read_key(self.account_key)),
            self.email,
            ExternalAccount.of(external.key_id, external.mac_key) if external else None,
        )


def acme_issuer(*solvers: Solver) -> IssuerApp[AcmeSpec]:
    """Make the issuer. *solvers* are asked after those that an issuer's spec names."""
    app = IssuerApp(group="issuers.certwright.dev", kind="ACMEIssuer", spec=AcmeSpec)

    @app.check(every=timedelta(hours=1))
    async def check(issuer: Issuer[AcmeSpec]) -> None:
        """Find our account, or open it; names can be proven only if a solver is set."""
        if not (issuer.spec.dns01 or issuer.spec.http01 or solvers):
            raise IssuerUnavailable("no solver can prove names: set dns01 or http01")
        async with Web(trusted=issuer.spec.ca_bundle) as web:
            await AcmeClient(web, issuer.spec.credentials(), issuer.now).log_in()

    @app.sign
    async def sign(request: Request, issuer: Issuer[AcmeSpec]) -> Bundle:
        """Take the order one step further."""
        if request.is_ca:
            raise Permanent("ACME servers do not sign certificates of authorities")
        names = identifiers(request.csr)
        csr = request.csr.csr.public_bytes(Encoding.DER)
        async with _order_process(issuer, solvers) as process:
            step = await process.advance(ticket_in(request.state), names, csr)
        if isinstance(step, PendingOrder):
            state = msgspec.to_builtins(step.ticket)
            raise Pending(step.message, after=step.after, state=state)
        for leftover in step.leftovers:
            structlog.get_logger().warning("a proof was not removed", proof=leftover)
        return Bundle.from_pem(step.chain)

    app.classify_error(verb_for)
    return app


@asynccontextmanager
async def _order_process(
    issuer: Issuer[AcmeSpec], others: tuple[Solver, ...]
) -> AsyncIterator[OrderProcess]:
    spec, credentials = issuer.spec, issuer.spec.credentials()
    async with AsyncExitStack() as stack:
        web = await stack.enter_async_context(Web(trusted=spec.ca_bundle))
        named: list[Solver] = []
        for challenge, hook in ((DNS_01, spec.dns01), (HTTP_01, spec.http01)):
            if hook is not None:
                there = await stack.enter_async_context(Web(trusted=hook.ca_bundle))
                settling = parse_duration(hook.settling)
                named.append(
                    WebhookSolver(there, hook.url, challenge, hook.token or "", settling=settling)
                )
        client = AcmeClient(web, credentials, issuer.now)
        yield OrderProcess(client, credentials, [*named, *others], issuer.now)


def ticket_in(state: Mapping[str, Any]) -> Ticket | None:
    """Return the ticket of an earlier attempt; None at first, and for any other state."""
    try:
        return msgspec.convert(dict(state), Ticket)
    except msgspec.ValidationError:
        return None


app = acme_issuer()
