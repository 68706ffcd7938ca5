"""`certwright delete` and what `--prune` deletes: planned, waited for, and repeated without harm."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.component.cli.conftest import SECONDS, Ask

from certwright.client import Client
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap, Namespace, PersistentVolumeClaim
from certwright.testkit.builders import config_map, deployment, namespace, secret

AT_A_TERMINAL = """
import signal
from certwright.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""A process that was started in the background of a shell ignores Ctrl-C."""
NOT_INVENTORIES = "!certwright.dev/inventory"


def claim(name: str) -> JsonObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def definition(kind: str) -> JsonObject:
    plural, group = f"{kind.lower()}s", "demo.example.com"
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        },
    }


def release_later(ask: Ask, name: str) -> Callable[[], None]:
    """Return what removes the finalizers of a ConfigMap as soon as its deletion is asked for."""

    def release() -> None:
        async def question(client: Client) -> None:
            key = Key("default", name)
            async with asyncio.timeout(30):
                while "deletionTimestamp" not in (await client.get(ConfigMap, key))["metadata"]:
                    await asyncio.sleep(0.01)
            await client.patch(ConfigMap, key, {"metadata": {"finalizers": None}})

        ask(question)

    return release


def test_one_run_deletes_everything_and_the_next_finds_nothing(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask, in_thread: Callable[..., Any]
) -> None:
    """Although an object of the first wave is held for a while."""
    held = config_map("held", finalizers=["example.com/held"])
    path = write(deployment("web"), secret("s"), config_map("a"), held)
    assert cli("apply", "-f", path, "-i", "app").code == 0
    with in_thread(release_later(ask, "held")):
        done = cli("delete", "-i", "app")
    assert done.code == 0, done.out + done.err
    assert "4 deleted" in done.out
    assert ask.names(ConfigMap) == set()
    again = cli("delete", "-i", "app")
    assert (again.code, again.out) == (0, "nothing to delete\n")
    assert again.err == (
        "inventory app in namespace default lists nothing;"
        " to see all inventories, run: certwright inventory list -A\n"
    )
    told = json.loads(cli("delete", "-i", "app", "-o", "json").out)
    assert (told["changes"], told["summary"]) == ([], "nothing to delete")


def test_what_prune_deletes_is_waited_for(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask, in_thread: Callable[..., Any]
) -> None:
    held = config_map("held", finalizers=["example.com/held"])
    path = write(config_map("a"), config_map("b"), held)
    cli("apply", "-f", path, "-i", "app")
    write(config_map("a"))
    with in_thread(release_later(ask, "held")):
        done = cli("apply", "-f", path, "-i", "app", "--prune")
    assert done.code == 0, done.out + done.err
    assert "1 unchanged, 2 deleted" in done.out
    assert ask.names(ConfigMap, labels=NOT_INVENTORIES) == {"a"}


def test_prune_need_not_wait(cli: Callable[..., Any], write: Callable[..., Any]) -> None:
    path = write(config_map("a"), config_map("held", finalizers=["example.com/held"]))
    cli("apply", "-f", path, "-i", "app")
    write(config_map("a"))
    done = cli("apply", "-f", path, "-i", "app", "--prune", "--no-wait")
    assert done.code == 2
    assert ["ConfigMap", "default/held", "blocked"] in done.rows("KIND")
    late = cli("apply", "-f", path, "-i", "app", "--prune", "--timeout", "200ms")
    assert late.code == 2
    assert "error: not gone after 0.2 s: ConfigMap default/held: held by finalizer" in late.err


PROTECTED = [
    (namespace("shop"), "namespaces", "everything in it would go with it"),
    (definition("Toy"), "crds", "all objects of its kind would go with it"),
    (claim("data"), "pvcs", "its data would go with it"),
]


def unused(ask: Ask) -> None:
    """Let claims go at once, as a controller manager does that finds no pod that uses them."""
    for name in ask.names(PersistentVolumeClaim):
        ask.patch(PersistentVolumeClaim, name, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(("obj", "kind", "why"), PROTECTED, ids=[row[1] for row in PROTECTED])
def test_protected_kinds_are_not_deleted_unasked(
    cli: Callable[..., Any],
    write: Callable[..., Any],
    ask: Ask,
    obj: JsonObject,
    kind: str,
    why: str,
) -> None:
    cli("apply", "-f", write(obj, config_map("a")), "-i", "app")
    unused(ask)
    reason = f"it is protected: {why}; add --delete-protected {kind}"
    tried = cli("delete", "-i", "app", "--dry-run", "--yes")
    assert (tried.code, "1 would be deleted, 1 kept" in tried.out) == (0, True)
    done = cli("delete", "-i", "app", "--yes")
    assert done.code == 0
    assert "1 deleted, 1 kept" in done.out
    assert f"these stay:\n  {obj['kind']} " in done.err
    assert reason in done.out
    again = cli("delete", "-i", "app")
    assert again.code == 0
    assert again.out.endswith("\nnothing to delete\n")
    assert reason in again.out
    assert "lists nothing" not in again.err
    asked = cli("delete", "-i", "app", "--delete-protected", kind)
    assert (asked.code, "1 deleted" in asked.out) == (0, True), asked.out + asked.err
    assert cli("delete", "-i", "app").out == "nothing to delete\n"


def test_protected_kinds_are_not_pruned_unasked(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(claim("data"), config_map("a"), config_map("b"))
    cli("apply", "-f", path, "-i", "app")
    unused(ask)
    write(config_map("a"))
    shown = cli("diff", "-f", path, "-i", "app", "--prune")
    assert "PersistentVolumeClaim default/data kept: it is protected" in shown.out
    done = cli("apply", "-f", path, "-i", "app", "--prune", "--yes")
    assert done.code == 0
    assert ["PersistentVolumeClaim", "default/data", "kept"] in done.rows("KIND")
    assert "1 of the 3 objects in this inventory is to be deleted" in done.err
    assert ask.names(PersistentVolumeClaim) == {"data"}
    asked = cli("apply", "-f", path, "-i", "app", "--prune", "--delete-protected", "all")
    assert ["PersistentVolumeClaim", "default/data", "deleted"] in asked.rows("KIND")
    assert ask.names(PersistentVolumeClaim) == set()


def test_a_claim_is_not_recreated_unasked(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(claim("data"))
    cli("apply", "-f", path, "-i", "app")
    before = ask(lambda client: client.get(PersistentVolumeClaim, Key("default", "data")))
    changed = claim("data")
    changed["spec"]["volumeMode"] = "Block"
    write(changed)
    assert cli("apply", "-f", path, "-i", "app", "--recreate").code == 2
    after = ask(lambda client: client.get(PersistentVolumeClaim, Key("default", "data")))
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_the_namespace_of_the_inventory_may_go_last(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    ask(lambda client: client.create(namespace("shop")))
    path = write(namespace("shop"), config_map("a"))
    assert cli("apply", "-f", path, "-i", "app", "-n", "shop").code == 0
    done = cli("delete", "-i", "app", "-n", "shop", "--delete-protected", "namespaces")
    assert done.code == 0, done.out + done.err
    assert "2 deleted" in done.out
    names = {one["metadata"]["name"] for one in ask(lambda c: c.list(Namespace)).items}
    assert "shop" not in names
    again = cli("delete", "-i", "app", "-n", "shop")
    assert (again.code, again.out) == (0, "nothing to delete\n")


def test_the_plan_is_shown_in_the_order_of_the_deletion(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    cli("apply", "-f", write(config_map("a"), deployment("web")), "-i", "app")
    done = cli("delete", "-i", "app")
    assert done.err.startswith(
        "2 of the 2 objects in this inventory are to be deleted:\n"
        "  Deployment default/web\n"
        "  ConfigMap default/a\n"
    )


def test_what_was_refused_is_not_in_the_inventory(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    nowhere = config_map("b", namespace="nowhere")
    unknown = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "t"}}
    done = cli("apply", "-f", write(config_map("a"), nowhere, unknown), "-i", "app")
    assert done.code == 2
    shown = cli("inventory", "show", "app")
    assert shown.rows("KIND") == [["ConfigMap", "default/a", "v1"]]
    only = cli("apply", "-f", write(nowhere), "-i", "other")
    assert only.code == 2
    assert "certwright-inventory-other" not in ask.names(ConfigMap)


def test_what_is_not_ours_is_neither_listed_nor_deleted(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    """An apply that other managers stop does not make the object ours."""
    ask(lambda client: client.create(config_map("theirs", {"k": "1"}, namespace="default")))
    path = write(config_map("a"), config_map("theirs", {"k": "2"}))
    assert cli("apply", "-f", path, "-i", "app").code == 2
    assert cli("delete", "-i", "app").code == 0
    assert ask.names(ConfigMap) == {"theirs"}


def test_what_failed_and_was_there_before_stays_listed(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(config_map("a", {"k": "1"}))
    cli("apply", "-f", path, "-i", "app")
    ask.patch(ConfigMap, "a", {"immutable": True, "data": {"k": "2"}})
    write(config_map("a", {"k": "3"}))
    assert cli("apply", "-f", path, "-i", "app").code == 2
    assert cli("inventory", "show", "app").rows("KIND") == [["ConfigMap", "default/a", "v1"]]


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_a_signal_at_the_prompt_ends_at_once_and_nothing_is_deleted(
    cli: Callable[..., Any],
    write: Callable[..., Any],
    ask: Ask,
    listening: Path,
    sent: signal.Signals,
    code: int,
) -> None:
    cli("apply", "-f", write(*(config_map(f"c{n}") for n in range(12))), "-i", "app")
    ours, theirs = pty.openpty()
    words = ["delete", "-i", "app", "--kubeconfig", str(listening)]
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, *words], stdin=theirs, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        shown = b""
        while b"Type yes to go on: " not in shown:
            shown += (read := os.read(process.stderr.fileno(), 10_000))
            assert read
        process.send_signal(sent)
        assert process.wait(SECONDS) == code
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
        os.close(theirs)
    assert b"12 of the 12 objects in this inventory are to be deleted:\n" in shown
    assert len(ask.names(ConfigMap, labels=NOT_INVENTORIES)) == 12
