"""Workloads and contents as values."""

from collections.abc import Mapping
from typing import Any

from certwright.kube import Key
from certwright.operators.rollout.decision.compare import Counted, SourceContents
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.policy import CandidateSource, RolloutPolicy
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    Workload,
    WorkloadKind,
    WorkloadRef,
)

KEY = DigestKey(b"k" * 32)
OTHER_KEY = DigestKey(b"o" * 32)


def source(name: str = "s", kind: SourceKind = SourceKind.SECRET) -> SourceRef:
    return SourceRef(kind, "ns", name)


def workload(**fields: Any) -> Workload:
    return Workload(ref=WorkloadRef(WorkloadKind.DEPLOYMENT, Key("ns", "web")), **fields)


def contents(
    ref: SourceRef, data: Mapping[str, str], version: str = "1", key: DigestKey = KEY, **more: Any
) -> SourceContents:
    digests = {name: key.of_value(ref, name, value.encode()) for name, value in data.items()}
    return SourceContents(ref, version, digests=digests, **more)


def use(name: str = "s", *keys: str) -> SourceUse:
    return SourceUse(source(name), frozenset(keys) if keys else None)


def present(name: str = "s", *keys: str, version: str = "1", **data: str) -> Counted:
    return Counted(use(name, *keys), contents(source(name), data, version))


def missing(name: str = "s") -> Counted:
    return Counted(use(name), None)


def policy(**fields: Any) -> RolloutPolicy:
    return RolloutPolicy(dialect="test", candidates=(CandidateSource(use()),), **fields)
