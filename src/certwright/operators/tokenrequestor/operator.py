"""The token requestor as an operator: what it watches, and where."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from certwright.client import Client
from certwright.kube.kinds import Secret, ServiceAccount, TokenReview
from certwright.operators.tokenrequestor.controller import (
    BY_ACCOUNT,
    RequestCause,
    TokenRequestor,
    by_account,
)
from certwright.operators.tokenrequestor.request import selector
from certwright.operators.tokenrequestor.target import FIELD_MANAGER, TokenTarget
from certwright.runtime import (
    Cache,
    Channel,
    Controller,
    Operator,
    OperatorHost,
    Part,
    allow,
    select,
)

REQUESTS: Final = "certwright_token_requests_total"
_RBAC: Final = (
    allow(Secret, "create", "delete"),
    allow(ServiceAccount, "get", "list", "watch", "create", "patch", "delete"),
    allow(ServiceAccount, "create", subresource="token"),
    allow(TokenReview, "create"),
)


def token_requestor(
    target: Client | None = None,
    *,
    resource_class: str = "",
    namespaces: Sequence[str] = (),
    workers: int = 5,
    ca_bundle: Callable[[], bytes] = bytes,
    allowed: Sequence[str] = (),
) -> Operator:
    """Return the operator that keeps tokens of *target* in the Secrets that ask for them.

    *target* is the cluster the tokens are for, by default the one the Secrets are in.
    *resource_class* limits it to the Secrets that name this class, *namespaces* to some of the
    source's. *ca_bundle* returns the authority of the target's API server as PEM, for Secrets
    that ask for it. *allowed* are the ServiceAccounts that Secrets of other namespaces may ask
    for: ``namespace/name``, with ``*`` for any part of it.
    """

    def build(site: OperatorHost) -> Iterator[Part]:
        client = target or site.client
        elsewhere = "target" if target is not None else ""
        cache = Cache(client, cluster=elsewhere, field_managers=[FIELD_MANAGER], rng=site.rng)
        yield cache
        requests = site.metrics.counter(REQUESTS, "Tokens requested, and why", ["cause"])

        def count(cause: RequestCause) -> None:
            requests.labels(cause.value).inc()

        for namespace in namespaces or [""]:
            wake = Channel()
            requestor = TokenRequestor(
                TokenTarget(client, cache, wake), site.rng, ca_bundle, count, namespace, allowed
            )
            yield Controller(
                select(
                    Secret,
                    namespace=namespace,
                    labels=selector(resource_class),
                    indexes={BY_ACCOUNT: by_account},
                ),
                requestor.reconcile,
                name=f"token-requestor-{namespace}"[:63] if namespace else "token-requestor",
                channels=[wake],
                workers=workers,
                rbac=_RBAC,
            )

    return Operator("token-requestor", build)
