"""Pods with their sidecar."""

import random
from typing import Any

import orjson
import pytest
from tests.unit.operators.discoveryservice.injection.pods import (
    DEFAULTS,
    defaulted,
    pod,
    random_pod,
)

from certwright.kube import JsonObject
from certwright.kube.patches import create_json_patch
from certwright.operators.discoveryservice.injection.annotations import InjectionDenied
from certwright.operators.discoveryservice.injection.inject import inject


def injected(*containers: str, spec: Any = None, **annotations: str) -> JsonObject:
    asked = pod(*containers, spec=spec, **{"node_id": "gateway", **annotations})
    found: JsonObject = inject(asked, DEFAULTS).pod["spec"]
    return found


def named(items: list[Any], name: str) -> Any:
    [found] = [item for item in items if item["name"] == name]
    return found


@pytest.mark.scenario("DS-8")
def test_a_container_and_two_volumes_are_added() -> None:
    asked = pod(node_id="gateway", cluster_id="edge", ports="http:8080", envoy_extra_args="-l info")
    operations = create_json_patch(orjson.dumps(asked), inject(asked, DEFAULTS).pod)
    assert [(one["op"], one["path"]) for one in operations] == [
        ("add", "/spec/containers/1"),
        ("add", "/spec/volumes"),
    ]
    container, volumes = (one["value"] for one in operations)
    overlay = container["args"].pop(container["args"].index("--config-yaml") + 1)
    metadata = orjson.loads(overlay)["node"]["metadata"]
    assert metadata["pod_name"] == "$(POD_NAME)"
    assert metadata["envoy_image"] == container["image"]
    assert container["command"] == ["envoy"]
    assert container["args"] == [
        "-c", "/etc/envoy/bootstrap/config.json",
        "--service-node", "gateway", "--service-cluster", "edge",
        "--config-yaml", "-l", "info",
    ]  # fmt: skip
    assert container["ports"] == [
        {"name": "http", "containerPort": 8080},
        {"name": "admin", "containerPort": 9901},
    ]
    assert container["volumeMounts"] == [
        {"name": "envoy-sidecar-tls", "mountPath": "/etc/envoy/tls/client", "readOnly": True},
        {"name": "envoy-sidecar-bootstrap", "mountPath": "/etc/envoy/bootstrap", "readOnly": True},
    ]
    probe = {"httpGet": {"path": "/ready", "port": 9901}, "timeoutSeconds": 1}
    assert container["livenessProbe"] == {
        **probe, "initialDelaySeconds": 30, "periodSeconds": 10, "failureThreshold": 10,
    }  # fmt: skip
    assert container["readinessProbe"] == {
        **probe, "initialDelaySeconds": 15, "periodSeconds": 5, "failureThreshold": 1,
    }  # fmt: skip
    assert volumes == [
        {"name": "envoy-sidecar-tls", "secret": {"secretName": "envoy-sidecar-client-cert"}},
        {"name": "envoy-sidecar-bootstrap", "configMap": {"name": "envoy-sidecar-bootstrap"}},
    ]


def test_the_pod_that_was_passed_stays_as_it_is() -> None:
    asked = pod(node_id="gateway", shutdown_manager__enabled="true")
    before = orjson.dumps(asked)
    inject(asked, DEFAULTS)
    assert orjson.dumps(asked) == before


@pytest.mark.scenario("DS-44")
@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "envoy-sidecar", "image": "mine"}]},
        {"initContainers": [{"name": "envoy-sidecar", "image": "mine"}]},
        {"volumes": [{"name": "envoy-sidecar-tls", "emptyDir": {}}]},
        {"volumes": [{"name": "envoy-sidecar-bootstrap", "emptyDir": {}}]},
    ],
)
def test_another_container_or_volume_of_that_name_is_denied(spec: JsonObject) -> None:
    with pytest.raises(InjectionDenied, match=r"the Pod has another (container|volume) 'envoy-"):
        injected(spec=spec)


@pytest.mark.scenario("DS-44")
def test_a_pod_that_was_injected_is_left_as_it_is() -> None:
    once = inject(pod(node_id="gateway", shutdown_manager__enabled="true"), DEFAULTS).pod
    assert inject(once, DEFAULTS).pod == once
    stored = defaulted(once)
    assert inject(stored, DEFAULTS).pod == stored


def test_a_native_sidecar_starts_first_and_ends_last() -> None:
    first = {"initContainers": [{"name": "first", "image": "first:1"}]}
    spec = injected(spec=first, native_sidecar="true", shutdown_manager__enabled="true")
    assert [one["name"] for one in spec["containers"]] == ["app"]
    # They end in reverse order: the shutdown manager is needed until Envoy has ended.
    assert [one["name"] for one in spec["initContainers"]] == [
        "first",
        "envoy-shtdn-mgr",
        "envoy-sidecar",
    ]
    sidecars = spec["initContainers"][1:]
    assert [one["restartPolicy"] for one in sidecars] == ["Always", "Always"]


def test_the_shutdown_manager_drains_envoy_before_it_ends() -> None:
    spec = injected(
        "app",
        "worker",
        shutdown_manager__enabled="true",
        shutdown_manager__drain_time="90",
        shutdown_manager__extra_lifecycle_hooks="worker",
    )
    hook = {"preStop": {"httpGet": {"path": "/shutdown", "port": 8090}}}
    envoy, manager = spec["containers"][2:]
    assert envoy["lifecycle"] == hook
    assert envoy["args"][6:10] == ["--drain-time-s", "90", "--drain-strategy", "gradual"]
    assert named(spec["containers"], "worker")["lifecycle"] == hook
    assert "lifecycle" not in named(spec["containers"], "app")
    assert manager["name"] == "envoy-shtdn-mgr"
    assert manager["image"] == "certwright:test"
    assert manager["args"] == ["shutdown-manager", "--port", "8090"]
    assert manager["lifecycle"]["preStop"] == {"httpGet": {"path": "/drain", "port": 8090}}
    assert manager["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": 8090}
    assert spec["terminationGracePeriodSeconds"] == 90


def test_a_longer_grace_period_stays() -> None:
    longer = {"terminationGracePeriodSeconds": 900}
    spec = injected(spec=longer, shutdown_manager__enabled="true")
    assert spec["terminationGracePeriodSeconds"] == 900


def test_hooks_need_a_container_without_one() -> None:
    manager = {"shutdown_manager__enabled": "true"}
    with pytest.raises(InjectionDenied, match="the Pod has no container 'ghost'"):
        injected(**manager, shutdown_manager__extra_lifecycle_hooks="ghost")
    own = {"preStop": {"exec": {"command": ["sleep", "1"]}}}
    spec = {"containers": [{"name": "app", "image": "app:1", "lifecycle": own}]}
    with pytest.raises(InjectionDenied, match="container 'app' has a preStop hook of its own"):
        injected(spec=spec, **manager, shutdown_manager__extra_lifecycle_hooks="app")


def test_the_admin_settings_of_a_pod_override_those_of_its_namespace() -> None:
    spec = injected(admin__port="9902", admin__access_log_path="/dev/stdout")
    envoy = spec["containers"][1]
    overlay = orjson.loads(envoy["args"][envoy["args"].index("--config-yaml") + 1])
    assert overlay["admin"]["address"]["socket_address"]["port_value"] == 9902
    assert overlay["admin"]["access_log"][0]["typed_config"]["path"] == "/dev/stdout"
    assert envoy["readinessProbe"]["httpGet"]["port"] == 9902
    assert {"name": "admin", "containerPort": 9902} in envoy["ports"]


def test_envoy_is_given_one_overlay_only() -> None:
    found = inject(pod(node_id="gateway", envoy_extra_args="--config-yaml {}"), DEFAULTS)
    assert found.pod["spec"]["containers"][1]["args"].count("--config-yaml") == 1
    assert "does not learn which Pod this is" in found.warnings[0]


def same_twice(seed: int) -> bool:
    """Return whether a random Pod was injected; if so, twice is once."""
    asked = random_pod(random.Random(seed))  # noqa: S311 - repeatable
    before = orjson.dumps(asked)
    try:
        once = inject(asked, DEFAULTS)
    except InjectionDenied:
        return False
    finally:
        assert orjson.dumps(asked) == before, seed
    assert inject(once.pod, DEFAULTS) == once, seed
    stored = defaulted(once.pod)
    assert inject(stored, DEFAULTS).pod == stored, seed
    for place in ("containers", "volumes"):
        names = [one["name"] for one in once.pod["spec"][place]]
        assert len(set(names)) == len(names), seed
    return True


def test_injecting_twice_is_injecting_once() -> None:
    done = sum(same_twice(seed) for seed in range(500))
    assert 100 < done < 450  # both ways were taken


@pytest.mark.real
@pytest.mark.timeout(600)
def test_injecting_twice_is_injecting_once_for_many_pods() -> None:
    assert sum(same_twice(seed) for seed in range(100_000)) > 20_000
