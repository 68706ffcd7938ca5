"""Our own dialect.

| annotation of the workload | value |
|---|---|
| ``rollout.certwright.dev/restart`` | ``true``: with all that it consumes; ``false``: never |
| | ``secrets``, ``configmaps``, ``certificates``: with these |
| ``rollout.certwright.dev/also`` | ``secret/a,configmap/b``: with these, consumed or not |
| ``rollout.certwright.dev/except`` | ``secret/a,configmap/b``: not with these |

What holds restarts back is in `restraint`. ``false`` counts in every dialect, because this one is
asked first.
"""

from collections.abc import Iterable
from typing import Final

from certwright.api.certmanager import CERTIFICATE_NAME
from certwright.operators.rollout.dialects.restraint import NOT_IGNORED, is_ignored, restrained
from certwright.operators.rollout.dialects.texts import listed, require_name
from certwright.operators.rollout.policy import (
    DOMAIN,
    CandidateSource,
    NamespaceFacts,
    RestartMode,
    RolloutPolicy,
    SourceCondition,
    named_use,
)
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    Workload,
    WorkloadKind,
)

NAME: Final = "certwright"
RESTART: Final = f"{DOMAIN}/restart"
ALSO: Final = f"{DOMAIN}/also"
EXCEPT: Final = f"{DOMAIN}/except"

ISSUED: Final = SourceCondition(CERTIFICATE_NAME)
"""cert-manager keeps a certificate in it."""
_SECRETS: Final = frozenset({SourceKind.SECRET})
_VALUES: Final = {
    "true": (frozenset(SourceKind), (NOT_IGNORED,)),
    "secrets": (_SECRETS, (NOT_IGNORED,)),
    "configmaps": (frozenset({SourceKind.CONFIG_MAP}), (NOT_IGNORED,)),
    "certificates": (_SECRETS, (NOT_IGNORED, ISSUED)),
}
_KINDS: Final = {kind.lower(): kind for kind in SourceKind}


class CertwrightDialect:
    """Workloads that are annotated with ``rollout.certwright.dev/restart``."""

    name = NAME
    sources = frozenset(SourceKind)
    reads_namespaces = True

    def covers(self, namespace: NamespaceFacts) -> bool:
        """Return whether workloads of a namespace are treated."""
        return not is_ignored(namespace)

    def policy(self, workload: Workload) -> RolloutPolicy | None:
        """Return how a workload is to be treated."""
        said = workload.annotations.get(RESTART)
        if said is None:
            return None
        if said == "false":
            return RolloutPolicy(dialect=NAME, enabled=False)
        problems: list[str] = []
        if said not in _VALUES:
            known = ", ".join([*_VALUES, "false"])
            problems.append(f"annotation {RESTART}: {said[:64]!r} is none of {known}")
        kinds, conditions = _VALUES.get(said, _VALUES["true"])
        excepted = set(_sources(workload, EXCEPT, problems))
        named = [ref for ref in _sources(workload, ALSO, problems) if ref not in excepted]
        consumed = [
            use
            for use in workload.uses
            if use.ref.kind in kinds and use.ref not in excepted and use.ref not in named
        ]
        is_argo = workload.ref.kind is WorkloadKind.ROLLOUT  # a new template is a new revision
        policy = RolloutPolicy(
            dialect=NAME,
            candidates=(
                *(CandidateSource(use, conditions) for use in consumed),
                *(CandidateSource(named_use(workload.uses, ref), (NOT_IGNORED,)) for ref in named),
            ),
            mode=RestartMode.RESTART_AT if is_argo else RestartMode.TEMPLATE,
            problems=tuple(problems),
        )
        return restrained(policy, workload.annotations)


def _sources(workload: Workload, annotation: str, problems: list[str]) -> Iterable[SourceRef]:
    """Return what an annotation lists; what is wrong with it goes to *problems*."""
    found: list[SourceRef] = []
    if annotation not in workload.annotations:
        return found
    try:
        for part in listed(workload.annotations[annotation]):
            kind, _, name = part.partition("/")
            if kind.lower() not in _KINDS:
                raise ValueError(
                    f"{part[:64]!r} is none of secret/NAME, configmap/NAME,"
                    " secretproviderclass/NAME"
                )
            require_name(name)
            found.append(SourceRef(_KINDS[kind.lower()], workload.ref.key.namespace, name))
    except ValueError as error:
        problems.append(f"annotation {annotation}: {error}")
    return found
