"""Variables, arguments and their translation to this machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.node.playedpod import pod

from certwright.testkit.node.pod.environment import (
    ContainerConfigError,
    ObjectRead,
    PodAddress,
    Translation,
    command_line,
    container_resource,
    environment,
    expand,
    pod_field,
    service_links,
)

HERE = PodAddress("node", "192.0.2.1", "10.244.0.2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y", "x1y"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(B)", "$(B)"),
        ("$(A", "$(A"),
        ("$A", "$A"),
        ("$$", "$"),
        ("$(A)$(A)", "11"),
        ("$()", "$()"),
    ],
)
def test_references(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_text_without_a_dollar_stays(text: str) -> None:
    assert expand(text, {"A": "1"}) == text


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("--config=/etc/app/config.yaml", "--config=/pod/v/config.yaml"),
        ("/etc/app", "/pod/v"),
        ("/etc/app/", "/pod/v/"),
        ("/etc/app2/x", "/etc/app2/x"),
        ("/my/etc/app/x", "/my/etc/app/x"),
        ("/etc/app.d", "/etc/app.d"),
        ("cat /etc/app/a /etc/app/b", "cat /pod/v/a /pod/v/b"),
        ("/etc/app/sub/x", "/pod/s/x"),
        ("a:/etc/app:b", "a:/pod/v:b"),
    ],
)
def test_paths_below_mounts_are_translated(word: str, expected: str) -> None:
    paths = {"/etc/app": "/pod/v", "/etc/app/sub": "/pod/s"}
    assert Translation(paths).translate(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("--port=8080", "--port=41000"),
        ("--listen=:8080", "--listen=:41000"),
        ("--listen=0.0.0.0:8080", "--listen=0.0.0.0:41000"),
        ("8080", "41000"),
        ("18080", "18080"),
        ("--size=80801", "--size=80801"),
        ("--port=9090", "--port=9090"),
        ("8080x", "8080x"),
    ],
)
def test_declared_ports_are_translated(word: str, expected: str) -> None:
    assert Translation({}, {8080: 41000}).translate(word) == expected


def test_a_command_stands_for_the_entrypoint() -> None:
    container = {"command": ["sh"], "args": ["-c", "$(X)"]}
    assert command_line(container, ["run"], {"X": "y"}, fixed=False) == ["sh", "-c", "y"]
    assert command_line(container, ["run"], {"X": "y"}, fixed=True) == ["run", "-c", "y"]
    assert command_line({"args": ["a"]}, ["run"], {}, fixed=False) == ["run", "a"]


def test_services_come_first_and_are_overridden() -> None:
    container = {"env": [{"name": "A", "value": "own"}, {"name": "B", "value": "$(S)"}]}
    found = environment(pod(), container, {}, HERE, {"A": "service", "S": "s"})
    assert found == {"A": "own", "B": "s", "S": "s"}


def test_a_required_object_is_missed() -> None:
    container = {"name": "main", "envFrom": [{"secretRef": {"name": "s"}}]}
    with pytest.raises(ContainerConfigError, match='secret "s" not found'):
        environment(pod(), container, {ObjectRead("Secret", "s"): None}, HERE, {})


def test_fields_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ContainerConfigError, match="unsupported fieldPath"):
        pod_field(pod(), "spec.containers", HERE)


def test_annotations_are_written_as_lines() -> None:
    one = pod()
    one["metadata"]["annotations"] = {"b": 'say "hi"\n', "a": "1"}
    assert pod_field(one, "metadata.annotations", HERE) == 'a="1"\nb="say \\"hi\\"\\n"'


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [("limits.cpu", "0", "1"), ("limits.cpu", "1m", "250"), ("requests.cpu", "1", "0"),
     ("limits.memory", "1Mi", "100"), ("limits.ephemeral-storage", "1Gi", "10")],
)  # fmt: skip
def test_resources_are_divided_and_rounded_up(resource: str, divisor: str, expected: str) -> None:
    one = pod({"name": "a", "resources": {"limits": {"cpu": "250m", "memory": "100Mi"}}})
    assert container_resource(one, "a", {"resource": resource, "divisor": divisor}) == expected


def test_links_of_services() -> None:
    services = [
        {
            "metadata": {"name": "my-db"},
            "spec": {
                "clusterIP": "10.0.0.9",
                "ports": [{"name": "sql", "port": 5432}, {"port": 53, "protocol": "UDP"}],
            },
        },
        {"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}},
    ]
    links = service_links(services)
    assert links["MY_DB_SERVICE_HOST"] == "10.0.0.9"
    assert links["MY_DB_SERVICE_PORT"] == links["MY_DB_SERVICE_PORT_SQL"] == "5432"
    assert links["MY_DB_PORT"] == "tcp://10.0.0.9:5432"
    assert links["MY_DB_PORT_53_UDP_PROTO"] == "udp"
    assert not any(name.startswith("HEADLESS") for name in links)
