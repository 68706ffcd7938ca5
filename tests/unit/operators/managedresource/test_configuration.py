from datetime import timedelta
from typing import Any

import pytest

from certwright.kube import JsonObject
from certwright.operators.managedresource.configuration import (
    Configuration,
    ConfigurationError,
    load,
    read_file,
)

HEAD = "apiVersion: resourcemanager.config.gardener.cloud/v1alpha1\nkind: ResourceManagerConfiguration\n"


def at(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    return {**value}


def problems(document: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(document)
    return [str(problem) for problem in caught.value.problems]


def value_of(configuration: Configuration, path: str) -> Any:
    found: Any = configuration
    for name in path.split("."):
        found = getattr(found, name)
    return found


DEFAULTS = {
    "source_client_connection.kubeconfig": "",
    "source_client_connection.qps": 100.0,
    "source_client_connection.burst": 130,
    "source_client_connection.namespaces": (),
    "source_client_connection.cache_resync_period": timedelta(hours=24),
    "target_client_connection.qps": 100.0,
    "target_client_connection.burst": 130,
    "target_client_connection.cache_resync_period": timedelta(hours=24),
    "leader_election.leader_elect": True,
    "leader_election.lease_duration": timedelta(seconds=15),
    "leader_election.renew_deadline": timedelta(seconds=10),
    "leader_election.retry_period": timedelta(seconds=2),
    "leader_election.resource_lock": "leases",
    "leader_election.resource_name": "gardener-resource-manager",
    "log_level": "info",
    "log_format": "json",
    "server.webhooks.port": 9449,
    "server.health_probes.port": 8081,
    "server.metrics.port": 8080,
    "debugging.enable_profiling": False,
    "controllers.cluster_id": "",
    "controllers.resource_class": "resources",
    "controllers.cache_sync_timeout": timedelta(minutes=2),
    "controllers.minimum_period": timedelta(seconds=15),
    "controllers.managed_resource.enabled": True,
    "controllers.managed_resource.concurrent_syncs": 5,
    "controllers.managed_resource.sync_period": timedelta(minutes=1),
    "controllers.managed_resource.always_update": False,
    "controllers.managed_resource.managed_by_label_value": "gardener",
    "controllers.managed_resource.prune_guard.objects": 10,
    "controllers.managed_resource.prune_guard.percent": 50,
    "controllers.health.enabled": True,
    "controllers.health.concurrent_syncs": 5,
    "controllers.health.sync_period": timedelta(minutes=1),
    "controllers.garbage_collector.enabled": False,
    "controllers.garbage_collector.sync_period": timedelta(hours=1),
    "controllers.garbage_collector.minimum_object_lifetime": timedelta(minutes=10),
    "controllers.garbage_collector.dry_run": False,
    "controllers.token_requestor.enabled": False,
    "controllers.token_requestor.concurrent_syncs": 5,
}


@pytest.mark.parametrize("path", DEFAULTS)
def test_defaults(path: str) -> None:
    loaded = load({})
    assert value_of(loaded.configuration, path) == DEFAULTS[path]
    assert loaded.warnings == ()


def test_a_block_that_says_one_thing_keeps_the_other_defaults() -> None:
    server = load(at("server.metrics.bindAddress", "127.0.0.1")).configuration.server
    assert (server.metrics.bind_address, server.metrics.port) == ("127.0.0.1", 8080)


@pytest.mark.parametrize(
    "path", ["controllers", "controllers.health", "controllers.health.syncPeriod"]
)
def test_null_is_absence(path: str) -> None:
    assert load(at(path, None)).configuration == Configuration()


GIVEN = [
    (
        "sourceClientConnection.namespaces",
        ["a", "b"],
        "source_client_connection.namespaces",
        ("a", "b"),
    ),
    ("targetClientConnection.kubeconfig", "/x", "target_client_connection.kubeconfig", "/x"),
    ("leaderElection.leaderElect", False, "leader_election.leader_elect", False),
    ("logLevel", "debug", "log_level", "debug"),
    ("logFormat", "text", "log_format", "text"),
    ("controllers.clusterID", "<cluster>", "controllers.cluster_id", "<cluster>"),
    ("controllers.resourceClass", "*", "controllers.resource_class", "*"),
    (
        "controllers.managedResource.syncPeriod",
        "1h",
        "controllers.managed_resource.sync_period",
        timedelta(hours=1),
    ),
    (
        "controllers.managedResource.alwaysUpdate",
        True,
        "controllers.managed_resource.always_update",
        True,
    ),
    ("controllers.health.enabled", False, "controllers.health.enabled", False),
    ("controllers.garbageCollector.enabled", True, "controllers.garbage_collector.enabled", True),
    (
        "controllers.garbageCollector.minimumObjectLifetime",
        "0s",
        "controllers.garbage_collector.minimum_object_lifetime",
        timedelta(),
    ),
    ("controllers.tokenRequestor.enabled", True, "controllers.token_requestor.enabled", True),
]


@pytest.mark.parametrize(("path", "value", "where", "expected"), GIVEN)
def test_what_is_given(path: str, value: Any, where: str, expected: Any) -> None:
    loaded = load(at(path, value))
    assert value_of(loaded.configuration, where) == expected
    assert loaded.warnings == ()


PERIOD = "must be at least 15s"
REFUSED = [
    ("sourceClientConnection.cacheResyncPeriod", "9s", 'Invalid value: "9s": must be at least 10s'),
    ("targetClientConnection.cacheResyncPeriod", 0, 'Invalid value: "0s": must be at least 10s'),
    ("targetClientConnection.burst", -1, "Invalid value: -1: must be at least 0"),
    (
        "leaderElection.leaseDuration",
        "10s",
        'Invalid value: "10s": must be more than renewDeadline',
    ),
    ("leaderElection.renewDeadline", "2s", 'Invalid value: "2s": must be more than retryPeriod'),
    ("leaderElection.retryPeriod", "0s", 'Invalid value: "0s": must be more than zero'),
    (
        "leaderElection.resourceLock",
        "endpoints",
        'Invalid value: "endpoints": must be one of leases',
    ),
    ("leaderElection.resourceName", "", "Required value: must not be empty"),
    ("logLevel", "foo", 'Invalid value: "foo": must be one of info, debug, error'),
    ("logFormat", "foo", 'Invalid value: "foo": must be one of json, text'),
    ("server.healthProbes.port", -1, "Invalid value: -1: must be at least 0"),
    ("server.metrics.port", -1, "Invalid value: -1: must be at least 0"),
    ("server.webhooks.port", -1, "Invalid value: -1: must be at least 0"),
    ("controllers.resourceClass", "", "Required value: must not be empty"),
    ("controllers.cacheSyncTimeout", "-1s", 'Invalid value: "-1s": must be at least 0s'),
    ("controllers.minimumPeriod", "-1s", 'Invalid value: "-1s": must be at least 0s'),
    ("controllers.managedResource.concurrentSyncs", 0, "Invalid value: 0: must be at least 1"),
    ("controllers.managedResource.concurrentSyncs", -1, "Invalid value: -1: must be at least 1"),
    ("controllers.managedResource.syncPeriod", "0s", f'Invalid value: "0s": {PERIOD}'),
    ("controllers.managedResource.syncPeriod", "14s", f'Invalid value: "14s": {PERIOD}'),
    ("controllers.managedResource.managedByLabelValue", "", "Required value: must not be empty"),
    ("controllers.managedResource.pruneGuard.objects", 0, "Invalid value: 0: must be at least 1"),
    ("controllers.managedResource.pruneGuard.percent", -1, "Invalid value: -1: must be at least 0"),
    ("controllers.health.concurrentSyncs", 0, "Invalid value: 0: must be at least 1"),
    ("controllers.health.syncPeriod", "0s", f'Invalid value: "0s": {PERIOD}'),
    ("controllers.health.syncPeriod", "14s", f'Invalid value: "14s": {PERIOD}'),
    (
        "controllers.garbageCollector.minimumObjectLifetime",
        "-1s",
        'Invalid value: "-1s": must be at least 0s',
    ),
    ("controllers.tokenRequestor.concurrentSyncs", 0, "Invalid value: 0: must be at least 1"),
    ("logLevel", 7, "must be a text"),
    ("server.metrics.port", "8080", "must be a whole number"),
    ("server.metrics.port", True, "must be a whole number"),
    ("leaderElection.leaderElect", "yes", "must be true or false"),
    ("sourceClientConnection.qps", "many", "must be a number"),
    ("sourceClientConnection.namespaces", "a", "must be a list of texts"),
    ("sourceClientConnection.namespaces", [1], "must be a list of texts"),
    ("controllers", [], "must be a mapping"),
]


@pytest.mark.parametrize(("path", "value", "message"), REFUSED)
def test_what_is_refused(path: str, value: Any, message: str) -> None:
    assert f"{path}: {message}" in problems(at(path, value))


@pytest.mark.parametrize("value", ["1 hour", "10", 60, True, ["1m"]])
def test_durations_are_written_as_go_writes_them(value: Any) -> None:
    (problem,) = problems(at("controllers.health.syncPeriod", value))
    assert problem.startswith("controllers.health.syncPeriod: must be a duration: ")


@pytest.mark.parametrize("period", ["0s", "14s"])
def test_the_period_of_a_garbage_collector_counts_while_it_is_on(period: str) -> None:
    block = {"enabled": True, "syncPeriod": period}
    assert problems(at("controllers.garbageCollector", block)) == [
        f'controllers.garbageCollector.syncPeriod: Invalid value: "{period}": {PERIOD}'
    ]
    load(at("controllers.garbageCollector", {"enabled": False, "syncPeriod": period}))


@pytest.mark.scenario("MR-102")
def test_all_problems_are_reported_at_once() -> None:
    block = {"syncPeriod": "10s", "concurrentSyncs": 0, "managedByLabelValue": ""}
    assert sorted(problems(at("controllers.managedResource", block))) == [
        "controllers.managedResource.concurrentSyncs: Invalid value: 0: must be at least 1",
        "controllers.managedResource.managedByLabelValue: Required value: must not be empty",
        'controllers.managedResource.syncPeriod: Invalid value: "10s": must be at least 15s',
    ]


def test_problems_of_every_sort_are_reported_at_once() -> None:
    document = {
        "logLevle": "info",
        "logFormat": "xml",
        "server": {"metrics": {"port": "8080"}},
        "webhooks": {"x": {"enabled": True}},
        "controllers": {"health": {"syncPeriod": "soon", "zzz": 1}},
        "sourceClientConnection": {"namespaces": ["a", 1, 2]},
    }
    assert [problem.split(": ")[0] for problem in sorted(problems(document))] == [
        "controllers.health.syncPeriod",
        "controllers.health.zzz",
        "logFormat",
        "logLevle",
        "server.metrics.port",
        "sourceClientConnection.namespaces",
        "webhooks",
    ]


@pytest.mark.parametrize("key", ["a.b", "a` - at `$.b", "`", "a` - at `$.server", "a\nb", ""])
def test_strange_keys_are_unknown(key: str) -> None:
    assert "unknown key; " in problems({key: 1, "logFormat": "xml"})[0]


def test_a_label_value_must_be_one() -> None:
    (problem,) = problems(at("controllers.managedResource.managedByLabelValue", "a b"))
    assert problem.startswith(
        'controllers.managedResource.managedByLabelValue: Invalid value: "a b": '
    )


@pytest.mark.parametrize("period", ["0s", "1ms", "1s"])
def test_a_lower_minimum_allows_any_period(period: str) -> None:
    controllers = {
        "minimumPeriod": "0s",
        "managedResource": {"syncPeriod": period},
        "health": {"syncPeriod": period},
        "garbageCollector": {"enabled": True, "syncPeriod": period, "minimumObjectLifetime": "0s"},
    }
    found = load({"controllers": controllers}).configuration.controllers
    assert found.managed_resource.sync_period == found.health.sync_period
    assert found.garbage_collector.runs is (period != "0s")


def test_a_garbage_collector_runs_if_it_is_enabled() -> None:
    assert not load({}).configuration.controllers.garbage_collector.runs
    enabled = load(at("controllers.garbageCollector.enabled", True)).configuration
    assert enabled.controllers.garbage_collector.runs


def test_leader_election_that_is_off_is_not_checked() -> None:
    load({"leaderElection": {"leaderElect": False, "leaseDuration": "0s", "resourceName": ""}})


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (at("logLevle", "info"), "logLevle: unknown key; did you mean 'logLevel'?"),
        (
            at("controllers.managedResource.syncperiod", "1m"),
            "controllers.managedResource.syncperiod: unknown key; did you mean 'syncPeriod'?",
        ),
        (
            at("sourceClientConnection.namespace", "a"),
            "sourceClientConnection.namespace: unknown key; did you mean 'namespaces'?",
        ),
        (
            at("controllers.health.zzz", 1),
            "controllers.health.zzz: unknown key; there are concurrentSyncs, enabled, syncPeriod",
        ),
    ],
)
def test_unknown_keys_are_errors_with_a_suggestion(document: JsonObject, problem: str) -> None:
    assert problems(document) == [problem]


@pytest.mark.scenario("MR-101")
def test_the_key_of_the_chart_is_read_with_a_warning() -> None:
    loaded = load(at("controllers.managedResources", {"syncPeriod": "1h", "concurrentSyncs": 20}))
    assert loaded.configuration.controllers.managed_resource.sync_period == timedelta(hours=1)
    assert loaded.configuration.controllers.managed_resource.concurrent_syncs == 20
    assert list(map(str, loaded.warnings)) == [
        "controllers.managedResources: is read as 'managedResource'; please rename it"
    ]


def test_where_both_keys_are_there_the_right_one_wins() -> None:
    both = {
        "managedResources": {"concurrentSyncs": 1, "syncPeriod": "1h"},
        "managedResource": {"concurrentSyncs": 2},
    }
    found = load({"controllers": both}).configuration.controllers.managed_resource
    assert (found.concurrent_syncs, found.sync_period) == (2, timedelta(hours=1))


def test_parts_this_program_does_not_have() -> None:
    enabled = {
        "webhooks": {"seccompProfile": {"enabled": True}},
        "controllers": {"csrApprover": {"enabled": True}},
    }
    assert sorted(problems(enabled)) == [
        "controllers.csrApprover: is enabled, and this program does not have it",
        "webhooks: is enabled, and this program does not have it",
    ]
    disabled = load(
        {"webhooks": {"seccompProfile": {"enabled": False}}, "controllers": {"networkPolicy": {}}}
    )
    assert sorted(map(str, disabled.warnings)) == [
        "controllers.networkPolicy: has no effect: this program does not have it",
        "webhooks: has no effect: this program does not have it",
    ]


def test_settings_without_effect_are_warnings() -> None:
    loaded = load({"debugging": {"enableProfiling": True}, "sourceClientConnection": {"qps": 7}})
    assert list(map(str, loaded.warnings)) == [
        "debugging: has no effect",
        "sourceClientConnection.qps: has no effect",
    ]
    assert loaded.configuration.source_client_connection.qps == 7.0


# Files


def test_a_file() -> None:
    document = read_file(HEAD + "controllers:\n  resourceClass: seed\n", "config.yaml")
    assert load(document).configuration.controllers.resource_class == "seed"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "config.yaml: has 0 documents, not one"),
        (HEAD + "---\n" + HEAD, "config.yaml: has 2 documents, not one"),
        (
            "kind: ResourceManagerConfiguration\n",
            "apiVersion: must be resourcemanager.config.gardener.cloud/v1alpha1",
        ),
        (HEAD.replace("Manager", ""), "kind: must be ResourceManagerConfiguration"),
        (
            HEAD + "a: 1\na: 2\n",
            "config.yaml: document 1 (line 4): key 'a' occurs twice",
        ),
        ("- 1\n", "config.yaml: document 1 (line 1): a list instead of an object"),
        ("a: [\n---\nb: [\n", "config.yaml: document 1 (line 1): "),
    ],
)
def test_files_that_are_none(content: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_file(content, "config.yaml")
    assert str(caught.value).startswith(problem)


def test_a_timeout_without_effect_is_a_warning() -> None:
    loaded = load({"controllers": {"cacheSyncTimeout": "5m"}})
    assert list(map(str, loaded.warnings)) == ["controllers.cacheSyncTimeout: has no effect"]
