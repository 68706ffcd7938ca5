"""The dialects of IBM's operator: its pod refresh, and the configmap-watcher that it deployed.

Pod refresh restarts every workload that consumes a Secret of a Certificate, unless the workload has
``certmanager.k8s.io/disable-auto-restart: "true"``. The configmap-watcher restarts workloads with
the label ``watcher.ibm.com/opt-in=true`` when the ConfigMap changes that they name as
``namespace/name`` in an annotation. The labels with the time of a restart are still written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certwright.api.certmanager import CERTIFICATE_NAME
from certwright.operators.rollout.dialects.restraint import NOT_IGNORED, is_ignored, restrained
from certwright.operators.rollout.dialects.texts import label_time, require_name
from certwright.operators.rollout.policy import (
    CandidateSource,
    NamespaceFacts,
    RestartFacts,
    RestartMarks,
    RolloutPolicy,
    SourceCondition,
)
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    UsePath,
    Workload,
)

NAME: Final = "ibm"
OPT_IN: Final = "watcher.ibm.com/opt-in"
CONFIG_MAP: Final = "watcher.ibm.com/configmap-resource"
RESTART_TIME: Final = "watcher.ibm.com/restart-time"
DISABLE: Final = "certmanager.k8s.io/disable-auto-restart"
TIME_RESTARTED: Final = "certmanager.k8s.io/time-restarted"

ISSUED: Final = SourceCondition(CERTIFICATE_NAME, alternative="certmanager.k8s.io/certificate-name")
"""cert-manager keeps a certificate in it: a version of today, or 0.10."""


@dataclass(frozen=True, slots=True)
class IbmDialect:
    """Workloads that IBM's operator restarted; each part can be left out."""

    pod_refresh: bool = True
    config_maps: bool = True

    @property
    def name(self) -> str:
        """Its name in settings."""
        return NAME

    @property
    def sources(self) -> frozenset[SourceKind]:
        """Which kinds have to be watched."""
        wanted = {SourceKind.SECRET: self.pod_refresh, SourceKind.CONFIG_MAP: self.config_maps}
        return frozenset(kind for kind, included in wanted.items() if included)

    @property
    def reads_namespaces(self) -> bool:
        """Whether labels of namespaces count."""
        return True

    def covers(self, namespace: NamespaceFacts) -> bool:
        """Return whether workloads of a namespace are treated."""
        return not is_ignored(namespace)

    def policy(self, workload: Workload) -> RolloutPolicy | None:
        """Return how a workload is to be treated."""
        problems: list[str] = []
        watched = list(_watched(workload, problems)) if self.config_maps else []
        refreshed = list(_refreshed(workload)) if self.pod_refresh else []
        if not watched and not refreshed and not problems:
            return None
        policy = RolloutPolicy(
            dialect=NAME,
            candidates=(*watched, *refreshed),
            restart_marks=restart_marks,
            problems=tuple(problems),
        )
        return restrained(policy, workload.annotations)


def restart_marks(facts: RestartFacts) -> RestartMarks:
    """Return the labels of whichever of the two would have restarted it."""
    changed = {one.use.ref.kind for one in facts.changed}
    labels: dict[str, str | None] = {}
    if SourceKind.SECRET in changed:
        labels[TIME_RESTARTED] = label_time(facts.now, seconds=True)
    if SourceKind.CONFIG_MAP in changed:
        labels[RESTART_TIME] = label_time(facts.now)
    return RestartMarks(labels=labels, template_labels=labels)


def _watched(workload: Workload, problems: list[str]) -> Iterator[CandidateSource]:
    """Yield the ConfigMap that a workload names, whatever its namespace."""
    named = workload.annotations.get(CONFIG_MAP)
    if workload.labels.get(OPT_IN) != "true" or named is None:
        return
    namespace, _, name = named.partition("/")
    try:
        require_name(namespace)
        require_name(name)
    except ValueError:
        problems.append(f"annotation {CONFIG_MAP}: {named[:64]!r} is not NAMESPACE/NAME")
        return
    ref = SourceRef(SourceKind.CONFIG_MAP, namespace, name)
    consumed = next((use for use in workload.uses if use.ref == ref), None)
    containers = consumed.containers if consumed is not None else ()
    # All of it, even if the pods consume some keys: they may read the rest through the API.
    yield CandidateSource(
        SourceUse(ref, None, frozenset({UsePath.NAMED}), containers), (NOT_IGNORED,)
    )


def _refreshed(workload: Workload) -> Iterator[CandidateSource]:
    """Yield the Secrets that a workload consumes, in case that they are those of Certificates."""
    if workload.annotations.get(DISABLE) == "true":
        return
    for use in workload.uses:
        if use.ref.kind is SourceKind.SECRET:
            yield CandidateSource(use, (ISSUED, NOT_IGNORED))
