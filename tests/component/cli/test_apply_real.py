"""The same words on the real control plane."""

import asyncio
import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright.api.managedresources import ManagedResource
from certwright.cli.main import main
from certwright.client import connect, until_served
from certwright.kube import Key, NotFound, crd_manifest
from certwright.kube.kinds import Namespace, PersistentVolumeClaim
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
    with suppress(NotFound):
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
    code, out = run("delete", "--timeout", "60s")
    assert code == 0, out
    assert run("delete")[0] == 0


def definition(group: str) -> Any:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    names = {"kind": "Toy", "plural": "toys"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": f"toys.{group}"}, "spec": spec}


def test_one_deletion_is_enough_and_protected_objects_are_asked_for(
    namespace: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*words: Any) -> Any:
        line = ["certwright", *words, "-i", "app", "-n", namespace, "-o", "json"]
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as ending:
            main()
        captured = capsys.readouterr()
        assert ending.value.code == 0, captured
        return json.loads(captured.out)["summary"]

    group = f"{namespace}.example.com"
    toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "t"}}
    storage = {"requests": {"storage": "1Gi"}}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": storage},
    }
    around = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    objects = [
        around, definition(group), toy, claim,
        config_map("a"), secret("s"), deployment("web", replicas=0),
    ]  # fmt: skip
    path = tmp_path / "app.yaml"
    path.write_text(yaml.safe_dump_all(objects), "utf-8")
    run("apply", "-f", str(path))

    async def unused() -> None:
        """Let the claim go at once: the controller that would is not among those that run."""
        async with connect() as client:
            key, patch = Key(namespace, "data"), {"metadata": {"finalizers": None}}
            await client.patch(PersistentVolumeClaim, key, patch)

    asyncio.run(unused())
    assert run("delete") == "4 deleted, 3 kept"
    assert run("delete") == "nothing to delete"
    assert run("delete", "--delete-protected", "pvcs", "--delete-protected", "crds") == (
        "2 deleted, 1 kept"
    )
    assert run("delete", "--delete-protected", "namespaces", "--timeout", "60s") == "1 deleted"
    assert run("delete") == "nothing to delete"


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
