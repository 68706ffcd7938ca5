"""``certwright xds``, without a cluster."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.envoy.resources import cluster
from tests.support.envoy.smallschema import small_descriptors
from typer.testing import CliRunner

from certwright.api.envoyconfigs import EnvoyConfig
from certwright.cli.errors import UsageError
from certwright.cli.main import app
from certwright.cli.xds.envoys import envoy_table
from certwright.cli.xds.schemas import find_schema, version_of
from certwright.cli.xds.status import is_in_sync, problems, status_table, summary
from certwright.kube import JsonObject

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (tmp_path / "schema").write_bytes(small_descriptors().SerializeToString())
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["xds", *words], catch_exceptions=True)
        if isinstance(done.exception, UsageError):
            return 2, str(done.exception)
        return done.exit_code, done.output

    return run


def config(*values: JsonObject, name: str = "gateway") -> JsonObject:
    resources = [{"type": "cluster", "value": one} for one in values]
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {"name": name},
        "spec": {"nodeID": name, "resources": resources},
    }


def write(*objects: JsonObject) -> None:
    Path("c.yaml").write_text(yaml.safe_dump_all(objects))


def test_what_can_be_served_is_valid(run: Run) -> None:
    write(config(cluster("a")))
    assert run("validate", "-f", "c.yaml", "--schema", "schema")[0] == 0


def test_each_problem_is_a_line_with_its_path(run: Run) -> None:
    write(config(cluster("a", connect_timeout="0s")), config(cluster("b"), name="other"))
    code, text = run("validate", "-f", "c.yaml", "--schema", "schema")
    assert code == 1
    line = "EnvoyConfig gateway: spec.resources[0].value.connect_timeout: must be greater than 0s"
    assert line in text.splitlines()
    code, text = run("validate", "-f", "c.yaml", "--schema", "schema", "-o", "json")
    assert [one["valid"] for one in json.loads(text)] == [False, True]


def test_a_config_of_the_wrong_shape_is_named(run: Run) -> None:
    write(config() | {"spec": {"resources": []}})
    code, text = run("validate", "-f", "c.yaml", "--schema", "schema")
    assert code == 1
    assert "nodeID" in text


def test_files_without_a_config_are_a_mistake(run: Run) -> None:
    write({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    assert run("validate", "-f", "c.yaml", "--schema", "schema") == (
        2,
        "there is no EnvoyConfig in these files",
    )


def test_a_schema_is_written_from_an_envoy(run: Run) -> None:
    files = small_descriptors().file
    Path("envoy").write_bytes(b"\x00".join(file.SerializeToString() for file in files))
    code, text = run("schema", "--envoy", "envoy", "-o", "written")
    assert code == 0
    assert "written: " in text
    write(config(cluster("a")))
    assert run("validate", "-f", "c.yaml", "--schema", "written")[0] == 0
    assert run("validate", "-f", "c.yaml", "--envoy", "envoy")[0] == 0


def test_what_is_no_schema_is_a_mistake(run: Run) -> None:
    Path("other").write_bytes(b"hello")
    write(config(cluster("a")))
    code, text = run("validate", "-f", "c.yaml", "--schema", "other")
    assert code == 2
    assert "make one with certwright xds schema" in text
    assert run("schema", "--envoy", "other", "-o", "x")[0] == 2
    assert run("schema", "--envoy", "other", "--package", ".", "-o", "x")[0] == 2


def test_without_any_schema_the_way_to_one_is_named(tmp_path: Path) -> None:
    missing = {"CERTWRIGHT_ENVOY": str(tmp_path / "none")}
    with pytest.raises(UsageError, match="or name a schema with --schema, or CERTWRIGHT_XDS"):
        find_schema(None, None, missing)
    (tmp_path / "schema").write_bytes(small_descriptors().SerializeToString())
    named = {"CERTWRIGHT_XDS_SCHEMA": str(tmp_path / "schema")}
    assert find_schema(None, None, named).has("envoy.config.cluster.v3.Cluster")


def served(state: str = "InSync", **status: Any) -> EnvoyConfig:
    import msgspec  # noqa: PLC0415 - one use

    whole = {"cacheState": state, "desiredVersion": "b", "publishedVersion": "b", **status}
    made = config() | {"status": whole}
    made["metadata"] |= {"namespace": "shop", "generation": 1}
    made["status"].setdefault("observedGeneration", 1)
    return msgspec.convert(made, EnvoyConfig)


def test_all_is_in_sync_when_all_envoys_hold_what_is_wanted() -> None:
    assert is_in_sync(served(envoys=[{"version": "b", "envoys": 2}]))
    assert is_in_sync(served())
    assert not is_in_sync(served(envoys=[{"version": "a", "envoys": 1}]))
    assert not is_in_sync(served("Rollback"))
    assert not is_in_sync(served(observedGeneration=0))


def test_a_line_tells_what_is_wrong() -> None:
    rejected = {"envoy": "10.0.0.1", "type": "Listener", "version": "b", "message": "no"}
    one = served(
        "Rollback",
        publishedVersion="a",
        envoys=[{"version": "a", "envoys": 3}],
        rejections=[rejected, rejected | {"version": "z"}],
    )
    assert problems(one) == ["Envoy 10.0.0.1 rejected Listener: no"]
    heads, row = status_table([one], namespaces=True).splitlines()
    assert heads.split() == ["NODE", "WANTED", "SERVED", "STATE", "ENVOYS", "IN", "SYNC", "PROBLEM"]
    assert row.split()[:6] == ["shop/gateway", "b", "a", "Rollback", "3", "0"]
    whole = summary(one)
    assert whole["envoys"] == {"a": 3}
    assert not whole["inSync"]
    assert len(whole["rejections"]) == 2


def test_a_configuration_that_was_not_read_yet() -> None:
    [told] = problems(served(observedGeneration=0))
    assert told.startswith("no discovery service has read it yet; is one running")
    assert problems(served()) == []


def test_a_long_name_leaves_room_and_none_steers_the_terminal() -> None:
    one = served()
    one.spec.node_id = f"{'n' * 200}\x1b[2Jlast"
    [_, row] = status_table([one], namespaces=False).splitlines()
    assert row.split()[0].endswith("\\x1b[2Jlast")
    assert len(row.split()[0]) == 60
    assert summary(one)["nodeID"] == one.spec.node_id, "programs get it whole"


def test_envoys_are_lines_whatever_they_call_themselves() -> None:
    name = f"first{'n' * 200}\nlast"
    row = {
        "node": name, "envoy": "10.0.0.1:7", "version": "1.40\x1b", "serial": "0123456789", "type": "Cluster",
        "wanted": "b", "held": "a", "state": "Stale", "verdict": "NACK", "message": "no\nnever",
        "since": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    [_, line] = envoy_table([row], datetime(2026, 1, 2, tzinfo=UTC)).splitlines()
    assert line.split() == [
        f"first{'n' * 15}…{'n' * 13}\\nlast", "10.0.0.1:7", "1.40\\x1b", "23456789", "Cluster", "b", "a",
        "Stale", "NACK", "24h", "no\\nnever",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "version"),
    [("envoy  version: 9e55/1.40.0/Clean/RELEASE/BoringSSL", "1.40.0"), ("hello", "")],
)
def test_an_envoy_says_its_version(tmp_path: Path, said: str, version: str) -> None:
    program = tmp_path / "envoy"
    program.write_text(f"#!/bin/sh\necho '{said}'\n", "utf-8")
    assert version_of(program) == "", "it cannot be run"
    program.chmod(0o700)
    assert version_of(program) == version
