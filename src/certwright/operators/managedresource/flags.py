"""Command line flags of the seed era, and the environment: they override the file.

Flags are laid over the document of the configuration file before it is decoded, so that both
are checked by the same rules; a problem with a flag names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.kube.durations import parse_duration
from certwright.operators.managedresource.configuration import Loaded, load
from certwright.operators.managedresource.strictdecoding import ConfigurationError, Problem


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag and the place in the configuration file that it overrides."""

    name: str
    path: str
    """Empty for one that is accepted and has no effect."""
    help: str


FLAGS: Final = (
    Flag("--kubeconfig", "sourceClientConnection.kubeconfig", "Kubeconfig of the source cluster."),
    Flag("--namespace", "sourceClientConnection.namespaces", "Namespace to watch; default all."),
    Flag("--cache-resync-period", "sourceClientConnection.cacheResyncPeriod", "Without effect."),
    Flag("--target-kubeconfig", "targetClientConnection.kubeconfig", "Kubeconfig of the target."),
    Flag("--target-disable-cache", "", "Without effect."),
    Flag(
        "--target-cache-resync-period",
        "targetClientConnection.cacheResyncPeriod",
        "Without effect.",
    ),
    Flag(
        "--extra-target-namespace",
        "targetClientConnection.namespaces",
        "Namespace of the target to add to those of the file; may be repeated.",
    ),
    Flag("--resource-class", "controllers.resourceClass", "Class of this instance; * for all."),
    Flag(
        "--cluster-id",
        "controllers.clusterID",
        "Id of the source cluster; <cluster> or <default> to read it there.",
    ),
    Flag("--minimum-period", "controllers.minimumPeriod", "Shortest period that is accepted."),
    Flag(
        "--managed-resource-controller",
        "controllers.managedResource.enabled",
        "Whether objects are applied.",
    ),
    Flag(
        "--sync-period",
        "controllers.managedResource.syncPeriod",
        "How often everything is checked.",
    ),
    Flag(
        "--max-concurrent-workers",
        "controllers.managedResource.concurrentSyncs",
        "How many ManagedResources are applied at the same time.",
    ),
    Flag(
        "--always-update",
        "controllers.managedResource.alwaysUpdate",
        "Write objects also when nothing differs.",
    ),
    Flag("--health-controller", "controllers.health.enabled", "Whether health is judged."),
    Flag("--health-sync-period", "controllers.health.syncPeriod", "How often health is judged."),
    Flag(
        "--health-max-concurrent-workers",
        "controllers.health.concurrentSyncs",
        "How many ManagedResources are judged at the same time.",
    ),
    Flag("--secret-max-concurrent-workers", "", "Without effect."),
    Flag(
        "--garbage-collector-sync-period",
        "controllers.garbageCollector.syncPeriod",
        "How often unused ConfigMaps and Secrets are deleted; 0 for never.",
    ),
    Flag(
        "--garbage-collector-minimum-lifetime",
        "controllers.garbageCollector.minimumObjectLifetime",
        "How old, and how long unused, they must be.",
    ),
    Flag(
        "--token-requestor",
        "controllers.tokenRequestor.enabled",
        "Whether tokens are requested and renewed.",
    ),
    Flag(
        "--token-requestor-max-concurrent-workers",
        "controllers.tokenRequestor.concurrentSyncs",
        "How many tokens are requested at the same time.",
    ),
    Flag("--leader-election", "leaderElection.leaderElect", "Whether one replica is elected."),
    Flag(
        "--leader-election-resource-lock",
        "leaderElection.resourceLock",
        "Only leases is supported.",
    ),
    Flag(
        "--leader-election-namespace", "leaderElection.resourceNamespace", "Namespace of the Lease."
    ),
    Flag(
        "--leader-election-lease-duration",
        "leaderElection.leaseDuration",
        "How long the Lease lasts.",
    ),
    Flag(
        "--leader-election-renew-deadline",
        "leaderElection.renewDeadline",
        "When to give up renewing.",
    ),
    Flag(
        "--leader-election-retry-period",
        "leaderElection.retryPeriod",
        "How often to try to get it.",
    ),
    Flag("--metrics-bind-address", "server.metrics", "Where metrics are served, such as :8080."),
    Flag("--health-bind-address", "server.healthProbes", "Where probes are served, such as :8081."),
)
_BY_NAME: Final = {flag.name: flag for flag in FLAGS}
_LISTS: Final = frozenset({"--namespace", "--extra-target-namespace"})
_ADDRESSES: Final = frozenset({"--metrics-bind-address", "--health-bind-address"})
_GARBAGE_PERIOD: Final = "--garbage-collector-sync-period"

_ENVIRONMENT: Final = {
    "KUBECONFIG": "--kubeconfig",
    "TARGET_KUBECONFIG": "--target-kubeconfig",
}


def load_with_flags(
    document: Mapping[str, Any],
    flags: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
) -> Loaded:
    """Return the configuration of a file, as *flags* and the *environment* override it.

    *flags* are those that were given, by name (``--sync-period``), with texts, numbers,
    booleans, or lists for those that can be repeated.

    Raises:
        ConfigurationError: with every problem there is; those of flags name the flag.
    """
    from_environment = {
        flag: value
        for name, flag in _ENVIRONMENT.items()
        if (value := (environment or {}).get(name))
    }
    given = {**from_environment, **flags}
    laid: JsonObject = dict(document)
    problems: list[Problem] = []
    for name, value in given.items():
        try:
            laid = _laid_over(laid, _BY_NAME[name], value)
        except ValueError as error:
            problems.append(Problem(name, str(error)))
    if problems:
        raise ConfigurationError(problems)
    try:
        loaded = load(laid)
    except ConfigurationError as error:
        raise ConfigurationError(_naming_flags(error.problems, given)) from error
    idle = [Problem(name, "has no effect") for name in given if not _BY_NAME[name].path]
    return Loaded(loaded.configuration, (*loaded.warnings, *idle))


def _laid_over(document: JsonObject, flag: Flag, value: Any) -> JsonObject:
    if not flag.path:
        return document
    if flag.name in _LISTS:
        names = list(value) if isinstance(value, list | tuple) else [value] if value else []
        before = _at(document, flag.path) if flag.name == "--extra-target-namespace" else None
        return _set(document, flag.path, [*(before or ()), *names])
    if flag.name in _ADDRESSES:
        host, port = _address(str(value))
        document = _set(document, f"{flag.path}.bindAddress", host)
        return _set(document, f"{flag.path}.port", port)
    if flag.name == _GARBAGE_PERIOD:
        period = parse_duration(str(value))
        document = _set(document, "controllers.garbageCollector.enabled", bool(period))
    return _set(document, flag.path, value)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit():
        raise ValueError(f"{text!r} is not an address such as :8080 or 127.0.0.1:8080")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _at(document: Mapping[str, Any], path: str) -> Any:
    found: Any = document
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _set(document: JsonObject, path: str, value: Any) -> JsonObject:
    """Return a document with another value at a path; what is in the way is replaced."""
    name, _, rest = path.partition(".")
    if not rest:
        return {**document, name: value}
    inner = document.get(name)
    return {**document, name: _set(inner if isinstance(inner, dict) else {}, rest, value)}


def _naming_flags(problems: tuple[Problem, ...], given: Mapping[str, Any]) -> list[Problem]:
    """Add to problems of what flags said which flag it was."""
    flags = {_BY_NAME[name].path: name for name in given if _BY_NAME[name].path}
    return [
        Problem(f"{flags[p.path]} ({p.path})", p.message) if p.path in flags else p
        for p in problems
    ]
