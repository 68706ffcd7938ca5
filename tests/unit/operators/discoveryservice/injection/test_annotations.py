"""What annotations ask for: defaults, values, warnings and denials."""

import pytest
from tests.unit.operators.discoveryservice.injection.pods import DEFAULTS, pod

from certwright.operators.discoveryservice.injection.annotations import (
    ENVOY_IMAGE,
    PREFIX,
    InjectionDenied,
    ShutdownManager,
    SidecarDefaults,
    SidecarRequest,
    read_annotations,
)
from certwright.operators.discoveryservice.injection.ports import SidecarPort


def read(**annotations: str) -> SidecarRequest:
    found = pod(**{"node_id": "gateway", **annotations})["metadata"]["annotations"]
    return read_annotations(found, DEFAULTS)


def denial(**annotations: str) -> InjectionDenied:
    with pytest.raises(InjectionDenied) as denied:
        read(**annotations)
    return denied.value


def test_a_node_id_is_enough() -> None:
    assert read() == SidecarRequest(
        node_id="gateway",
        cluster_id="gateway",
        container="envoy-sidecar",
        image=ENVOY_IMAGE,
        ports=(),
        config_map="envoy-sidecar-bootstrap",
        config_volume="envoy-sidecar-bootstrap",
        tls_volume="envoy-sidecar-tls",
        client_certificate="envoy-sidecar-client-cert",
        extra_args=(),
        resources={},
        admin_port=9901,
        admin_address="0.0.0.0",  # noqa: S104 - in a Pod
        access_log="",
        shutdown=None,
        native=False,
        warnings=(),
    )


def test_every_annotation_is_followed() -> None:
    asked = read(
        cluster_id="edge",
        container_name="proxy",
        envoy_image="envoy:mine",
        ports="http:8080,dns:5353:UDP",
        host_port_mappings="dns:15353",
        ads_configmap="config",
        config_volume="c",
        tls_volume="t",
        client_certificate="cert",
        envoy_extra_args="--log-level debug",
        envoy_api_version="v3",
        resources__requests__cpu="0.1",
        resources__limits__memory="64Mi",
        discovery_service__name="instance",
        admin__port="9902",
        admin__bind_address="127.0.0.1",
        admin__access_log_path="/dev/stdout",
        shutdown_manager__enabled="true",
        shutdown_manager__port="8091",
        shutdown_manager__image="manager:2",
        shutdown_manager__drain_time="30",
        shutdown_manager__drain_strategy="immediate",
        shutdown_manager__extra_lifecycle_hooks="app, worker",
        native_sidecar="true",
    )
    assert asked == SidecarRequest(
        node_id="gateway",
        cluster_id="edge",
        container="proxy",
        image="envoy:mine",
        ports=(SidecarPort("http", 8080), SidecarPort("dns", 5353, "UDP", 15353)),
        config_map="config",
        config_volume="c",
        tls_volume="t",
        client_certificate="cert",
        extra_args=("--log-level", "debug"),
        resources={"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}},
        admin_port=9902,
        admin_address="127.0.0.1",
        access_log="/dev/stdout",
        shutdown=ShutdownManager("manager:2", 8091, 30, "immediate", ("app", "worker")),
        native=True,
        warnings=(),
    )


@pytest.mark.scenario("DS-43")
@pytest.mark.parametrize(
    ("annotations", "says"),
    [
        ({}, "annotation marin3r.3scale.net/node-id is missing"),
        ({PREFIX + "node-id": ""}, "annotation marin3r.3scale.net/node-id is empty"),
        ({PREFIX + "node-id": " "}, "annotation marin3r.3scale.net/node-id is empty"),
    ],
)
def test_a_pod_without_node_id_is_denied(annotations: dict[str, str], says: str) -> None:
    with pytest.raises(InjectionDenied, match=says) as denied:
        read_annotations(annotations, DEFAULTS)
    assert denied.value.annotation == "marin3r.3scale.net/node-id"


@pytest.mark.scenario("DS-42")
@pytest.mark.parametrize(
    ("name", "value", "item"),
    [
        ("ports", "http:80", "'http:80': port 80 is not between 1024 and 65535"),
        ("ports", "http", "'http' is not name:port"),
        ("ports", "http:9000:tcp", "'http:9000:tcp': the protocol is not one of TCP, UDP, SCTP"),
        ("ports", "ok:9001,a:4000i", "'a:4000i': '4000i' is not a port"),
        ("ports", "http:70000", "port 70000 is not between"),
        ("ports", "a:4000,a:4001", "there is another port 'a'"),
        ("ports", "A_B:4000", "'A_B' is not the name of a port"),
        ("ports", ",", "'' is not name:port"),
        ("ports", ",".join(f"p{n}:{2000 + n}" for n in range(101)), "101 ports are more than 100"),
        ("host_port_mappings", "http", "'http' is not name:hostPort"),
        ("host_port_mappings", "http:1:2", "'http:1:2' is not name:hostPort"),
        ("host_port_mappings", "http:4000i", "'4000i' is not a port"),
        ("host_port_mappings", "http:80", "port 80 is not between"),
        ("resources__requests__cpu", "many", "'many' is not a quantity"),
        ("resources__limits__memory", "", "'' is not a quantity"),
        ("resources__limits__cpu", "-1", "'-1' is negative"),
        ("container_name", "Not_A_Name", "'Not_A_Name' is not a valid name"),
        ("tls_volume", "envoy-sidecar-bootstrap", "is also the config-volume"),
        ("envoy_api_version", "v2", "'v2' is not served; v3 is"),
        ("discovery_service__name", "other", "belongs to DiscoveryService instance"),
    ],
)
def test_a_denial_names_the_annotation_and_the_item(name: str, value: str, item: str) -> None:
    denied = denial(**{name: value})
    key = PREFIX + name.replace("__", ".").replace("_", "-")
    assert denied.annotation == key
    assert str(denied).startswith(f"annotation {key} is wrong: ")
    assert item in str(denied)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("admin__port", "port", "'port' is not a port from 1 to 65535; 9901 is used"),
        ("admin__port", "0", "9901 is used"),
        ("shutdown_manager__enabled", "yes", "'yes' is not true or false; false is used"),
        ("shutdown_manager__port", "80", "8090 is used"),
        ("shutdown_manager__drain_time", "-5", "300 is used"),
        ("shutdown_manager__drain_strategy", "slow", "not gradual or immediate; gradual is used"),
        ("native_sidecar", "maybe", "false is used"),
        ("init_manager__image", "x", "there is no init manager"),
        ("node_di", "x", "is not known; the annotation has no effect"),
        ("host_port_mappings", "http:4000", "there is no port 'http'"),
        ("ports", "http:4000:TCP:x", "what follows the protocol in 'http:4000:TCP:x' is ignored"),
        ("envoy_extra_args", "--x 'y z'", "quotes are passed on"),
    ],
)
def test_what_used_to_be_ignored_is_warned_about(name: str, value: str, says: str) -> None:
    [warning] = read(**{name: value}).warnings
    key = PREFIX + name.replace("__", ".").replace("_", "-")
    assert warning.startswith(f"annotation {key}: ")
    assert says in warning


def test_annotations_of_others_are_not_warned_about() -> None:
    found = {PREFIX + "node-id": "gateway", "example.com/node-di": "x"}
    assert read_annotations(found, DEFAULTS).warnings == ()


def test_a_shutdown_manager_needs_an_image() -> None:
    found = pod(node_id="gateway", shutdown_manager__enabled="true")["metadata"]["annotations"]
    with pytest.raises(InjectionDenied, match="no default image here; name one"):
        read_annotations(found, SidecarDefaults("instance"))


def test_several_spaces_are_one() -> None:
    assert read(envoy_extra_args="-l  debug ").extra_args == ("-l", "debug")


@pytest.mark.parametrize(
    ("name", "most"), [("node_id", 253), ("cluster_id", 253), ("envoy_extra_args", 32_768),
                       ("ports", 4096), ("envoy_image", 4096), ("resources.limits.cpu", 4096)],
)  # fmt: skip
def test_no_annotation_is_longer_than_its_limit(name: str, most: int) -> None:
    denied = denial(**{name: "9" * (most + 1)})
    assert f"{most + 1} characters are more than {most}" in str(denied)
    assert denied.annotation.endswith(name.replace("_", "-"))


def test_what_is_as_long_as_it_may_be_is_followed() -> None:
    assert len(read(node_id="n" * 253).node_id) == 253
    assert len(read(envoy_extra_args="a " * 16_384).extra_args) == 16_384


@pytest.mark.parametrize("text", ["a\0b", "a\x1b[2Jb", "a\u202eb"])
def test_what_cannot_be_printed_is_denied_and_not_repeated(text: str) -> None:
    denied = denial(node_id=text)
    assert "cannot be printed" in str(denied)
    assert str(denied).isprintable()


def test_answers_are_short_whatever_is_asked() -> None:
    assert len(str(denial(ports="x" * 4000))) < 700
    many = read(**{f"other_{number}": "x" for number in range(3000)})
    assert len(many.warnings) == 10
