"""The dialect of Stakater Reloader, whose users switch without a restart.

The same annotations lead to the same restarts: of all that containers consume (``auto``), of what
is named or matches an expression (``reload``), and of what both sides mark (``search`` and
``match``). Reloader compares whole Secrets and ConfigMaps, so all keys count here. Its marks are
written too, with keyed digests where it has hashes. What it misses is not missed here: what changed
while no one watched, and what was deleted and created again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final

import orjson

from certwright.kube.durations import parse_duration
from certwright.operators.rollout.dialects.reloaderoptions import (
    LAST_RELOADED_FROM,
    ROLLOUT_STRATEGY,
    ReloaderOptions,
    ReloadStrategy,
)
from certwright.operators.rollout.dialects.restraint import NOT_IGNORED, is_ignored, restrained
from certwright.operators.rollout.dialects.texts import is_true, listed
from certwright.operators.rollout.patterns import NamePattern, PatternError
from certwright.operators.rollout.policy import (
    CandidatePattern,
    CandidateSource,
    ConsumedSource,
    EventWords,
    NamespaceFacts,
    PausePeriod,
    RestartFacts,
    RestartMarks,
    RestartMode,
    RolloutPolicy,
    SourceCondition,
    named_use,
)
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    Workload,
    WorkloadKind,
)

NAME: Final = "reloader"
_EVENTS: Final = EventWords(source="reloader", restarted="Reloaded", failed="ReloadFail")
_TYPES: Final = {
    SourceKind.SECRET: "SECRET",
    SourceKind.CONFIG_MAP: "CONFIGMAP",
    SourceKind.PROVIDER_CLASS: "SECRETPROVIDERCLASS",
}


@dataclass(frozen=True, slots=True)
class ReloaderDialect:
    """Workloads with annotations of Reloader."""

    options: ReloaderOptions = field(default_factory=ReloaderOptions)

    @property
    def name(self) -> str:
        """Its name in settings."""
        return NAME

    @property
    def sources(self) -> frozenset[SourceKind]:
        """Which kinds have to be watched."""
        return self.options.sources

    @property
    def reads_namespaces(self) -> bool:
        """Whether labels of namespaces count."""
        return True

    def covers(self, namespace: NamespaceFacts) -> bool:
        """Return whether workloads of a namespace are treated."""
        options = self.options
        if namespace.name in options.ignored_namespaces or is_ignored(namespace):
            return False
        if options.namespaces and namespace.name not in options.namespaces:
            return False
        return options.namespace_selector.matches(namespace.labels)

    def policy(self, workload: Workload) -> RolloutPolicy | None:
        """Return how a workload is to be treated."""
        options = self.options
        kind = workload.ref.kind
        if kind in options.ignored_workloads:
            return None
        if kind is WorkloadKind.ROLLOUT and not options.argo_rollouts:
            return None
        found = _Sources(workload, options)
        for source in sorted(options.sources):
            found.read(source)
        if not found.asked:
            return None
        policy = RolloutPolicy(
            dialect=NAME,
            candidates=tuple(found.candidates.values()),
            patterns=tuple(found.patterns),
            restart_on_create=options.on_create,
            restart_on_delete=options.on_delete,
            mode=_mode(workload, options),
            restart_marks=partial(restart_marks, options),
            pause_period=_pause_period(workload, options),
            events=_EVENTS,
            problems=tuple(found.problems),
        )
        return restrained(policy, workload.annotations)


class _Sources:
    """What a workload asks for, kind by kind."""

    def __init__(self, workload: Workload, options: ReloaderOptions) -> None:
        self._workload = workload
        self._options = options
        self._keys = options.keys
        ignored = SourceCondition(self._keys.ignore, "true", negated=True)
        self._conditions = (ignored, NOT_IGNORED, *options.source_conditions)
        self.asked = False
        self.candidates: dict[SourceRef, CandidateSource] = {}
        self.patterns: list[CandidatePattern] = []
        self.problems: list[str] = []

    def read(self, kind: SourceKind) -> None:
        """Add what is asked for of one kind."""
        said = self._annotations(kind)
        excluded = set(self._listed(self._workload.annotations, self._keys.excluded[kind]))
        consumed = [use for use in self._consumed(kind) if use.ref.name not in excluded]
        if self._is_auto(said, kind):
            self.asked = True
            self._add(consumed)
        elif said.get(self._keys.search) == "true":
            self.asked = True
            self._add(consumed, SourceCondition(self._keys.match, "true"))
        for text in self._listed(said, self._keys.named[kind]):
            self.asked = True
            self._add_named(kind, text, excluded)

    def _annotations(self, kind: SourceKind) -> Mapping[str, str]:
        """Return where to look: on the workload, or, if nothing is there, on its pods."""
        keys, own = self._keys, self._workload.annotations
        relevant = (keys.named[kind], keys.search, keys.auto, keys.typed_auto[kind])
        return own if any(key in own for key in relevant) else self._workload.template_annotations

    def _is_auto(self, said: Mapping[str, str], kind: SourceKind) -> bool:
        values = (said.get(self._keys.auto), said.get(self._keys.typed_auto[kind]))
        if any(map(is_true, values)):
            return True
        return self._options.auto_reload_all and not any(values)

    def _consumed(self, kind: SourceKind) -> Iterator[SourceUse]:
        """Yield what containers consume, as a whole; a volume that none mounts does not count."""
        for use in self._workload.uses:
            if use.ref.kind is kind and use.containers:
                yield replace(use, keys=None)

    def _add(self, uses: Iterable[SourceUse], *conditions: SourceCondition) -> None:
        for use in uses:
            self.candidates[use.ref] = CandidateSource(use, (*self._conditions, *conditions))

    def _add_named(self, kind: SourceKind, text: str, excluded: set[str]) -> None:
        namespace = self._workload.ref.key.namespace
        try:
            pattern = NamePattern.parse(text)
        except PatternError as error:
            self.problems.append(f"annotation {self._keys.named[kind]}: {error}")
            return
        if not pattern.is_literal:
            self.patterns.append(
                CandidatePattern(kind, namespace, pattern, self._conditions, frozenset(excluded))
            )
        elif text not in excluded:
            ref = SourceRef(kind, namespace, text)
            self._add([replace(named_use(self._workload.uses, ref), keys=None)])

    def _listed(self, annotations: Mapping[str, str], name: str) -> list[str]:
        try:
            return listed(annotations.get(name, ""))
        except ValueError as error:
            self.problems.append(f"annotation {name}: {error}")
            return []


def _mode(workload: Workload, options: ReloaderOptions) -> RestartMode:
    match workload.ref.kind:
        case WorkloadKind.CRON_JOB:
            return RestartMode.INSTANTIATE
        case WorkloadKind.JOB:
            return RestartMode.RECREATE
        case WorkloadKind.ROLLOUT:
            restarts = workload.annotations.get(ROLLOUT_STRATEGY) == "restart"
            return RestartMode.RESTART_AT if restarts else RestartMode.TEMPLATE
        case _ if options.strategy is ReloadStrategy.ENV_VARS:
            return RestartMode.ENVIRONMENT
        case _:
            return RestartMode.TEMPLATE


def _pause_period(workload: Workload, options: ReloaderOptions) -> PausePeriod | None:
    """Return how long a Deployment is paused; one that makes no sense does not, as in Reloader."""
    text = workload.annotations.get(options.keys.pause_period, "")
    if workload.ref.kind is not WorkloadKind.DEPLOYMENT or not text:
        return None
    try:
        duration = parse_duration(text[:64])
    except ValueError:
        return None
    return PausePeriod(duration, options.keys.paused_at) if duration > timedelta() else None


# Marks


def restart_marks(options: ReloaderOptions, facts: RestartFacts) -> RestartMarks:
    """Return the marks of a restart, by which its users recognise one."""
    mode = _mode(facts.workload, options)
    if not facts.changed or mode is RestartMode.RESTART_AT:  # a new template is a new revision
        return RestartMarks()
    if mode is RestartMode.ENVIRONMENT:
        return RestartMarks(environment=_environment(facts))
    last = facts.changed[-1]
    return RestartMarks(template_annotations={LAST_RELOADED_FROM: _reloaded_from(facts, last)})


def _reloaded_from(facts: RestartFacts, source: ConsumedSource) -> str:
    """Return what caused a restart, as JSON."""
    ref = source.use.ref
    return orjson.dumps(
        {
            "type": _TYPES[ref.kind],
            "name": ref.name,
            "namespace": ref.namespace,
            "hash": source.digest,
            "containerRefs": [_container(facts.workload, source.use)],
            "observedAt": int(facts.now.timestamp()),
        }
    ).decode()


def _environment(facts: RestartFacts) -> dict[str, dict[str, str]]:
    """Return the variables that change, by the container that has them or gets them.

    In the order of the template: a strategic merge would put containers into that of the patch.
    """
    found: dict[str, dict[str, str]] = {name: {} for name in facts.workload.containers}
    for source in facts.changed:
        variable = variable_name(source.use.ref)
        has = (
            name for name, variables in facts.workload.environment.items() if variable in variables
        )
        container = next(has, None) or _container(facts.workload, source.use)
        found.setdefault(container, {})[variable] = source.digest
    return {name: variables for name, variables in found.items() if variables}


def _container(workload: Workload, use: SourceUse) -> str:
    """Return the first container that consumes a source; of init containers, the pod's first."""
    main = workload.containers
    return next((name for name in use.containers if name in main), main[0] if main else "")


def variable_name(ref: SourceRef) -> str:
    """Return the variable for a source: ``STAKATER_MY_SECRET_SECRET``."""
    words = "".join(letter if letter.isalnum() else " " for letter in ref.name.upper()).split()
    return f"STAKATER_{'_'.join(words)}_{_TYPES[ref.kind]}"
