"""The configuration file: ``resourcemanager.config.gardener.cloud/v1alpha1``.

The kind ``ResourceManagerConfiguration`` of Gardener's resource manager, read strictly: a key
that is not known is an error and not a surprise later. What is ours besides, all optional:

``controllers.minimumPeriod``
    Periods below 15 s are refused, for they are nearly always a mistake. Who means it lowers
    this floor, down to ``0s``.
``controllers.<controller>.enabled``
    Switches a controller off (``managedResource``, ``health``) or on (``garbageCollector``,
    ``tokenRequestor``). There is no zero for ``concurrentSyncs``: that is what this is for.
``controllers.garbageCollector.minimumObjectLifetime``
    How old an object must be to be collected; ``0s`` for any age. ``dryRun`` only reports.
``controllers.managedResource.pruneGuard``
    From how many objects on, and which part of them, a deletion has to be confirmed.

A period of zero, once the floor allows it, means never by time: what changes is noticed by
watching. A garbage collector without a period does not run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from certwright.api.managedresources import DEFAULT_CLASS
from certwright.apply import read_text
from certwright.kube import JsonObject
from certwright.operators.managedresource.strictdecoding import (
    ConfigurationError,
    Findings,
    Problem,
    decode,
    spelt,
)
from certwright.operators.managedresource.validation import validate

API_VERSION: Final = "resourcemanager.config.gardener.cloud/v1alpha1"
KIND: Final = "ResourceManagerConfiguration"

_ABSENT: Final = (
    "controllers.csrApprover",
    "controllers.istioClusterConfiguration",
    "controllers.networkPolicy",
    "controllers.nodeAgentReconciliationDelay",
    "controllers.nodeCriticalComponents",
    "controllers.nodeHighAvailabilityConfig",
    "webhooks",
)
"""Parts of Gardener's program that this one does not have."""
_WITHOUT_EFFECT: Final = (
    "controllers.cacheSyncTimeout",
    "debugging",
    "server.webhooks",
    *(
        f"{connection}.{name}"
        for connection in ("sourceClientConnection", "targetClientConnection")
        for name in ("qps", "burst", "acceptContentTypes", "contentType", "cacheResyncPeriod")
    ),
)
"""What is read and checked, and changes nothing: there is nothing here to set by it."""


@dataclass(frozen=True, kw_only=True)
class ClientConnection:
    """How to reach a cluster, and which part of it to look at."""

    kubeconfig: str = ""
    qps: float = 100.0
    burst: int = 130
    accept_content_types: str = ""
    content_type: str = ""
    namespaces: tuple[str, ...] = ()
    """All if empty."""
    cache_resync_period: timedelta = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class LeaderElection:
    """Which replica works."""

    leader_elect: bool = True
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    resource_lock: str = "leases"
    resource_name: str = "gardener-resource-manager"
    resource_namespace: str = ""


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Where metrics are served."""

    bind_address: str = ""
    port: int = 8080


@dataclass(frozen=True, kw_only=True)
class HealthProbes:
    """Where probes are served."""

    bind_address: str = ""
    port: int = 8081


@dataclass(frozen=True, kw_only=True)
class Tls:
    """Where certificates are."""

    server_cert_dir: str = ""


@dataclass(frozen=True, kw_only=True)
class Webhooks:
    """Where webhooks would listen; there are none."""

    bind_address: str = ""
    port: int = 9449
    tls: Tls = field(default_factory=Tls)


@dataclass(frozen=True, kw_only=True)
class Server:
    """What the process offers to others."""

    webhooks: Webhooks = field(default_factory=Webhooks)
    health_probes: HealthProbes = field(default_factory=HealthProbes)
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True, kw_only=True)
class Debugging:
    """Profiling, which other programs have."""

    enable_profiling: bool = False
    enable_contention_profiling: bool = False


@dataclass(frozen=True, kw_only=True)
class PruneGuardSettings:
    """When a deletion has to be confirmed; 100 percent is never."""

    objects: int = 10
    percent: int = 50


@dataclass(frozen=True, kw_only=True)
class ManagedResourceSettings:
    """The controller that applies."""

    enabled: bool = True
    concurrent_syncs: int = 5
    sync_period: timedelta = timedelta(minutes=1)
    always_update: bool = False
    managed_by_label_value: str = "gardener"
    prune_guard: PruneGuardSettings = field(default_factory=PruneGuardSettings)


@dataclass(frozen=True, kw_only=True)
class HealthSettings:
    """The controller that judges health."""

    enabled: bool = True
    concurrent_syncs: int = 5
    sync_period: timedelta = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class GarbageCollectorSettings:
    """The collector of immutable ConfigMaps and Secrets."""

    enabled: bool = False
    sync_period: timedelta = timedelta(hours=1)
    minimum_object_lifetime: timedelta = timedelta(minutes=10)
    dry_run: bool = False

    @property
    def runs(self) -> bool:
        """Whether there is a garbage collector at all."""
        return self.enabled and self.sync_period > timedelta()


@dataclass(frozen=True, kw_only=True)
class TokenRequestorSettings:
    """The controller that keeps tokens in Secrets."""

    enabled: bool = False
    concurrent_syncs: int = 5


@dataclass(frozen=True, kw_only=True)
class Controllers:
    """What runs, and how."""

    cluster_id: str = field(default="", metadata=spelt("clusterID"))
    resource_class: str = DEFAULT_CLASS
    cache_sync_timeout: timedelta = timedelta(minutes=2)
    minimum_period: timedelta = timedelta(seconds=15)
    managed_resource: ManagedResourceSettings = field(
        default_factory=ManagedResourceSettings,
        metadata=spelt("managedResource", "managedResources"),
    )
    health: HealthSettings = field(default_factory=HealthSettings)
    garbage_collector: GarbageCollectorSettings = field(default_factory=GarbageCollectorSettings)
    token_requestor: TokenRequestorSettings = field(default_factory=TokenRequestorSettings)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Everything that can be set."""

    source_client_connection: ClientConnection = field(default_factory=ClientConnection)
    target_client_connection: ClientConnection = field(default_factory=ClientConnection)
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    log_level: str = "info"
    log_format: str = "json"
    server: Server = field(default_factory=Server)
    debugging: Debugging = field(default_factory=Debugging)
    controllers: Controllers = field(default_factory=Controllers)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration that can be used, and what should be corrected in it all the same."""

    configuration: Configuration
    warnings: tuple[Problem, ...]


def read_file(content: str | bytes, source: str) -> JsonObject:
    """Return the document in a configuration file.

    Raises:
        ConfigurationError: it is not YAML, or not one document, or of another kind.
    """
    manifests = read_text(content, source)
    if manifests.errors:
        problems = [Problem(str(error.origin), error.problem) for error in manifests.errors]
        raise ConfigurationError(problems)
    documents = manifests.objects
    if len(documents) != 1:
        raise ConfigurationError([Problem(source, f"has {len(documents)} documents, not one")])
    document = documents[0].obj
    expected = {"apiVersion": API_VERSION, "kind": KIND}
    wrong = [
        Problem(name, f"must be {value}")
        for name, value in expected.items()
        if document.get(name) != value
    ]
    if wrong:
        raise ConfigurationError(wrong)
    return document


def load(document: Mapping[str, Any]) -> Loaded:
    """Return the configuration in a document; an empty one gives the defaults.

    Raises:
        ConfigurationError: with every problem there is, each with its path.
    """
    findings = Findings()
    content = {name: part for name, part in document.items() if name not in {"apiVersion", "kind"}}
    content = _without_absent(content, findings)
    configuration = decode(Configuration, content, "", findings)
    findings.problems += validate(configuration)
    if findings.problems:
        raise ConfigurationError(findings.problems)
    for path in _WITHOUT_EFFECT:
        if _find(content, path) is not None:
            findings.warn(path, "has no effect")
    return Loaded(configuration, tuple(findings.warnings))


def _without_absent(content: JsonObject, findings: Findings) -> JsonObject:
    """Take out parts that this program does not have; who relies on one has to know."""
    for path in _ABSENT:
        found = _find(content, path)
        if found is None:
            continue
        if _is_enabled(found):
            findings.refuse(path, "is enabled, and this program does not have it")
        else:
            findings.warn(path, "has no effect: this program does not have it")
        content = _removed(content, path.split("."))
    return content


def _find(content: Any, path: str) -> Any:
    for name in path.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content


def _removed(content: JsonObject, names: list[str]) -> JsonObject:
    first, *rest = names
    if rest:
        return {**content, first: _removed(content[first], rest)}
    return {name: part for name, part in content.items() if name != first}


def _is_enabled(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return value.get("enabled") is True or any(map(_is_enabled, value.values()))
