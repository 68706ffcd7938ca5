"""What can be set: the kind ``ResourceManagerConfiguration`` of Gardener's resource manager.

These settings are ours, all optional:

``controllers.minimumPeriod``
    Periods below 15 s are refused, because they are nearly always a mistake. This setting lowers
    the limit, down to ``0s``.
``controllers.<controller>.enabled``
    Switches a controller off (``managedResource``, ``health``) or on (``garbageCollector``,
    ``tokenRequestor``). ``concurrentSyncs`` cannot be zero.
``controllers.garbageCollector.minimumObjectLifetime``
    How old an object must be to be collected; ``0s`` for any age. ``dryRun`` only reports.
``controllers.tokenRequestor.allowedServiceAccounts``
    Whose tokens Secrets of other namespaces may ask for. Without it none's, unless the instance
    is for some source namespaces and has a target of its own: then all of that target.
``controllers.managedResource.serviceAccountName``
    As which ServiceAccount of their namespace ManagedResources act that name none themselves.
``controllers.managedResource.allowedNamespaces``, ``allowedKinds``
    Which objects of the target are touched at all; all if empty.
``controllers.managedResource.pruneGuard``
    From how many objects on, and which part of them, a deletion has to be confirmed.

A period of zero, once ``minimumPeriod`` allows it, means never by time: changes are noticed by
watching. A garbage collector without a period does not run.
"""

from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from certwright.api.managedresources import DEFAULT_CLASS

if TYPE_CHECKING:
    Duration = timedelta
else:

    class Duration(timedelta):
        """A timedelta that files write as Go does (``1h30m``).

        msgspec decodes `timedelta` itself, from ISO 8601 only; it passes a subclass to the hook.
        """


class _Block(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A block of the file; its keys are the names of the fields in camel case."""


class ClientConnection(_Block, frozen=True, kw_only=True):
    """How to reach a cluster, and which namespaces of it to watch."""

    kubeconfig: str = ""
    qps: float = 100.0
    burst: int = 130
    accept_content_types: str = ""
    content_type: str = ""
    namespaces: tuple[str, ...] = ()
    """All if empty."""
    cache_resync_period: Duration = Duration(hours=24)


class LeaderElectionSettings(_Block, frozen=True, kw_only=True):
    """Which replica works."""

    leader_elect: bool = True
    lease_duration: Duration = Duration(seconds=15)
    renew_deadline: Duration = Duration(seconds=10)
    retry_period: Duration = Duration(seconds=2)
    resource_lock: str = "leases"
    resource_name: str = "gardener-resource-manager"
    resource_namespace: str = ""


class MetricsSettings(_Block, frozen=True, kw_only=True):
    """Where metrics are served."""

    bind_address: str = ""
    port: int = 8080


class HealthProbeSettings(_Block, frozen=True, kw_only=True):
    """Where probes are served."""

    bind_address: str = ""
    port: int = 8081


class TlsSettings(_Block, frozen=True, kw_only=True):
    """Where certificates are."""

    server_cert_dir: str = ""


class WebhookSettings(_Block, frozen=True, kw_only=True):
    """Where webhooks would listen; this program has none."""

    bind_address: str = ""
    port: int = 9449
    tls: TlsSettings = TlsSettings()


class ServerSettings(_Block, frozen=True, kw_only=True):
    """Where the process listens."""

    webhooks: WebhookSettings = WebhookSettings()
    health_probes: HealthProbeSettings = HealthProbeSettings()
    metrics: MetricsSettings = MetricsSettings()


class DebuggingSettings(_Block, frozen=True, kw_only=True):
    """Profiling, which this program does not have."""

    enable_profiling: bool = False
    enable_contention_profiling: bool = False


class PruneGuardSettings(_Block, frozen=True, kw_only=True):
    """When a deletion has to be confirmed; 100 percent is never."""

    objects: int = 10
    percent: int = 50


class ManagedResourceSettings(_Block, frozen=True, kw_only=True):
    """The controller that applies objects."""

    enabled: bool = True
    concurrent_syncs: int = 5
    sync_period: Duration = Duration(minutes=1)
    always_update: bool = False
    managed_by_label_value: str = "gardener"
    prune_guard: PruneGuardSettings = PruneGuardSettings()
    service_account_name: str = ""
    allowed_namespaces: tuple[str, ...] = ()
    """Patterns with ``*``; ``<own>`` is the namespace of the ManagedResource."""
    allowed_kinds: tuple[str, ...] = ()
    """Patterns with ``*`` such as ``ConfigMap`` and ``*.apps``."""


class HealthSettings(_Block, frozen=True, kw_only=True):
    """The controller that checks the health of objects."""

    enabled: bool = True
    concurrent_syncs: int = 5
    sync_period: Duration = Duration(minutes=1)


class GarbageCollectorSettings(_Block, frozen=True, kw_only=True):
    """The collector of immutable ConfigMaps and Secrets."""

    enabled: bool = False
    sync_period: Duration = Duration(hours=1)
    minimum_object_lifetime: Duration = Duration(minutes=10)
    dry_run: bool = False

    @property
    def runs(self) -> bool:
        """Whether it is enabled and has a period."""
        return self.enabled and self.sync_period > timedelta()


class TokenRequestorSettings(_Block, frozen=True, kw_only=True):
    """The controller that keeps tokens in Secrets."""

    enabled: bool = False
    concurrent_syncs: int = 5
    allowed_service_accounts: tuple[str, ...] | None = None
    """Which ServiceAccounts Secrets of other namespaces may ask for, as ``namespace/name``."""


class Controllers(_Block, frozen=True, kw_only=True):
    """Which controllers run, and how."""

    cluster_id: str = msgspec.field(default="", name="clusterID")
    resource_class: str = DEFAULT_CLASS
    cache_sync_timeout: Duration = Duration(minutes=2)
    minimum_period: Duration = Duration(seconds=15)
    managed_resource: ManagedResourceSettings = ManagedResourceSettings()
    health: HealthSettings = HealthSettings()
    garbage_collector: GarbageCollectorSettings = GarbageCollectorSettings()
    token_requestor: TokenRequestorSettings = TokenRequestorSettings()


class Configuration(_Block, frozen=True, kw_only=True):
    """Everything that can be set."""

    source_client_connection: ClientConnection = ClientConnection()
    target_client_connection: ClientConnection = ClientConnection()
    leader_election: LeaderElectionSettings = LeaderElectionSettings()
    log_level: str = "info"
    log_format: str = "json"
    server: ServerSettings = ServerSettings()
    debugging: DebuggingSettings = DebuggingSettings()
    controllers: Controllers = Controllers()
