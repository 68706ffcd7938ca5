"""The same words on the real control plane."""

import asyncio
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright.api.managedresources import ManagedResource
from certwright.cli.main import main
from certwright.client import connect, until_served
from certwright.kube import Key, crd_manifest
from certwright.kube.kinds import Namespace
from certwright.testkit.builders import config_map, deployment, secret

pytestmark = pytest.mark.real


@pytest.fixture
def namespace(control_plane_kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("KUBECONFIG", str(control_plane_kubeconfig))
    name = f"certwright-cli-{uuid.uuid4().hex[:8]}"

    async def ask(question: Any) -> None:
        async with connect(kubeconfig=control_plane_kubeconfig) as client:
            await question(client)

    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    asyncio.run(ask(lambda client: client.create(made)))
    yield name
    asyncio.run(ask(lambda client: client.delete(Namespace, Key("", name))))


def test_apply_diff_prune_and_delete(
    namespace: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "app.yaml"

    def run(*words: Any) -> Any:
        monkeypatch.setattr(sys, "argv", ["certwright", *words, "-i", "app", "-n", namespace])
        with pytest.raises(SystemExit) as ending:
            main()
        return ending.value.code, capsys.readouterr().out

    def write(*objects: Any) -> None:
        path.write_text(yaml.safe_dump_all(objects), "utf-8")

    write(config_map("a", {"k": "1"}), secret("s", {"p": "x"}), deployment("web", replicas=0))
    code, out = run("apply", "-f", str(path))
    assert (code, "3 created" in out) == (0, True), out
    assert "3 unchanged" in run("apply", "-f", str(path))[1]
    assert run("diff", "-f", str(path))[0] == 0
    write(config_map("a", {"k": "2"}), deployment("web", replicas=0))
    code, out = run("diff", "-f", str(path), "--prune")
    assert code == 1
    assert f"Secret {namespace}/s would be deleted" in out
    assert run("apply", "-f", str(path), "--prune")[0] == 0
    assert "Secret" not in run("tree")[1]
    code, out = run("delete", "--timeout", "30s")
    assert code == 0, out
    assert run("delete")[0] == 0


def test_managed_resources_are_explained_and_compared(
    namespace: Any,
    control_plane_kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def declare(client: Any) -> None:
        await client.apply(crd_manifest(ManagedResource))
        await until_served(client, crd_manifest(ManagedResource))
        objects = yaml.safe_dump(config_map("kept", {"k": "v"}, namespace=namespace))
        await client.create(secret("web", {"o.yaml": objects}, namespace=namespace))
        await client.create(
            {
                "apiVersion": ManagedResource.resource.api_version,
                "kind": ManagedResource.resource.kind,
                "metadata": {"name": "web", "namespace": namespace},
                "spec": {"secretRefs": [{"name": "web"}]},
            }
        )

    async def ask() -> None:
        async with connect(kubeconfig=control_plane_kubeconfig) as client:
            await declare(client)

    asyncio.run(ask())

    def run(*words: Any) -> Any:
        monkeypatch.setattr(sys, "argv", ["certwright", *words, "-n", namespace])
        with pytest.raises(SystemExit) as ending:
            main()
        return ending.value.code, capsys.readouterr().out

    code, out = run("mr", "diff", "web")
    assert (code, f"ConfigMap {namespace}/kept would be created" in out) == (1, True)
    code, out = run("mr", "explain", "web")
    assert (code, "✓ web: 1 object under o.yaml" in out) == (0, True)
    assert "web" in run("mr", "list")[1]
    assert run("gc", "--dry-run")[0] == 0
