"""What values must fulfil beyond having the right type."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from certwright.kube.durations import format_duration
from certwright.kube.names import dns_subdomain_problems, label_value_problems
from certwright.operators.managedresource.configuration.decode import ConfigurationProblem
from certwright.operators.managedresource.configuration.settings import (
    ClientConnection,
    Configuration,
    Controllers,
    LeaderElectionSettings,
    ManagedResourceSettings,
)

_ZERO: Final = timedelta()
_SHORTEST_RESYNC: Final = timedelta(seconds=10)
_LOG_LEVELS: Final = ("info", "debug", "error")
_LOG_FORMATS: Final = ("json", "text")
_NAMESPACES: Final = re.compile(r"<own>|[-a-z0-9*]+")
_ACCOUNTS: Final = re.compile(r"[-a-z0-9*]+/[-a-z0-9.*]+")
_KINDS: Final = re.compile(r"[A-Za-z0-9*]+(\.[-a-z0-9.*]+)?")


def validate(configuration: Configuration) -> list[ConfigurationProblem]:
    """Return everything wrong with a configuration."""
    server = configuration.server
    return [
        *_connection("sourceClientConnection", configuration.source_client_connection),
        *_connection("targetClientConnection", configuration.target_client_connection),
        *_leader_election("leaderElection", configuration.leader_election),
        *_one_of("logLevel", configuration.log_level, _LOG_LEVELS),
        *_one_of("logFormat", configuration.log_format, _LOG_FORMATS),
        *_at_least("server.webhooks.port", server.webhooks.port, 0),
        *_at_least("server.healthProbes.port", server.health_probes.port, 0),
        *_at_least("server.metrics.port", server.metrics.port, 0),
        *_controllers("controllers", configuration.controllers),
    ]


def _connection(path: str, connection: ClientConnection) -> Iterator[ConfigurationProblem]:
    yield from _no_shorter(
        f"{path}.cacheResyncPeriod", connection.cache_resync_period, _SHORTEST_RESYNC
    )
    yield from _at_least(f"{path}.burst", connection.burst, 0)


def _leader_election(path: str, election: LeaderElectionSettings) -> Iterator[ConfigurationProblem]:
    if not election.leader_elect:
        return
    for name, value in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if value <= _ZERO:
            yield _invalid(f"{path}.{name}", _quoted(value), "must be more than zero")
    if election.lease_duration <= election.renew_deadline:
        yield _invalid(
            f"{path}.leaseDuration",
            _quoted(election.lease_duration),
            "must be more than renewDeadline",
        )
    if election.renew_deadline <= election.retry_period:
        yield _invalid(
            f"{path}.renewDeadline",
            _quoted(election.renew_deadline),
            "must be more than retryPeriod",
        )
    yield from _one_of(f"{path}.resourceLock", election.resource_lock, ("leases",))
    yield from _given(f"{path}.resourceName", election.resource_name)


def _controllers(path: str, controllers: Controllers) -> Iterator[ConfigurationProblem]:
    managed, health = controllers.managed_resource, controllers.health
    garbage, guard = controllers.garbage_collector, controllers.managed_resource.prune_guard
    shortest = controllers.minimum_period
    yield from _given(f"{path}.resourceClass", controllers.resource_class)
    yield from _no_shorter(f"{path}.cacheSyncTimeout", controllers.cache_sync_timeout, _ZERO)
    yield from _no_shorter(f"{path}.minimumPeriod", shortest, _ZERO)
    yield from _at_least(f"{path}.managedResource.concurrentSyncs", managed.concurrent_syncs, 1)
    yield from _no_shorter(f"{path}.managedResource.syncPeriod", managed.sync_period, shortest)
    yield from _label(f"{path}.managedResource.managedByLabelValue", managed.managed_by_label_value)
    yield from _tenancy(f"{path}.managedResource", managed)
    yield from _at_least(f"{path}.managedResource.pruneGuard.objects", guard.objects, 1)
    yield from _at_least(f"{path}.managedResource.pruneGuard.percent", guard.percent, 0)
    yield from _at_least(f"{path}.health.concurrentSyncs", health.concurrent_syncs, 1)
    yield from _no_shorter(f"{path}.health.syncPeriod", health.sync_period, shortest)
    if garbage.enabled:
        yield from _no_shorter(f"{path}.garbageCollector.syncPeriod", garbage.sync_period, shortest)
    yield from _no_shorter(
        f"{path}.garbageCollector.minimumObjectLifetime", garbage.minimum_object_lifetime, _ZERO
    )
    tokens = controllers.token_requestor
    yield from _at_least(f"{path}.tokenRequestor.concurrentSyncs", tokens.concurrent_syncs, 1)
    yield from _patterns(
        f"{path}.tokenRequestor.allowedServiceAccounts",
        tokens.allowed_service_accounts or (),
        _ACCOUNTS,
        "kube-system/web or kube-system/*",
    )


def _tenancy(path: str, managed: ManagedResourceSettings) -> Iterator[ConfigurationProblem]:
    if managed.service_account_name:
        for problem in dns_subdomain_problems(managed.service_account_name):
            value = f'"{managed.service_account_name}"'
            yield _invalid(f"{path}.serviceAccountName", value, problem)
    for name, patterns, form, example in (
        ("allowedNamespaces", managed.allowed_namespaces, _NAMESPACES, "team-* or <own>"),
        ("allowedKinds", managed.allowed_kinds, _KINDS, "ConfigMap or Deployment.apps"),
    ):
        yield from _patterns(f"{path}.{name}", patterns, form, example)


def _patterns(
    path: str, patterns: Sequence[str], form: re.Pattern[str], example: str
) -> Iterator[ConfigurationProblem]:
    for pattern in patterns:
        if not form.fullmatch(pattern):
            yield _invalid(path, f'"{pattern}"', f"write it like {example}")


def _at_least(path: str, value: int, least: int) -> Iterator[ConfigurationProblem]:
    if value < least:
        yield _invalid(path, str(value), f"must be at least {least}")


def _no_shorter(path: str, value: timedelta, shortest: timedelta) -> Iterator[ConfigurationProblem]:
    if value < max(shortest, _ZERO):
        least = format_duration(max(shortest, _ZERO))
        yield _invalid(path, _quoted(value), f"must be at least {least}")


def _one_of(path: str, value: str, allowed: tuple[str, ...]) -> Iterator[ConfigurationProblem]:
    if value not in allowed:
        yield _invalid(path, f'"{value}"', f"must be one of {', '.join(allowed)}")


def _given(path: str, value: str) -> Iterator[ConfigurationProblem]:
    if not value:
        yield ConfigurationProblem(path, "Required value: must not be empty")


def _label(path: str, value: str) -> Iterator[ConfigurationProblem]:
    yield from _given(path, value)
    for problem in label_value_problems(value):
        yield _invalid(path, f'"{value}"', problem)


def _quoted(value: timedelta) -> str:
    return f'"{format_duration(value)}"'


def _invalid(path: str, value: str, message: str) -> ConfigurationProblem:
    return ConfigurationProblem(path, f"Invalid value: {value}: {message}")
