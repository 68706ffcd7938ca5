"""The settings on a command line and in the environment: they override the file.

Flags are written into the document of the configuration file before it is decoded, so that both
are checked by the same rules; a problem with a flag names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.kube.durations import parse_duration
from certwright.operators.managedresource.configuration.decode import (
    ConfigurationError,
    ConfigurationProblem,
    value_at,
)
from certwright.operators.managedresource.configuration.load import LoadedConfiguration, load


class FlagType(Enum):
    """What is typed after a flag."""

    SWITCH = auto()
    """true or false; nothing is true."""
    NUMBER = auto()
    DURATION = auto()
    """As Go writes them: 1h30m."""
    ADDRESS = auto()
    """Of a socket: :8080 or 127.0.0.1:8080."""
    FILE = auto()
    NAME = auto()
    NAMES = auto()
    """A name; the flag may be repeated."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag, its type, and the path in the configuration file that it overrides."""

    name: str
    type: FlagType
    path: str
    """Empty for one that is accepted and has no effect."""
    help: str
    adds: bool = False
    """Whether names are added to those of the file."""
    enables: str = ""
    """The path of a switch: on if the duration is not zero."""


FLAGS: Final = (
    Flag("--kubeconfig", FlagType.FILE, "sourceClientConnection.kubeconfig",
         "Kubeconfig of the source cluster."),
    Flag("--namespace", FlagType.NAMES, "sourceClientConnection.namespaces",
         "Namespace to watch; default all."),
    Flag("--cache-resync-period", FlagType.DURATION, "sourceClientConnection.cacheResyncPeriod",
         "Without effect."),
    Flag("--target-kubeconfig", FlagType.FILE, "targetClientConnection.kubeconfig",
         "Kubeconfig of the target."),
    Flag("--target-disable-cache", FlagType.SWITCH, "", "Without effect."),
    Flag("--target-cache-resync-period", FlagType.DURATION,
         "targetClientConnection.cacheResyncPeriod", "Without effect."),
    Flag("--extra-target-namespace", FlagType.NAMES, "targetClientConnection.namespaces",
         "Namespace of the target to add to those of the file; may be repeated.", adds=True),
    Flag("--resource-class", FlagType.NAME, "controllers.resourceClass",
         "Class of this instance; * for all."),
    Flag("--cluster-id", FlagType.NAME, "controllers.clusterID",
         "Id of the source cluster; <cluster> or <default> to read it there."),
    Flag("--minimum-period", FlagType.DURATION, "controllers.minimumPeriod",
         "Shortest period that is accepted."),
    Flag("--managed-resource-controller", FlagType.SWITCH, "controllers.managedResource.enabled",
         "Whether objects are applied."),
    Flag("--sync-period", FlagType.DURATION, "controllers.managedResource.syncPeriod",
         "How often everything is checked."),
    Flag("--max-concurrent-workers", FlagType.NUMBER, "controllers.managedResource.concurrentSyncs",
         "How many ManagedResources are applied at the same time."),
    Flag("--always-update", FlagType.SWITCH, "controllers.managedResource.alwaysUpdate",
         "Write objects also when nothing differs."),
    Flag("--default-service-account", FlagType.NAME,
         "controllers.managedResource.serviceAccountName",
         "ServiceAccount that ManagedResources act as which name none."),
    Flag("--allowed-namespace", FlagType.NAMES, "controllers.managedResource.allowedNamespaces",
         "Namespace of the target that may be touched, * for any part of it; may be repeated."),
    Flag("--allowed-kind", FlagType.NAMES, "controllers.managedResource.allowedKinds",
         "Kind that may be touched, such as Deployment.apps; may be repeated."),
    Flag("--health-controller", FlagType.SWITCH, "controllers.health.enabled",
         "Whether the health of objects is checked."),
    Flag("--health-sync-period", FlagType.DURATION, "controllers.health.syncPeriod",
         "How often health is checked."),
    Flag("--health-max-concurrent-workers", FlagType.NUMBER, "controllers.health.concurrentSyncs",
         "How many ManagedResources are checked at the same time."),
    Flag("--secret-max-concurrent-workers", FlagType.NUMBER, "", "Without effect."),
    Flag("--garbage-collector", FlagType.SWITCH, "controllers.garbageCollector.enabled",
         "Whether unused ConfigMaps and Secrets are deleted."),
    Flag("--garbage-collector-sync-period", FlagType.DURATION,
         "controllers.garbageCollector.syncPeriod",
         "How often unused ConfigMaps and Secrets are deleted; 0 for never.",
         enables="controllers.garbageCollector.enabled"),
    Flag("--garbage-collector-minimum-lifetime", FlagType.DURATION,
         "controllers.garbageCollector.minimumObjectLifetime",
         "How old, and how long unused, they must be."),
    Flag("--token-requestor", FlagType.SWITCH, "controllers.tokenRequestor.enabled",
         "Whether tokens are requested and renewed."),
    Flag("--token-requestor-max-concurrent-workers", FlagType.NUMBER,
         "controllers.tokenRequestor.concurrentSyncs",
         "How many tokens are requested at the same time."),
    Flag("--token-requestor-allowed-service-account", FlagType.NAMES,
         "controllers.tokenRequestor.allowedServiceAccounts",
         "ServiceAccount (namespace/name, with *) that Secrets of other namespaces may ask for."),
    Flag("--leader-election", FlagType.SWITCH, "leaderElection.leaderElect",
         "Whether one replica is elected."),
    Flag("--leader-election-resource-lock", FlagType.NAME, "leaderElection.resourceLock",
         "Only leases is supported."),
    Flag("--leader-election-resource-name", FlagType.NAME, "leaderElection.resourceName",
         "Name of the Lease."),
    Flag("--leader-election-namespace", FlagType.NAME, "leaderElection.resourceNamespace",
         "Namespace of the Lease."),
    Flag("--leader-election-lease-duration", FlagType.DURATION, "leaderElection.leaseDuration",
         "How long the Lease lasts."),
    Flag("--leader-election-renew-deadline", FlagType.DURATION, "leaderElection.renewDeadline",
         "When to give up renewing."),
    Flag("--leader-election-retry-period", FlagType.DURATION, "leaderElection.retryPeriod",
         "How often to try to get the Lease."),
    Flag("--log-level", FlagType.NAME, "logLevel", "debug, info or error."),
    Flag("--metrics-bind-address", FlagType.ADDRESS, "server.metrics",
         "Where metrics are served, such as :8080."),
    Flag("--health-bind-address", FlagType.ADDRESS, "server.healthProbes",
         "Where probes are served, such as :8081."),
)  # fmt: skip
_BY_NAME: Final = {flag.name: flag for flag in FLAGS}
_ENVIRONMENT: Final = {"KUBECONFIG": "--kubeconfig", "TARGET_KUBECONFIG": "--target-kubeconfig"}


def load_with_flags(
    document: Mapping[str, Any],
    flags: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
) -> LoadedConfiguration:
    """Return the configuration of a file, as *flags* and the *environment* override it.

    *flags* are those that were given, by name (``--sync-period``), with texts, numbers, booleans,
    or lists for those that can be repeated. Raises `ConfigurationError` with every problem there
    is; those of flags name the flag.
    """
    from_environment = {
        flag: value
        for name, flag in _ENVIRONMENT.items()
        if (value := (environment or {}).get(name))
    }
    given = {**from_environment, **flags}
    overridden: JsonObject = dict(document)
    problems: list[ConfigurationProblem] = []
    for name, value in given.items():
        try:
            overridden = _override(overridden, _BY_NAME[name], value)
        except ValueError as error:
            problems.append(ConfigurationProblem(name, str(error)))
    if problems:
        raise ConfigurationError(problems)
    try:
        loaded = load(overridden)
    except ConfigurationError as error:
        raise ConfigurationError(_with_flags(error.problems, given)) from error
    idle = [
        ConfigurationProblem(name, "has no effect") for name in given if not _BY_NAME[name].path
    ]
    return LoadedConfiguration(loaded.configuration, (*loaded.warnings, *idle))


def _override(document: JsonObject, flag: Flag, value: Any) -> JsonObject:
    """Return a document with the value of a flag in its place."""
    if not flag.path:
        return document
    match flag.type:
        case FlagType.NAMES:
            names = list(value) if isinstance(value, list | tuple) else [value] if value else []
            before = value_at(document, flag.path.split(".")) if flag.adds else None
            value = [*(before or ()), *names]
        case FlagType.ADDRESS:
            host, port = _address(str(value))
            document = _set(document, f"{flag.path}.bindAddress", host)
            return _set(document, f"{flag.path}.port", port)
        case FlagType.DURATION if flag.enables:
            document = _set(document, flag.enables, bool(parse_duration(str(value))))
        case _:
            pass
    return _set(document, flag.path, value)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit():
        raise ValueError(f"{text!r} is not an address such as :8080 or 127.0.0.1:8080")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _set(document: JsonObject, path: str, value: Any) -> JsonObject:
    """Return a document with another value at a path; what is in the way is replaced."""
    name, _, rest = path.partition(".")
    if not rest:
        return {**document, name: value}
    inner = document.get(name)
    return {**document, name: _set(inner if isinstance(inner, dict) else {}, rest, value)}


def _with_flags(
    problems: tuple[ConfigurationProblem, ...], given: Mapping[str, Any]
) -> list[ConfigurationProblem]:
    """Add the name of the flag to problems of values that a flag set."""
    flags = {_BY_NAME[name].path: name for name in given if _BY_NAME[name].path}
    return [
        ConfigurationProblem(f"{flags[p.path]} ({p.path})", p.message) if p.path in flags else p
        for p in problems
    ]
