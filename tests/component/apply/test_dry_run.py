"""What would be: asked of the server, shown without secrets, and nothing changed."""

from typing import Any

import pytest
from tests.component.apply.conftest import Bench, Toys

from certwright.apply import Action, ChangeSet, Rules
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Deployment, Secret
from certwright.testkit.builders import config_map, deployment, namespace, secret


async def diff(bench: Bench, *objects: JsonObject, **options: Any) -> ChangeSet:
    with bench.counted() as calls:
        changes = await bench.apply(*objects, dry_run=True, **options)
    assert calls[0].writes == 0, "a dry run never writes"
    return changes


async def test_a_new_object_is_shown_as_the_server_would_have_it(bench: Bench) -> None:
    changes = await diff(bench, deployment("d"))
    entry = changes.entries[0]
    assert entry.action is Action.CREATED
    shown = {change.path: change.new for change in entry.diff.changes}
    assert "revisionHistoryLimit" in shown["spec"]
    assert "status" not in shown, "which nobody declares"
    assert await bench.cluster.find(Deployment, "d") is None


async def test_a_difference_is_shown_field_by_field_with_its_author(bench: Bench) -> None:
    await bench.apply(config_map("a", {"k": "v"}))
    await bench.cluster.patch(ConfigMap, "a", {"data": {"k": "drift"}})
    entry = (await diff(bench, config_map("a", {"k": "v", "n": "1"}))).entries[0]
    assert entry.action is Action.CONFIGURED
    assert {(c.path, c.old, c.new) for c in entry.diff.changes if c.path == "data.k"} == {
        ("data.k", "drift", "v")
    }
    assert entry.writer is not None
    assert entry.writer.manager == "test"
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "drift"}


async def test_no_difference_costs_no_question(bench: Bench) -> None:
    await bench.apply(config_map("a", {"k": "v"}))
    bench.restart()
    with bench.counted() as calls:
        changes = await bench.apply(config_map("a", {"k": "v"}), dry_run=True)
    assert changes.entries[0].action is Action.UNCHANGED
    assert not changes.changed
    assert len(calls[0]) == 1, "one read"


async def test_removals_are_part_of_the_difference(bench: Bench) -> None:
    await bench.apply(config_map("a"))
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"labels": {"theirs": "1"}}})
    entry = (await diff(bench, config_map("a"), rules=Rules(exact_labels=True))).entries[0]
    assert [c.path for c in entry.diff.changes] == ["metadata.labels.theirs"]


async def test_what_the_server_would_refuse_is_told(bench: Bench) -> None:
    entry = (await diff(bench, {**deployment("d"), "spec": {"replicas": 1}})).entries[0]
    assert entry.action is Action.FAILED
    assert "spec.selector" in entry.reason


async def test_a_replacement_is_announced(bench: Bench) -> None:
    await bench.apply({**config_map("a", {"k": "1"}), "immutable": True})
    entry = (await diff(bench, {**config_map("a", {"k": "2"}), "immutable": True})).entries[0]
    assert entry.action is Action.RECREATED


async def test_what_needs_a_definition_or_namespace_of_the_same_set_would_be_created(
    bench: Bench, toy: Toys
) -> None:
    inner = f"{bench.cluster.namespace}-new"
    inside = {**config_map("c"), "metadata": {"name": "c", "namespace": inner}}
    objects = [toy.crd(), bench.placed(toy("a")), namespace(inner), inside]
    with bench.counted() as calls:
        changes = await bench.apply_as_is(*objects, dry_run=True)
    assert {e.action for e in changes.entries} == {Action.CREATED}, str(changes)
    assert calls[0].writes == 0


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "apply"])
async def test_values_of_secrets_are_nowhere(bench: Bench, *, dry_run: bool) -> None:
    await bench.apply(secret("s", {"p": "before-hunter2"}))
    await bench.cluster.patch(Secret, "s", {"stringData": {"p": "drifted-hunter2"}})
    changes = await bench.apply(secret("s", {"p": "after-hunter2"}), dry_run=dry_run)
    shown = changes.render() + str(changes.to_json()) + repr(changes)
    assert changes.entries[0].action is Action.CONFIGURED
    assert "data.p" in shown
    assert "hunter2" not in shown
    assert "aHVudGVy" not in shown


async def test_refusals_do_not_quote_secrets(bench: Bench) -> None:
    broken = {**secret("s"), "stringData": {"not a key!": "hunter2-value"}, "type": "Opaque"}
    wrong = {**secret("t"), "data": {"k": "hunter2 is not base64"}}
    changes = await bench.apply(broken, wrong)
    assert {e.action for e in changes.entries} == {Action.FAILED}
    assert "hunter2" not in str(changes)
