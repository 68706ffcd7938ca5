"""CA refresh as an operator: what it watches, and what it may do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.api.certmanager import CERTIFICATE_NAME, Certificate
from certwright.api.certmanagers import CertManagerInstallation
from certwright.kube import Key
from certwright.kube.kinds import Deployment, Secret
from certwright.operators.rollout.carefresh.authorities import (
    CLUSTER_ISSUER,
    ISSUER,
    LIFECYCLE_MANAGER,
    REFRESH_CHAIN,
    REFRESH_LEAVES,
)
from certwright.operators.rollout.carefresh.controller import (
    BY_ISSUER,
    BY_SECRET,
    UNDER_WAY,
    Behind,
    RefreshController,
    by_issuer,
    by_secret,
    certificate_of,
    everything,
    issuer_by_secret,
    under_way,
)
from certwright.operators.rollout.carefresh.leaves import AT_ONCE, LeafState
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


def _none_behind(_secret: Key) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """How CA refresh is set up."""

    behind: Behind = _none_behind
    """Which workloads consume an authority and do not run with it yet; leaves wait for them."""
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

        def count(_state: LeafState) -> None:
            reissued.inc()

        controller = RefreshController(wake, chosen.behind, count, chosen.at_once)
        authorities = select(ISSUER, indexes={BY_SECRET: issuer_by_secret})
        cluster_wide = select(CLUSTER_ISSUER, indexes={BY_SECRET: issuer_by_secret})
        secrets = select(Secret, transform=KeepFields("/data/tls.crt", "/data/ca.crt"), keep=_holds)
        lifecycle = select(
            Deployment, fields=f"metadata.name={LIFECYCLE_MANAGER}", metadata_only=True
        )
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
                mapped(lifecycle, everything),
                mapped(secrets, certificate_of),
            ],
            workers=1,
        )

    return Operator("ca-refresh", build)


_asks_otherwise = any_of(generation_changed, annotations_changed)


def _holds(secret: Entry) -> bool:
    """Return whether a Secret holds what cert-manager issued, or an authority that is marked."""
    annotations, labels = secret.annotations or {}, secret.meta.labels or {}
    return (
        CERTIFICATE_NAME in annotations
        or labels.get(REFRESH_CHAIN) == "true"
        or annotations.get(REFRESH_LEAVES) == "true"
    )
