"""Workloads as dialects see them."""

from collections.abc import Callable, Mapping

import pytest

from certwright.kube import Key
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    UsePath,
    Workload,
    WorkloadKind,
    WorkloadRef,
)

Build = Callable[..., Workload]


def secret(name: str) -> SourceRef:
    return SourceRef(SourceKind.SECRET, "shop", name)


def config_map(name: str) -> SourceRef:
    return SourceRef(SourceKind.CONFIG_MAP, "shop", name)


def used(ref: SourceRef, *containers: str, keys: frozenset[str] | None = None) -> SourceUse:
    return SourceUse(ref, keys, frozenset({UsePath.VOLUME}), containers or ("main",))


@pytest.fixture
def build() -> Build:
    """Make a workload that consumes the Secret ``tls`` and the ConfigMap ``settings``."""

    def make(
        annotations: Mapping[str, str] | None = None,
        *uses: SourceUse,
        kind: WorkloadKind = WorkloadKind.DEPLOYMENT,
        labels: Mapping[str, str] | None = None,
        template_annotations: Mapping[str, str] | None = None,
        environment: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Workload:
        return Workload(
            ref=WorkloadRef(kind, Key("shop", "web")),
            labels=labels or {},
            annotations=annotations or {},
            template_annotations=template_annotations or {},
            environment=environment or {},
            containers=("main", "side"),
            uses=uses or (used(secret("tls")), used(config_map("settings"))),
        )

    return make
