from datetime import timedelta
from typing import Any

import pytest

from certwright.kube import JsonObject
from certwright.operators.managedresource.configuration import (
    FLAGS,
    Configuration,
    ConfigurationError,
    load_with_flags,
)

SEED_ERA = [
    "--kubeconfig",
    "--namespace",
    "--cache-resync-period",
    "--target-kubeconfig",
    "--target-disable-cache",
    "--target-cache-resync-period",
    "--resource-class",
    "--cluster-id",
    "--sync-period",
    "--max-concurrent-workers",
    "--always-update",
    "--garbage-collector-sync-period",
    "--leader-election",
    "--leader-election-resource-lock",
    "--leader-election-namespace",
    "--leader-election-lease-duration",
    "--leader-election-renew-deadline",
    "--leader-election-retry-period",
    "--metrics-bind-address",
    "--health-bind-address",
    "--health-sync-period",
    "--health-max-concurrent-workers",
    "--secret-max-concurrent-workers",
]


def value_of(configuration: Configuration, path: str) -> Any:
    found: Any = configuration
    for name in path.split("."):
        found = getattr(found, name)
    return found


def test_all_flags_of_the_seed_era_are_known() -> None:
    assert set(SEED_ERA) <= {flag.name for flag in FLAGS}
    assert len({flag.name for flag in FLAGS}) == len(FLAGS)


def test_no_flags_leave_the_file_alone() -> None:
    assert load_with_flags({}, {}).configuration == Configuration()


CASES: list[tuple[str, Any, str, Any]] = [
    ("--kubeconfig", "/a", "source_client_connection.kubeconfig", "/a"),
    ("--namespace", "a", "source_client_connection.namespaces", ("a",)),
    ("--namespace", "", "source_client_connection.namespaces", ()),
    (
        "--cache-resync-period",
        "1h",
        "source_client_connection.cache_resync_period",
        timedelta(hours=1),
    ),
    ("--target-kubeconfig", "/b", "target_client_connection.kubeconfig", "/b"),
    (
        "--target-cache-resync-period",
        "1h",
        "target_client_connection.cache_resync_period",
        timedelta(hours=1),
    ),
    ("--extra-target-namespace", ["a", "b"], "target_client_connection.namespaces", ("a", "b")),
    ("--resource-class", "seed", "controllers.resource_class", "seed"),
    ("--cluster-id", "<default>", "controllers.cluster_id", "<default>"),
    ("--sync-period", "30s", "controllers.managed_resource.sync_period", timedelta(seconds=30)),
    ("--max-concurrent-workers", 20, "controllers.managed_resource.concurrent_syncs", 20),
    ("--always-update", True, "controllers.managed_resource.always_update", True),
    (
        "--default-service-account",
        "applier",
        "controllers.managed_resource.service_account_name",
        "applier",
    ),
    (
        "--allowed-namespace",
        ["<own>", "team-*"],
        "controllers.managed_resource.allowed_namespaces",
        ("<own>", "team-*"),
    ),
    (
        "--allowed-kind",
        "Deployment.apps",
        "controllers.managed_resource.allowed_kinds",
        ("Deployment.apps",),
    ),
    (
        "--token-requestor-allowed-service-account",
        "kube-system/*",
        "controllers.token_requestor.allowed_service_accounts",
        ("kube-system/*",),
    ),
    ("--managed-resource-controller", False, "controllers.managed_resource.enabled", False),
    ("--health-controller", False, "controllers.health.enabled", False),
    ("--health-sync-period", "30s", "controllers.health.sync_period", timedelta(seconds=30)),
    ("--health-max-concurrent-workers", 3, "controllers.health.concurrent_syncs", 3),
    (
        "--garbage-collector-sync-period",
        "12h",
        "controllers.garbage_collector.sync_period",
        timedelta(hours=12),
    ),
    ("--garbage-collector-sync-period", "12h", "controllers.garbage_collector.runs", True),
    ("--garbage-collector-sync-period", "0", "controllers.garbage_collector.runs", False),
    (
        "--garbage-collector-minimum-lifetime",
        "0",
        "controllers.garbage_collector.minimum_object_lifetime",
        timedelta(),
    ),
    ("--token-requestor", True, "controllers.token_requestor.enabled", True),
    (
        "--token-requestor-max-concurrent-workers",
        2,
        "controllers.token_requestor.concurrent_syncs",
        2,
    ),
    ("--minimum-period", "0s", "controllers.minimum_period", timedelta()),
    ("--leader-election", False, "leader_election.leader_elect", False),
    ("--leader-election-resource-lock", "leases", "leader_election.resource_lock", "leases"),
    ("--leader-election-resource-name", "x", "leader_election.resource_name", "x"),
    ("--leader-election-namespace", "x", "leader_election.resource_namespace", "x"),
    ("--garbage-collector", True, "controllers.garbage_collector.runs", True),
    ("--garbage-collector", False, "controllers.garbage_collector.runs", False),
    ("--log-level", "debug", "log_level", "debug"),
    (
        "--leader-election-lease-duration",
        "20s",
        "leader_election.lease_duration",
        timedelta(seconds=20),
    ),
    (
        "--leader-election-renew-deadline",
        "9s",
        "leader_election.renew_deadline",
        timedelta(seconds=9),
    ),
    ("--leader-election-retry-period", "3s", "leader_election.retry_period", timedelta(seconds=3)),
    ("--metrics-bind-address", ":9000", "server.metrics.port", 9000),
    ("--metrics-bind-address", "127.0.0.1:9000", "server.metrics.bind_address", "127.0.0.1"),
    ("--health-bind-address", "[::1]:9001", "server.health_probes.bind_address", "::1"),
    ("--health-bind-address", "[::1]:9001", "server.health_probes.port", 9001),
]


@pytest.mark.parametrize(("flag", "value", "path", "expected"), CASES)
def test_what_flags_set(flag: str, value: Any, path: str, expected: Any) -> None:
    assert value_of(load_with_flags({}, {flag: value}).configuration, path) == expected


def test_every_flag_is_tested() -> None:
    without_effect = {flag.name for flag in FLAGS if not flag.path}
    assert {case[0] for case in CASES} | without_effect == {flag.name for flag in FLAGS}


def test_flags_override_the_file() -> None:
    document = {
        "controllers": {
            "resourceClass": "a",
            "managedResource": {"syncPeriod": "1h", "concurrentSyncs": 7},
        }
    }
    found = load_with_flags(
        document, {"--sync-period": "2h", "--resource-class": "b"}
    ).configuration
    assert found.controllers.resource_class == "b"
    assert found.controllers.managed_resource.sync_period == timedelta(hours=2)
    assert found.controllers.managed_resource.concurrent_syncs == 7
    assert document["controllers"]["resourceClass"] == "a"


def test_flags_override_the_key_of_the_chart() -> None:
    document = {"controllers": {"managedResources": {"syncPeriod": "1h", "concurrentSyncs": 7}}}
    found = load_with_flags(document, {"--sync-period": "2h"}).configuration
    assert found.controllers.managed_resource.sync_period == timedelta(hours=2)
    assert found.controllers.managed_resource.concurrent_syncs == 7


def test_target_namespaces_are_added_to_those_of_the_file() -> None:
    document = {"targetClientConnection": {"namespaces": ["a"]}}
    found = load_with_flags(document, {"--extra-target-namespace": ["b"]}).configuration
    assert found.target_client_connection.namespaces == ("a", "b")


@pytest.mark.parametrize("flag", ["--target-disable-cache", "--secret-max-concurrent-workers"])
def test_flags_without_effect_are_warnings(flag: str) -> None:
    loaded = load_with_flags({}, {flag: True})
    assert list(map(str, loaded.warnings)) == [f"{flag}: has no effect"]


def test_the_environment_overrides_the_file_and_flags_the_environment() -> None:
    document = {"sourceClientConnection": {"kubeconfig": "/file"}}
    environment = {"KUBECONFIG": "/env", "TARGET_KUBECONFIG": "/target", "HOME": "/"}
    found = load_with_flags(document, {}, environment).configuration
    assert found.source_client_connection.kubeconfig == "/env"
    assert found.target_client_connection.kubeconfig == "/target"
    found = load_with_flags(document, {"--kubeconfig": "/flag"}, environment).configuration
    assert found.source_client_connection.kubeconfig == "/flag"


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (
            {"--sync-period": "10s"},
            '--sync-period (controllers.managedResource.syncPeriod): Invalid value: "10s": must be at least 15s',
        ),
        (
            {"--max-concurrent-workers": 0},
            "--max-concurrent-workers (controllers.managedResource.concurrentSyncs): Invalid value: 0: must be at least 1",
        ),
        (
            {"--metrics-bind-address": "x"},
            "--metrics-bind-address: 'x' is not an address such as :8080 or 127.0.0.1:8080",
        ),
        (
            {"--garbage-collector-sync-period": "daily"},
            "--garbage-collector-sync-period: 'daily' is not a duration such as 1h30m, 1.5s or 100ms",
        ),
    ],
)
def test_problems_with_flags_name_the_flag(flags: JsonObject, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_with_flags({}, flags)
    assert str(caught.value) == problem
