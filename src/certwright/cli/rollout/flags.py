"""The flags of ``certwright rollout run``: those of Stakater Reloader, and further ones.

Lists have commas between and may be given several times; switches may be ``--enable-ha=false``.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from certwright.cli.errors import UsageError
from certwright.cli.resourcemanager.flags import switch
from certwright.cli.rollout.actions import ReaderOptions
from certwright.kube import Key
from certwright.kube.durations import parse_duration
from certwright.operators.rollout.dialects import choice
from certwright.operators.rollout.dialects.reloaderoptions import (
    ReloaderKeys,
    ReloaderOptions,
    ReloadStrategy,
    conditions_of,
    parse_selector,
)
from certwright.operators.rollout.engine.settings import DEFAULT_HOME
from certwright.operators.rollout.workload import BUILT_IN_SOURCES, SourceKind, WorkloadKind

_DESCRIPTION: Final = """\
Restart workloads when the Secrets and ConfigMaps that their pods consume have
changed. Which workloads do is said by their annotations, in the words of
certwright, cmd-operator (redhat), Stakater Reloader, or IBM's operator (ibm).
The flags of Stakater Reloader mean what they mean there.
"""
_EXAMPLES: Final = """\
Examples:
  certwright rollout run                                   # on a laptop
  certwright rollout run --dry-run --log-level debug
  certwright rollout run --auto-reload-all --reload-strategy annotations \\
      --namespaces-to-ignore kube-system --enable-ha
  certwright rollout run --dialects ibm --limit-per-cluster 20
"""
_NO_EFFECT: Final = {
    "enable_pprof": "--enable-pprof has no effect; --dump writes the internal state on SIGUSR1",
    "sync_after_restart": "--sync-after-restart has no effect: what changed while no process ran is"
    " always noticed",
}
_LEVELS: Final = {
    "trace": "debug", "debug": "debug", "info": "info", "warning": "info", "warn": "info",
    "error": "error", "fatal": "error", "panic": "error",
}  # fmt: skip
_SOURCES: Final = {"secrets": SourceKind.SECRET, "configmaps": SourceKind.CONFIG_MAP}
_WORKLOADS: Final = {"cronjobs": WorkloadKind.CRON_JOB, "jobs": WorkloadKind.JOB}


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutOptions:
    """What the command line asks for."""

    dialects: tuple[str, ...] = choice.DEFAULT
    reloader: ReloaderOptions = field(default_factory=ReloaderOptions)
    namespace: str = ""
    """The only one that is watched; all if empty."""
    home: Key = DEFAULT_HOME
    """The Secret with the key of digests."""
    quiet: timedelta | None = None
    patience: timedelta | None = None
    per_namespace: int = 0
    per_cluster: int = 0
    dry_run: bool = False
    leader_elect: bool = False
    kubeconfig: Path | None = None
    metrics: str | None = None
    probes: str | None = None
    log_level: str = "info"
    log_format: str = "auto"
    dump: Path | None = None
    version: bool = False
    notes: tuple[str, ...] = ()
    """About flags that have no effect."""


def parse(words: Sequence[str], environment: Mapping[str, str]) -> RolloutOptions:
    """Read the command line; end the process with a message, or raise `UsageError`."""
    typed = vars(_parser().parse_args(list(words)))
    if typed["webhook_url"]:
        raise UsageError(
            "--webhook-url is not supported: it would call an address instead of restarting"
            " anything; watch the Events of workloads, or the metrics, instead"
        )
    return RolloutOptions(
        dialects=_dialects(_listed(typed["dialects"]) or choice.DEFAULT),
        reloader=_reloader(typed),
        namespace=environment.get("KUBERNETES_NAMESPACE", ""),
        home=_home(typed["key_secret"]),
        quiet=_duration(typed, "quiet"),
        patience=_duration(typed, "patience"),
        per_namespace=typed["limit_per_namespace"],
        per_cluster=typed["limit_per_cluster"],
        dry_run=typed["dry_run"],
        leader_elect=typed["leader_elect"],
        kubeconfig=typed["kubeconfig"],
        metrics=typed["metrics"],
        probes=typed["probes"],
        log_level=_LEVELS[typed["log_level"]],
        log_format="json" if typed["log_format"] == "json" else "auto",
        dump=typed["dump"],
        version=typed["version"],
        notes=tuple(note for name, note in _NO_EFFECT.items() if typed[name]),
    )


def asked(dialects: str | None, key_secret: str | None) -> ReaderOptions:
    """Return with whose eyes to look, as options say; `UsageError` if they make no sense."""
    names = _dialects(_listed([dialects] if dialects else None) or choice.NAMES)
    return ReaderOptions(names, _home(key_secret))


def _reloader(typed: Mapping[str, Any]) -> ReloaderOptions:
    ignored = {_known(name, _SOURCES, "--resources-to-ignore") for name in _sources(typed)}
    workloads = {
        _known(name, _WORKLOADS, "--ignored-workload-types")
        for name in _listed(typed["ignored_workload_types"])
    }
    try:
        namespaces = parse_selector(_listed(typed["namespace_selector"]))
        conditions = conditions_of(parse_selector(_listed(typed["resource_label_selector"])))
    except ValueError as error:
        raise UsageError(f"--namespace-selector, --resource-label-selector: {error}") from error
    return ReloaderOptions(
        keys=_keys(typed),
        strategy=ReloadStrategy(typed["reload_strategy"]),
        auto_reload_all=typed["auto_reload_all"],
        on_create=typed["reload_on_create"],
        on_delete=typed["reload_on_delete"],
        sources=_counting(typed) - ignored,
        ignored_workloads=frozenset(workloads),
        argo_rollouts=typed["is_argo_rollouts"],
        recreate_jobs=typed["recreate_jobs"],
        ignored_namespaces=frozenset(_listed(typed["namespaces_to_ignore"])),
        namespaces=frozenset(_listed(typed["namespaces"])),
        namespace_selector=namespaces,
        source_conditions=conditions,
    )


def _counting(typed: Mapping[str, Any]) -> frozenset[SourceKind]:
    csi = frozenset({SourceKind.PROVIDER_CLASS} if typed["enable_csi_integration"] else ())
    return BUILT_IN_SOURCES | csi


def _keys(typed: Mapping[str, Any]) -> ReloaderKeys:
    """Return the names of annotations, as flags change them."""
    keys = ReloaderKeys()
    secret, config_map = SourceKind.SECRET, SourceKind.CONFIG_MAP
    return ReloaderKeys(
        auto=typed["auto_annotation"] or keys.auto,
        search=typed["auto_search_annotation"] or keys.search,
        match=typed["search_match_annotation"] or keys.match,
        ignore=typed["ignore_annotation"] or keys.ignore,
        typed_auto={
            **keys.typed_auto,
            secret: typed["secret_auto_annotation"] or keys.typed_auto[secret],
            config_map: typed["configmap_auto_annotation"] or keys.typed_auto[config_map],
        },
        named={
            **keys.named,
            secret: typed["secret_annotation"] or keys.named[secret],
            config_map: typed["configmap_annotation"] or keys.named[config_map],
        },
        pause_period=typed["pause_deployment_annotation"] or keys.pause_period,
        paused_at=typed["pause_deployment_time_annotation"] or keys.paused_at,
    )


def _sources(typed: Mapping[str, Any]) -> list[str]:
    """Return which kinds are ignored; `UsageError` if none is left."""
    ignored = [name.lower() for name in _listed(typed["resources_to_ignore"])]
    ignored += ["secrets"] if typed["ignore_secrets"] else []
    ignored += ["configmaps"] if typed["ignore_configmaps"] else []
    if len(set(ignored)) > 1:
        raise UsageError("--resources-to-ignore: secrets or configmaps can be ignored, not both")
    return ignored


def _known(name: str, known: Mapping[str, Any], flag: str) -> Any:
    if name not in known:
        raise UsageError(f"{flag}: {name!r} is none of {', '.join(known)}")
    return known[name]


def _dialects(names: Sequence[str]) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in choice.NAMES]:
        raise UsageError(f"--dialects: {', '.join(unknown)}; there are {', '.join(choice.NAMES)}")
    return tuple(names)


def _home(text: str | None) -> Key:
    if text is None:
        return DEFAULT_HOME
    key = Key.parse(text)
    if not key.namespace or not key.name:
        raise UsageError(f"--key-secret: {text!r} is not NAMESPACE/NAME")
    return key


def _duration(typed: Mapping[str, Any], name: str) -> timedelta | None:
    text = typed[name]
    if text is None:
        return None
    try:
        found = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--{name}: {error}") from error
    if found < timedelta():
        raise UsageError(f"--{name}: {text} is negative")
    return found


def _listed(given: Sequence[str] | None) -> list[str]:
    """Return the parts of a flag that may be repeated and has commas between."""
    parts = (part.strip() for text in given or () for part in text.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="certwright rollout run",
        usage="certwright rollout run [--dialects NAMES] [FLAGS]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_own(parser)
    _add_shared(parser)
    _add_of_reloader(parser.add_argument_group("flags of Stakater Reloader"))
    return parser


def _add_own(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(choice.NAMES)
    parser.add_argument(
        "--dialects",
        action="append",
        metavar="NAMES",
        help=f"Whose annotations count: {names}. Default: {','.join(choice.DEFAULT)}.",
    )
    parser.add_argument(
        "--quiet",
        metavar="DURATION",
        help="How long contents must be unchanged before a restart. Default: 5s.",
    )
    parser.add_argument(
        "--patience",
        metavar="DURATION",
        help="How long a rollout may take before it counts as failed. Default: 10m.",
    )
    for place in ("namespace", "cluster"):
        parser.add_argument(
            f"--limit-per-{place}",
            type=_number,
            default=0,
            metavar="NUMBER",
            help=f"How many workloads of a {place} may restart at the same time; 0: no limit.",
        )
    parser.add_argument(
        "--dry-run", action="store_true", help="Report restarts as Events; restart nothing."
    )
    parser.add_argument(
        "--recreate-jobs",
        action="store_true",
        help="Delete and recreate Jobs with the annotations of Reloader; by default left alone.",
    )
    parser.add_argument(
        "--key-secret",
        metavar="NAMESPACE/NAME",
        help="Secret with the key of digests. Default: kube-system/certwright-rollout-key.",
    )


def _add_shared(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="Default: KUBECONFIG, then ~/.kube/config, then in-cluster.",
    )
    add(
        "--metrics-addr",
        dest="metrics",
        metavar="ADDRESS",
        help="Where metrics are served; port 0 for nowhere. Default: :8080.",
    )
    add(
        "--health-probe-addr",
        "--health-addr",
        dest="probes",
        metavar="ADDRESS",
        help="Where /livez and /readyz are served; port 0 for nowhere. Default: :8081.",
    )
    add(
        "--log-level",
        choices=_LEVELS,
        default="info",
        metavar="LEVEL",
        help="debug, info, error; trace, warning, fatal and panic mean the nearest.",
    )
    add("--log-format", default="", metavar="FORMAT", help="json; text on a terminal otherwise.")
    add("--dump", type=Path, metavar="FILE", help="Where SIGUSR1 writes the internal state.")
    add("--version", action="store_true", help="Print the version, and end.")


_SWITCHES: Final = {
    "--auto-reload-all": "Treat every workload as if it had the annotation auto.",
    "--reload-on-create": "Restart pods that were started without a source when it is created.",
    "--reload-on-delete": "Restart pods when a source is deleted.",
    "--ignore-secrets": "As --resources-to-ignore secrets.",
    "--ignore-configmaps": "As --resources-to-ignore configmaps.",
    "--sync-after-restart": "Accepted; no effect: what changed meanwhile is always noticed.",
    "--enable-pprof": "Accepted; no effect.",
    "--enable-csi-integration": "Count what the Secrets Store CSI driver mounts.",
}
_LISTS: Final = {
    "--resources-to-ignore": ("KIND", "secrets or configmaps."),
    "--ignored-workload-types": ("KINDS", "jobs, cronjobs."),
    "--namespaces": ("NAMES", "The only ones that count."),
    "--namespaces-to-ignore": ("NAMES", "Those that do not count."),
    "--namespace-selector": ("LABELS", "Labels of namespaces that count: key=value, key:*."),
    "--resource-label-selector": ("LABELS", "Labels of Secrets and ConfigMaps that count."),
}
_ANNOTATIONS: Final = (
    "--auto-annotation", "--auto-search-annotation", "--search-match-annotation",
    "--ignore-annotation", "--secret-auto-annotation", "--configmap-auto-annotation",
    "--secret-annotation", "--configmap-annotation", "--pause-deployment-annotation",
    "--pause-deployment-time-annotation",
)  # fmt: skip


def _add_of_reloader(group: argparse._ArgumentGroup) -> None:
    for name, text in _SWITCHES.items():
        _add_switch(group, name, help=text)
    _add_switch(
        group,
        "--is-argo-rollouts",
        "--is-Argo-Rollouts",
        dest="is_argo_rollouts",
        help="Restart Argo Rollouts too.",
    )
    _add_switch(
        group,
        "--enable-ha",
        "--leader-elect",
        dest="leader_elect",
        help="Work only while this process holds the Lease certwright-rollout.",
    )
    group.add_argument(
        "--reload-strategy",
        choices=[str(one) for one in ReloadStrategy],
        default=str(ReloadStrategy.ENV_VARS),
        metavar="STRATEGY",
        help="What changes in a pod template: env-vars (default) or annotations.",
    )
    for name, (metavar, text) in _LISTS.items():
        group.add_argument(name, action="append", metavar=metavar, help=text)
    for name in _ANNOTATIONS:
        group.add_argument(name, metavar="NAME", help="Name of an annotation.")
    group.add_argument("--webhook-url", metavar="URL", help="Not supported.")
    group.add_argument("--pprof-addr", metavar="ADDRESS", help="Accepted; no effect.")


def _add_switch(group: argparse._ArgumentGroup, *names: str, **more: Any) -> None:
    group.add_argument(
        *names, nargs="?", const=True, default=False, type=switch, metavar="true|false", **more
    )
