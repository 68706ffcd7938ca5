"""Probes, ports, images, volumes on disk, scheduling: the small decisions."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.node.playedpod import pod

from certwright.apiserver.verbs.logs import LogOptions
from certwright.kube import BadRequest, JsonObject
from certwright.testkit.node.egress import egress_configuration, find_local, folder_for_sockets
from certwright.testkit.node.pod.environment import PodAddress
from certwright.testkit.node.pod.volumes import FileContent, VolumeError, volume_files
from certwright.testkit.node.ports import HostPortTaken, PortTable, container_ports
from certwright.testkit.node.process.images import LOCAL, STUB, Program, find_program
from certwright.testkit.node.process.probes import ProbeProgress, ProbeTimes
from certwright.testkit.node.projection import project
from certwright.testkit.node.scheduler import fits, is_to_bind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = PodAddress("node", "192.0.2.1", "10.244.0.2")


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ("", None), ("n", None), ("nn", None), ("nnn", False), ("nny", None), ("y", None),
        ("yy", True), ("yyn", True), ("yynnn", False), ("nnnyy", True), ("ynyny", None),
    ],
)  # fmt: skip
def test_a_verdict_takes_a_run_of_answers(answers: str, verdict: object) -> None:
    progress = ProbeProgress.of({"successThreshold": 2, "failureThreshold": 3})
    for answer in answers:
        progress = progress.after(answer == "y")
    assert progress.verdict is verdict


def test_times_of_probes_have_defaults_and_a_scale() -> None:
    assert ProbeTimes.of({}) == ProbeTimes(0, 10, 1)
    spec = {"initialDelaySeconds": 5, "periodSeconds": 20, "timeoutSeconds": 3}
    assert ProbeTimes.of(spec) == ProbeTimes(5, 20, 3)
    # A program that is silent is unhealthy after a minute either way.
    assert ProbeTimes.of(spec, 0.1) == ProbeTimes(0.5, 2.0, 18)
    assert ProbeTimes.of({"periodSeconds": 1}, 0.1) == ProbeTimes(0, 0.1, 1)


def ported(uid: str, *ports: JsonObject) -> JsonObject:
    one = pod({"name": "a", "ports": list(ports)})
    one["metadata"]["uid"] = uid
    return one


def test_pods_get_ports_and_addresses_of_their_own() -> None:
    table = PortTable()
    first = table.assign(
        ported("1", {"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"})
    )
    second = table.assign(ported("2", {"containerPort": 80}))
    assert first.ip != second.ip
    assert first.ports.keys() == {80}
    assert first.ports[80] != second.ports[80]
    assert table.addresses[first.ip, 80] == ("127.0.0.1", first.ports[80])
    table.release("1")
    assert (first.ip, 80) not in table.addresses
    assert table.assign(ported("3", {"containerPort": 80})).ip == first.ip
    assert len(table) == 2


def test_a_port_of_the_node_is_given_once() -> None:
    table = PortTable()
    asked = {"containerPort": 80, "hostPort": 8443}
    assert table.assign(ported("1", asked)).ports == {80: 8443}
    with pytest.raises(HostPortTaken):
        table.assign(ported("2", asked))
    table.release("1")
    table.assign(ported("2", asked))


def test_probes_name_ports_too() -> None:
    one = pod({"name": "a", "livenessProbe": {"httpGet": {"port": 9403}}})
    assert list(container_ports(one)) == [9403]
    two = pod({"name": "a", "readinessProbe": {"grpc": {"port": 9404}}})
    assert list(container_ports(two)) == [9404]


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("stub:1", STUB), ("stub", STUB), ("example.com:5000/stub:1", None), ("other:1", None),
        ("quay.io/a/b:v1", LOCAL), ("quay.io/a/b:v2", STUB),
    ],
)  # fmt: skip
def test_images_are_found_in_the_table(image: str, found: Program | None) -> None:
    table = {"stub:*": STUB, "quay.io/a/*": STUB, "quay.io/a/b:v1": LOCAL}
    assert find_program(table, image) is found


def test_files_are_swapped_as_a_whole(tmp_path: Path) -> None:
    first = {"a": FileContent(b"1", 0o600), "sub/b": FileContent(b"2")}
    assert project(tmp_path, first, NOW)
    assert (tmp_path / "a").read_bytes() == b"1"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "sub" / "b").read_bytes() == b"2"
    before = (tmp_path / "..data").readlink()
    assert not project(tmp_path, first, NOW + timedelta(hours=1)), "nothing has changed"
    assert (tmp_path / "..data").readlink() == before
    assert project(tmp_path, {"c": FileContent(b"3")}, NOW)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] != ".") == ["c"]
    assert not (tmp_path / before).exists(), "the old version is gone"


def test_an_empty_volume_becomes_a_folder(tmp_path: Path) -> None:
    assert project(tmp_path / "v", {}, NOW)
    assert (tmp_path / "v" / "..data").is_dir()


def test_paths_do_not_lead_out_of_a_volume() -> None:
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    volume = {"name": "v", "downwardAPI": {"items": [{"path": "../x", **field}]}}
    with pytest.raises(VolumeError, match="invalid path"):
        volume_files(volume, pod(), {}, {}, HERE)


def test_contents_of_files_are_not_shown() -> None:
    assert "sesame" not in repr(FileContent(b"sesame"))


@pytest.mark.parametrize(
    ("spec", "bound"),
    [
        ({}, True), ({"nodeName": "x"}, False), ({"schedulerName": "other"}, False),
        ({"schedulingGates": [{"name": "g"}]}, False), ({"schedulerName": "default-scheduler"}, True),
    ],
)  # fmt: skip
def test_which_pods_are_bound(spec: JsonObject, bound: object) -> None:
    assert is_to_bind(pod(**spec)) is bound


def test_labels_of_the_node_decide() -> None:
    one = pod(nodeSelector={"disk": "ssd"})
    assert fits(one, {"disk": "ssd", "os": "linux"})
    assert not fits(one, {"os": "linux"})
    assert not fits(one, {"disk": "hdd"})


SERVICE = {
    "metadata": {"name": "web", "namespace": "ns"},
    "spec": {"clusterIP": "10.0.0.5", "ports": [{"name": "http", "port": 80}]},
}


def endpoints(*, ready: bool = True, namespace: str = "ns") -> JsonObject:
    return {
        "metadata": {"namespace": namespace, "labels": {"kubernetes.io/service-name": "web"}},
        "ports": [{"name": "http", "port": 8080}],
        "endpoints": [{"addresses": ["10.244.0.2"], "conditions": {"ready": ready}}],
    }


@pytest.mark.parametrize(
    ("target", "slices", "found"),
    [
        (("10.244.0.2", 8080), [], ("127.0.0.1", 41000)),
        (("10.0.0.5", 80), [endpoints()], ("127.0.0.1", 41000)),
        (("10.0.0.5", 80), [endpoints(ready=False)], None),
        (("10.0.0.5", 80), [endpoints(namespace="other")], None),
        (("10.0.0.5", 81), [endpoints()], None),
        (("10.0.0.6", 80), [endpoints()], None),
        (("10.244.0.2", 9), [], None),
    ],
)
def test_addresses_of_the_cluster_lead_to_this_machine(
    target: tuple[str, int], slices: list[JsonObject], found: tuple[str, int] | None
) -> None:
    addresses = {("10.244.0.2", 8080): ("127.0.0.1", 41000)}
    assert find_local(target, [SERVICE], slices, addresses) == found


def test_sockets_have_short_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with folder_for_sockets() as folder:
        assert len(folder) < 80
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    with folder_for_sockets() as folder:
        assert Path(folder).parent == Path("/tmp")


def test_the_configuration_names_the_socket() -> None:
    assert "udsName: /run/x.sock" in egress_configuration(Path("/run/x.sock"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, b"a\nb\nc\n"),
        ({"tailLines": "2"}, b"b\nc\n"),
        ({"tailLines": "0"}, b""),
        ({"tailLines": "9"}, b"a\nb\nc\n"),
        ({"limitBytes": "3"}, b"a\nb"),
    ],
)
def test_parts_of_logs(query: dict[str, str], expected: bytes) -> None:
    assert LogOptions.of(query).cut(b"a\nb\nc\n") == expected


@pytest.mark.parametrize("value", ["-1", "x", "1.5"])
def test_numbers_of_log_options_are_checked(value: str) -> None:
    with pytest.raises(BadRequest, match="tailLines"):
        LogOptions.of({"tailLines": value})
