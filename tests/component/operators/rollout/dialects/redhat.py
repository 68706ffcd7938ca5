"""The dialect of cmd-operator's pod refresher, in whose place ours works.

A workload asks for restarts with ``certmanagerdeployment.redhat.io/allow-restart: "true"``; only
Secrets with an annotation ``cert-manager.io/issuer-kind`` count, whatever its value. What that
operator wrote is still written, so that what reads it goes on working: the label with the time of
the restart, and the resourceVersions of Secrets. Nothing here depends on either: contents decide.
"""

from collections.abc import Iterable
from typing import Final

from certwright.kube.timestamps import format_micro_time
from certwright.operators.rollout.dialects.restraint import NOT_IGNORED, is_ignored, restrained
from certwright.operators.rollout.dialects.texts import label_time, names, read_map, write_map
from certwright.operators.rollout.policy import (
    CandidateSource,
    ConsumedSource,
    EventWords,
    NamespaceFacts,
    RestartFacts,
    RestartMarks,
    RolloutPolicy,
    SourceCondition,
    named_use,
)
from certwright.operators.rollout.workload import SourceKind, SourceRef, Workload, WorkloadKind

NAME: Final = "redhat"
GROUP: Final = "certmanagerdeployment.redhat.io"
ALLOW_RESTART: Final = f"{GROUP}/allow-restart"
TIME_RESTARTED: Final = f"{GROUP}/time-restarted"
RESTARTED_AT: Final = f"{GROUP}/restarted-at"
RESOURCE_VERSIONS: Final = f"{GROUP}/secret-resource-versions"
CONTENT_HASHES: Final = f"{GROUP}/secret-content-hashes"
WATCH_SECRETS: Final = f"{GROUP}/watch-secrets"
IGNORE: Final = f"{GROUP}/ignore"
"""The annotation of a Secret that counts for no workload."""

ISSUED: Final = SourceCondition("cert-manager.io/issuer-kind")
"""cert-manager keeps a certificate in it."""
_CONDITIONS: Final = (ISSUED, SourceCondition(IGNORE, "true", negated=True), NOT_IGNORED)
_EVENTS: Final = EventWords(
    source="podrefresh-controller",
    restarted="PodRefresh",
    failed="PodRefreshFailure",
    stalled="PodRefreshStalled",
    restarted_kinds=frozenset({WorkloadKind.DEPLOYMENT}),
)


class RedhatDialect:
    """Workloads that allow restarts to cmd-operator."""

    name = NAME
    sources = frozenset({SourceKind.SECRET})
    reads_namespaces = True

    def covers(self, namespace: NamespaceFacts) -> bool:
        """Return whether workloads of a namespace are treated."""
        return not is_ignored(namespace)

    def policy(self, workload: Workload) -> RolloutPolicy | None:
        """Return how a workload is to be treated."""
        if workload.annotations.get(ALLOW_RESTART) != "true":
            return None
        problems: list[str] = []
        uses = {use.ref: use for use in workload.uses if use.ref.kind is SourceKind.SECRET}
        for ref in _watched(workload, problems):
            uses[ref] = named_use(workload.uses, ref)
        policy = RolloutPolicy(
            dialect=NAME,
            candidates=tuple(CandidateSource(use, _CONDITIONS) for use in uses.values()),
            restart_marks=restart_marks,
            record_marks=record_marks,
            events=_EVENTS,
            problems=tuple(problems),
        )
        return restrained(policy, workload.annotations)


def restart_marks(facts: RestartFacts) -> RestartMarks:
    """Return what a restart leaves behind."""
    time = {TIME_RESTARTED: label_time(facts.now)}
    return RestartMarks(
        labels=time,
        template_labels=time,
        annotations=_bookkeeping(facts),
        template_annotations={RESTARTED_AT: format_micro_time(facts.now)},
    )


def record_marks(facts: RestartFacts) -> RestartMarks:
    """Return what is written when contents are recorded without a restart."""
    return RestartMarks(annotations=_bookkeeping(facts))


def _bookkeeping(facts: RestartFacts) -> dict[str, str | None]:
    """Return both maps with what is consumed now; entries of other Secrets stay."""
    written = facts.workload.annotations
    versions = {one.use.ref.name: one.resource_version for one in _secrets(facts)}
    hashes = {one.use.ref.name: one.digest for one in _secrets(facts)}
    return {
        RESOURCE_VERSIONS: write_map(read_map(written.get(RESOURCE_VERSIONS)) | versions),
        CONTENT_HASHES: write_map(read_map(written.get(CONTENT_HASHES)) | hashes),
    }


def _secrets(facts: RestartFacts) -> Iterable[ConsumedSource]:
    return (one for one in facts.consumed if one.use.ref.kind is SourceKind.SECRET)


def _watched(workload: Workload, problems: list[str]) -> list[SourceRef]:
    try:
        found = names(workload.annotations.get(WATCH_SECRETS, ""))
    except ValueError as error:
        problems.append(f"annotation {WATCH_SECRETS}: {error}")
        return []
    namespace = workload.ref.key.namespace
    return [SourceRef(SourceKind.SECRET, namespace, name) for name in found]
