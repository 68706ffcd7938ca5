"""CA refresh as an operator: what it watches, and what it may do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certwright.api.certmanager import CERTIFICATE_NAME, Certificate
from certwright.api.certmanagers import CertManagerInstallation
from certwright.kube import Key
from certwright.kube.kinds import Secret
from certwright.operators.rollout.carefresh.authorities import (
    CLUSTER_ISSUER,
    ISSUER,
    REFRESH_CHAIN,
    REFRESH_LEAVES,
)
from certwright.operators.rollout.carefresh.controller import (
    BY_ISSUER,
    BY_SECRET,
    EVERYTHING,
    UNDER_WAY,
    RefreshController,
    by_issuer,
    by_secret,
    certificate_of,
    everything,
    issuer_by_secret,
    lifecycle_manager,
    under_way,
)
from certwright.operators.rollout.carefresh.leaves import AT_ONCE
from certwright.operators.rollout.carefresh.trust import KINDS, watched
from certwright.operators.rollout.engine.settings import DEFAULT_HOME
from certwright.operators.rollout.workload import WorkloadKind
from certwright.runtime import (
    Cache,
    Channel,
    Controller,
    Entry,
    KeepFields,
    Operator,
    OperatorHost,
    Part,
    allow,
    mapped,
    select,
)
from certwright.runtime.triggers import generation_changed

NAME: Final = "ca-refresh"
REISSUED: Final = "certwright_authority_refreshes_total"


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """How CA refresh is set up."""

    home: Key = DEFAULT_HOME
    """The Secret with the key of the digests on workloads."""
    at_once: int = AT_ONCE
    """How many Certificates are issued anew at the same time."""


def ca_refresh(settings: RefreshSettings | None = None) -> Operator:
    """Return what has certificates issued anew when their authority has changed."""
    chosen = settings or RefreshSettings()

    def build(host: OperatorHost) -> Iterator[Part]:
        wake = Channel()
        reissued = host.metrics.counter(
            REISSUED, "Certificates issued anew because their authority changed", []
        )

        cache = Cache(host.client, field_managers=[NAME], rng=host.rng)
        # Most clusters do not have the kind, so nothing waits for it.
        installations = cache.store(CertManagerInstallation.resource, required=False)
        installations.listen(lambda _old, _new: wake.send(EVERYTHING))
        controller = RefreshController(
            wake, installations.store, reissued.inc, chosen.home, chosen.at_once
        )
        authorities = select(ISSUER, indexes={BY_SECRET: issuer_by_secret})
        cluster_wide = select(CLUSTER_ISSUER, indexes={BY_SECRET: issuer_by_secret})
        secrets = select(Secret, transform=KeepFields("/data/tls.crt", "/data/ca.crt"), keep=_holds)
        yield cache
        yield Controller(
            select(
                Certificate,
                indexes={BY_ISSUER: by_issuer, BY_SECRET: by_secret, UNDER_WAY: under_way},
            ),
            controller.reconcile,
            name=NAME,
            channels=[wake],
            watches=[
                mapped(authorities, everything, generation_changed),
                mapped(cluster_wide, everything, generation_changed),
                mapped(watched(WorkloadKind.DEPLOYMENT), lifecycle_manager, _came_or_went),
                mapped(secrets, certificate_of),
            ],
            reads=[watched(kind) for kind in KINDS if kind is not WorkloadKind.DEPLOYMENT],
            workers=1,
            rbac=[allow(CertManagerInstallation, "get", "list", "watch")],
        )

    return Operator(NAME, build)


def _came_or_went(old: Entry | None, new: Entry | None) -> bool:
    return old is None or new is None


def _holds(secret: Entry) -> bool:
    """Return whether a Secret holds what cert-manager issued, or an authority that is marked."""
    annotations, labels = secret.annotations or {}, secret.meta.labels or {}
    return (
        CERTIFICATE_NAME in annotations
        or labels.get(REFRESH_CHAIN) == "true"
        or annotations.get(REFRESH_LEAVES) == "true"
    )
