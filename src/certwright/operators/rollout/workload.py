"""Workloads and what their pods consume, as values.

`read_workload` in `engine.views` makes a `Workload` from an object of the API; dialects and
decisions read it. A source is a Secret, a ConfigMap, or what pods mount by a SecretProviderClass.
A use says which keys of a source the pods consume.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from certwright.kube import Key


class SourceKind(StrEnum):
    """The kinds whose contents pods consume."""

    SECRET = "Secret"  # noqa: S105 - a kind
    CONFIG_MAP = "ConfigMap"
    PROVIDER_CLASS = "SecretProviderClass"
    """Of the Secrets Store CSI driver, which fetches contents from elsewhere."""


BUILT_IN_SOURCES = frozenset({SourceKind.SECRET, SourceKind.CONFIG_MAP})
"""Those that every cluster has."""


class SourceRef(NamedTuple):
    """A source that a workload consumes."""

    kind: SourceKind
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        """Where it lives."""
        return Key(self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class WorkloadKind(StrEnum):
    """The kinds that hold a pod template."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"
    DAEMON_SET = "DaemonSet"
    ROLLOUT = "Rollout"
    """Argo's."""
    CRON_JOB = "CronJob"
    JOB = "Job"
    """Its template cannot be changed: another Job takes its place."""


class WorkloadRef(NamedTuple):
    """Which workload is meant."""

    kind: WorkloadKind
    key: Key

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class UsePath(StrEnum):
    """The way contents take into a pod."""

    VOLUME = "volume"
    SUB_PATH = "subPath"
    """A volume that is mounted by subPath only: the kubelet never updates it."""
    ENVIRONMENT = "env"
    NAMED = "annotation"
    """Not by the template: an annotation of the workload names it."""


@dataclass(frozen=True, slots=True)
class SourceUse:
    """What of one source a workload consumes."""

    ref: SourceRef
    keys: frozenset[str] | None = None
    """Which keys; all of them if None."""
    paths: frozenset[UsePath] = frozenset()
    containers: tuple[str, ...] = ()
    """The containers that consume it, in the order of the template; init containers last."""
    optional: bool = False
    """Whether pods start without it."""


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """How far the pods of a workload are, as its status says."""

    rolling: bool = False
    """Whether pods of an earlier template are being replaced."""
    healthy: bool = True
    """Whether all pods are of the present template and available."""
    stalled: bool = False
    """Whether its controller gave up: the deadline for progress passed, or it is degraded."""
    paused: bool = False
    on_delete: bool = False
    """Whether pods are replaced only when they are deleted by hand."""
    done: int = 0
    """Pods that are of the present template, and those that are available; it only has to change
    when a rollout moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is read of a Deployment, StatefulSet, DaemonSet, Rollout or CronJob."""

    ref: WorkloadRef
    api_version: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    template_labels: Mapping[str, str] = field(default_factory=dict)
    template_annotations: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[str, ...] = ()
    """Names of the containers of the template, without init containers."""
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By container: variables with a plain value whose name begins with ``STAKATER_``."""
    uses: tuple[SourceUse, ...] = ()
    """What the template consumes, by source; see `references.uses_of`."""
    progress: RolloutProgress = RolloutProgress()
    replicas: int = 1
    controlled: bool = False
    """Of Jobs: whether another object, such as a CronJob, made it, and makes the next one."""
