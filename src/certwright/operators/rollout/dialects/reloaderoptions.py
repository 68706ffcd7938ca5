"""How the dialect of Stakater Reloader is set up: its flags as a value, with its defaults."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from certwright.kube import LabelSelector
from certwright.kube.selectors import SelectorOperator
from certwright.operators.rollout.policy import SourceCondition
from certwright.operators.rollout.workload import BUILT_IN_SOURCES, SourceKind, WorkloadKind

DOMAIN: Final = "reloader.stakater.com"
LAST_RELOADED_FROM: Final = f"{DOMAIN}/last-reloaded-from"
ROLLOUT_STRATEGY: Final = f"{DOMAIN}/rollout-strategy"


class ReloadStrategy(StrEnum):
    """What is changed in a pod template."""

    ENV_VARS = "env-vars"
    ANNOTATIONS = "annotations"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloaderKeys:
    """The names of its annotations, which flags can change."""

    auto: str = f"{DOMAIN}/auto"
    search: str = f"{DOMAIN}/search"
    match: str = f"{DOMAIN}/match"
    ignore: str = f"{DOMAIN}/ignore"
    typed_auto: Mapping[SourceKind, str] = field(
        default_factory=lambda: {
            SourceKind.SECRET: f"secret.{DOMAIN}/auto",
            SourceKind.CONFIG_MAP: f"configmap.{DOMAIN}/auto",
            SourceKind.PROVIDER_CLASS: f"secretproviderclass.{DOMAIN}/auto",
        }
    )
    named: Mapping[SourceKind, str] = field(
        default_factory=lambda: {
            SourceKind.SECRET: f"secret.{DOMAIN}/reload",
            SourceKind.CONFIG_MAP: f"configmap.{DOMAIN}/reload",
            SourceKind.PROVIDER_CLASS: f"secretproviderclass.{DOMAIN}/reload",
        }
    )
    excluded: Mapping[SourceKind, str] = field(
        default_factory=lambda: {
            SourceKind.SECRET: f"secrets.exclude.{DOMAIN}/reload",
            SourceKind.CONFIG_MAP: f"configmaps.exclude.{DOMAIN}/reload",
            SourceKind.PROVIDER_CLASS: f"secretproviderclasses.exclude.{DOMAIN}/reload",
        }
    )
    pause_period: str = f"deployment.{DOMAIN}/pause-period"
    paused_at: str = f"deployment.{DOMAIN}/paused-at"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloaderOptions:
    """What its flags say."""

    keys: ReloaderKeys = field(default_factory=ReloaderKeys)
    strategy: ReloadStrategy = ReloadStrategy.ENV_VARS
    auto_reload_all: bool = False
    on_create: bool = False
    on_delete: bool = False
    sources: frozenset[SourceKind] = BUILT_IN_SOURCES
    """Which kinds count: not those of ``--resources-to-ignore``, and what the Secrets Store CSI
    driver mounts only with ``--enable-csi-integration``."""
    ignored_workloads: frozenset[WorkloadKind] = frozenset()
    argo_rollouts: bool = False
    recreate_jobs: bool = False
    """Whether Jobs are watched and recreated, which takes the right to delete all Jobs."""
    ignored_namespaces: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    """The only ones that count; all if empty."""
    namespace_selector: LabelSelector = field(default_factory=LabelSelector)
    source_conditions: tuple[SourceCondition, ...] = ()
    """What ``--resource-label-selector`` asks of Secrets and ConfigMaps."""


def parse_selector(parts: Iterable[str]) -> LabelSelector:
    """Read labels as its flags have them: ``key=value``, ``key:value``, with ``*`` for any value.

    Raises `ValueError` if that is no label selector.
    """
    return LabelSelector.parse(",".join(_without_wildcard(part.strip()) for part in parts if part))


def conditions_of(selector: LabelSelector) -> tuple[SourceCondition, ...]:
    """Return what a selector asks of a source; `ValueError` if it offers a choice of values."""
    return tuple(
        condition
        for requirement in selector.requirements
        for condition in _conditions(requirement.key, requirement.operator, requirement.values)
    )


def _conditions(
    key: str, operator: SelectorOperator, values: tuple[str, ...]
) -> Iterable[SourceCondition]:
    match operator:
        case SelectorOperator.EXISTS:
            return [SourceCondition(key, label=True)]
        case SelectorOperator.DOES_NOT_EXIST:
            return [SourceCondition(key, label=True, negated=True)]
        case SelectorOperator.EQUALS if len(values) == 1:
            return [SourceCondition(key, values[0], label=True)]
        case SelectorOperator.IN if len(values) == 1:
            return [SourceCondition(key, values[0], label=True)]
        case SelectorOperator.NOT_EQUALS | SelectorOperator.NOT_IN:
            return [SourceCondition(key, value, label=True, negated=True) for value in values]
        case _:
            raise ValueError(f"label {key}: only one value can be asked for, not a choice")


def _without_wildcard(part: str) -> str:
    for sign in (":", "="):
        key, found, value = part.partition(sign)
        if found and not key.endswith("!"):
            return key if value == "*" else f"{key}={value.removeprefix('=')}"
    return part
