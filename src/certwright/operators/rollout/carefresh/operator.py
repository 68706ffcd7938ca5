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
    Channel,
    Controller,
    Entry,
    KeepFields,
    Operator,
    OperatorHost,
    Part,
    mapped,
    select,
)
from certwright.runtime.triggers import annotations_changed, any_of, generation_changed

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

        controller = RefreshController(wake, reissued.inc, chosen.home, chosen.at_once)
        authorities = select(ISSUER, indexes={BY_SECRET: issuer_by_secret})
        cluster_wide = select(CLUSTER_ISSUER, indexes={BY_SECRET: issuer_by_secret})
        secrets = select(Secret, transform=KeepFields("/data/tls.crt", "/data/ca.crt"), keep=_holds)
        yield Controller(
            select(
                Certificate,
                indexes={BY_ISSUER: by_issuer, BY_SECRET: by_secret, UNDER_WAY: under_way},
            ),
            controller.reconcile,
            name="ca-refresh",
            channels=[wake],
            watches=[
                mapped(authorities, everything, generation_changed),
                mapped(cluster_wide, everything, generation_changed),
                mapped(CertManagerInstallation, everything, _asks_otherwise),
                mapped(watched(WorkloadKind.DEPLOYMENT), lifecycle_manager, _came_or_went),
                mapped(secrets, certificate_of),
            ],
            reads=[watched(kind) for kind in KINDS if kind is not WorkloadKind.DEPLOYMENT],
            workers=1,
        )

    return Operator("ca-refresh", build)


_asks_otherwise = any_of(generation_changed, annotations_changed)


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
