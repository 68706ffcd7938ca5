"""The flags of Stakater Reloader, of both its majors: what they mean, and which mean nothing here.

Lists have commas between and may be given several times; switches may be ``--enable-ha=false``.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from certwright.cli.errors import UsageError
from certwright.cli.resourcemanager.flags import switch
from certwright.operators.rollout.dialects.reloaderoptions import (
    ReloaderKeys,
    ReloaderOptions,
    ReloadStrategy,
    conditions_of,
    parse_selector,
)
from certwright.operators.rollout.workload import BUILT_IN_SOURCES, SourceKind, WorkloadKind

_NO_EFFECT: Final = {
    "enable_pprof": "--enable-pprof has no effect; --dump writes the internal state on SIGUSR1",
    "sync_after_restart": "--sync-after-restart has no effect: what changed while no process ran is"
    " always noticed",
}
_NO_ALERTS: Final = (
    "alerts of Reloader are not sent; watch the Events of workloads, or the metrics, instead"
)
_NO_DEPLOYMENT_CONFIGS: Final = "--is-openshift has no effect: DeploymentConfigs do not restart"
_SOURCES: Final = {"secrets": SourceKind.SECRET, "configmaps": SourceKind.CONFIG_MAP}
_WORKLOADS: Final = {"cronjobs": WorkloadKind.CRON_JOB, "jobs": WorkloadKind.JOB}


def notes_of(typed: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what to tell about flags and variables that have no effect."""
    yield from (note for name, note in _NO_EFFECT.items() if typed[name])
    if (typed["is_openshift"] or "").lower() == "true":
        yield _NO_DEPLOYMENT_CONFIGS
    alerts = [typed["alert_on_reload"], environment.get("ALERT_ON_RELOAD")]
    urls = [typed["alert_webhook_url"], environment.get("ALERT_WEBHOOK_URL")]
    if any(urls) or any((one or "").lower() == "true" for one in alerts):
        yield _NO_ALERTS


def options_of(typed: Mapping[str, Any]) -> ReloaderOptions:
    """Return what the flags of Reloader say; `UsageError` if they make no sense."""
    ignored = {_known(name, _SOURCES, "--resources-to-ignore") for name in _sources(typed)}
    workloads = {
        _known(name, _WORKLOADS, "--ignored-workload-types")
        for name in listed_words(typed["ignored_workload_types"])
    }
    try:
        namespaces = parse_selector(listed_words(typed["namespace_selector"]))
        conditions = conditions_of(parse_selector(listed_words(typed["resource_label_selector"])))
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
        ignored_namespaces=frozenset(listed_words(typed["namespaces_to_ignore"])),
        namespaces=frozenset(listed_words(typed["namespaces"])),
        namespace_selector=namespaces,
        source_conditions=conditions,
    )


def _counting(typed: Mapping[str, Any]) -> frozenset[SourceKind]:
    csi = frozenset({SourceKind.PROVIDER_CLASS} if typed["enable_csi_integration"] else ())
    return BUILT_IN_SOURCES | csi


def _keys(typed: Mapping[str, Any]) -> ReloaderKeys:
    """Return the names of annotations, as flags change them."""
    keys = ReloaderKeys()
    return ReloaderKeys(
        auto=typed["auto_annotation"] or keys.auto,
        search=typed["auto_search_annotation"] or keys.search,
        match=typed["search_match_annotation"] or keys.match,
        ignore=typed["ignore_annotation"] or keys.ignore,
        typed_auto=_by_kind(typed, "_auto_annotation", keys.typed_auto),
        named=_by_kind(typed, "_annotation", keys.named),
        excluded=_by_kind(typed, "_exclude_annotation", keys.excluded),
        pause_period=typed["pause_deployment_annotation"] or keys.pause_period,
        paused_at=typed["pause_deployment_time_annotation"] or keys.paused_at,
    )


def _by_kind(
    typed: Mapping[str, Any], ending: str, usual: Mapping[SourceKind, str]
) -> dict[SourceKind, str]:
    return {kind: typed[f"{kind.lower()}{ending}"] or usual[kind] for kind in SourceKind}


def _sources(typed: Mapping[str, Any]) -> list[str]:
    """Return which kinds are ignored; `UsageError` if none is left."""
    ignored = [name.lower() for name in listed_words(typed["resources_to_ignore"])]
    ignored += ["secrets"] if typed["ignore_secrets"] else []
    ignored += ["configmaps"] if typed["ignore_configmaps"] else []
    if len(set(ignored)) > 1:
        raise UsageError("--resources-to-ignore: secrets or configmaps can be ignored, not both")
    return ignored


def _known(name: str, known: Mapping[str, Any], flag: str) -> Any:
    if name not in known:
        raise UsageError(f"{flag}: {name!r} is none of {', '.join(known)}")
    return known[name]


def listed_words(given: Sequence[str] | None) -> list[str]:
    """Return the parts of a flag that may be repeated and has commas between."""
    parts = (part.strip() for text in given or () for part in text.split(","))
    return list(dict.fromkeys(part for part in parts if part))


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
    "--ignore-annotation", "--pause-deployment-annotation", "--pause-deployment-time-annotation",
    *(f"--{kind.lower()}-{what}" for kind in SourceKind for what in (
        "annotation", "auto-annotation", "exclude-annotation",
    )),
)  # fmt: skip
_ACCEPTED: Final = (
    "--pprof-addr", "--is-openshift", "--leader-election-lease-duration",
    "--leader-election-renew-deadline", "--leader-election-retry-period",
    "--leader-election-release-on-cancel",
)  # fmt: skip
_ALERTS: Final = (
    "--alert-on-reload", "--alert-webhook-url", "--alert-sink", "--alert-proxy",
    "--alert-additional-info", "--alert-structured",
)  # fmt: skip


def add_to(group: argparse._ArgumentGroup) -> None:
    """Add the flags of Reloader to a parser."""
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
    group.add_argument("--leader-election-id", metavar="NAME", help="Name of the Lease.")
    group.add_argument("--leader-election-namespace", metavar="NAME", help="Where the Lease is.")
    for name in (*_ACCEPTED, *_ALERTS):
        text = "Accepted; no effect."
        group.add_argument(name, nargs="?", const="true", metavar="VALUE", help=text)


def _add_switch(group: argparse._ArgumentGroup, *names: str, **more: Any) -> None:
    group.add_argument(
        *names, nargs="?", const=True, default=False, type=switch, metavar="true|false", **more
    )
