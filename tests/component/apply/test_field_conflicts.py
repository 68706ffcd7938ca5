"""Fields that other managers hold: named, left alone, or taken when asked for."""

from dataclasses import replace
from typing import Any

import pytest
from tests.component.apply.conftest import Bench

from certwright.apply import Action, Change, ChangeSet, Owner, Rules
from certwright.apply.engine.declared import CLIENT_SIDE_APPLY, HELM, LAST_APPLIED
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Deployment
from certwright.testkit.builders import config_map, deployment

OURS = Owner("example.com/owner", "ours")
RULES = Rules(
    force=False, take_over_from=(CLIENT_SIDE_APPLY, HELM), drop_annotations=(LAST_APPLIED,)
)


async def left_by(bench: Bench, manager: str, obj: JsonObject) -> None:
    """Create an object as a manager that does not apply on the server."""
    await bench.cluster.client.create(bench.placed(obj), field_manager=manager)


async def patched_by(bench: Bench, manager: str, patch: JsonObject) -> None:
    key = bench.cluster.key(ConfigMap, "a")
    await bench.cluster.client.patch(ConfigMap, key, patch, field_manager=manager)


async def apply(bench: Bench, obj: JsonObject, **options: Any) -> Change:
    bench.restart()
    changes: ChangeSet = await bench.apply(obj, owner=OURS, rules=RULES, **options)
    return changes.entries[0]


def annotated(obj: JsonObject) -> JsonObject:
    """Return an object as kubectl apply leaves it."""
    return {**obj, "metadata": {**obj["metadata"], "annotations": {LAST_APPLIED: "{}"}}}


async def test_fields_that_others_hold_are_named_and_nothing_is_written(bench: Bench) -> None:
    await apply(bench, config_map("a", {"k": "1", "l": "1"}))
    await patched_by(bench, "editor", {"data": {"k": "2"}})
    before = await bench.cluster.get(ConfigMap, "a")
    entry = await apply(bench, config_map("a", {"k": "3", "l": "2"}))
    assert entry.action is Action.FAILED
    assert [(one.path, one.manager) for one in entry.conflicts] == [(".data.k", "editor")]
    assert entry.reason.endswith("1 field is held by other managers: .data.k by editor")
    assert entry.to_json()["conflicts"] == [{"path": ".data.k", "manager": "editor"}]
    assert await bench.cluster.get(ConfigMap, "a") == before


async def test_a_value_that_is_the_same_is_held_in_common(bench: Bench) -> None:
    await left_by(bench, "editor", config_map("a", {"k": "1"}))
    assert (await apply(bench, config_map("a", {"k": "1"}))).action is Action.CONFIGURED


async def test_what_others_hold_is_taken_when_asked_for(bench: Bench) -> None:
    await left_by(bench, "editor", config_map("a", {"k": "1"}))
    assert (await apply(bench, config_map("a", {"k": "2"}))).conflicts
    rules = replace(RULES, force=True)
    changes = await bench.apply(config_map("a", {"k": "2"}), owner=OURS, rules=rules)
    assert changes.entries[0].action is Action.CONFIGURED
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "2"}


async def test_a_field_written_through_a_subresource_says_so(bench: Bench) -> None:
    await apply(bench, deployment("a", replicas=1))
    key = bench.cluster.key(Deployment, "a")
    scale = {"spec": {"replicas": 3}}
    await bench.cluster.client.patch(
        Deployment, key, scale, subresource="scale", field_manager="scaler"
    )
    entry = await apply(bench, deployment("a", replicas=2))
    (held,) = entry.conflicts
    assert str(held) == ".spec.replicas by scaler (through scale)"
    assert held.to_json()["subresource"] == "scale"


@pytest.mark.parametrize("manager", [CLIENT_SIDE_APPLY, "kubectl-create", "some-program"])
async def test_what_client_side_apply_left_becomes_ours(bench: Bench, manager: str) -> None:
    """What tells it is the annotation, whatever name it had; what others set stays."""
    await left_by(bench, manager, annotated(config_map("a", {"k": "1", "old": "1"})))
    await patched_by(bench, "editor", {"data": {"foreign": "x"}})
    entry = await apply(bench, config_map("a", {"k": "2"}))
    assert entry.action is Action.CONFIGURED
    found = await bench.cluster.get(ConfigMap, "a")
    assert found["data"] == {"k": "2", "foreign": "x"}
    assert found["metadata"]["annotations"] == {OURS.annotation: "ours"}
    assert (await apply(bench, config_map("a", {"k": "2"}))).action is Action.UNCHANGED


async def test_what_was_only_created_is_not_left_behind(bench: Bench) -> None:
    await left_by(bench, "kubectl-create", config_map("a", {"k": "1", "old": "1"}))
    entry = await apply(bench, config_map("a", {"k": "2"}))
    assert [(one.path, one.manager) for one in entry.conflicts] == [(".data.k", "kubectl-create")]


async def test_what_helm_left_becomes_ours(bench: Bench) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    annotations = {"meta.helm.sh/release-name": "app", "meta.helm.sh/release-namespace": "x"}
    obj = config_map("a", {"k": "1", "old": "1"}, labels=labels, annotations=annotations)
    await left_by(bench, "helm", obj)
    assert (await apply(bench, config_map("a", {"k": "2"}))).action is Action.CONFIGURED
    found = await bench.cluster.get(ConfigMap, "a")
    assert found["data"] == {"k": "2"}
    assert "labels" not in found["metadata"]
    assert found["metadata"]["annotations"] == {OURS.annotation: "ours"}


async def test_what_helm_applies_on_the_server_stays_with_helm(bench: Bench) -> None:
    obj = bench.placed(config_map("a", {"k": "1", "other": "1"}))
    await bench.cluster.client.apply(obj, field_manager="helm")
    entry = await apply(bench, config_map("a", {"k": "2"}))
    assert [(one.path, one.manager) for one in entry.conflicts] == [(".data.k", "helm")]


async def test_nothing_is_taken_over_while_others_hold_fields(bench: Bench) -> None:
    """Else the object would carry our mark, and would not be as declared."""
    await left_by(bench, CLIENT_SIDE_APPLY, annotated(config_map("a", {"k": "1", "l": "1"})))
    await patched_by(bench, "editor", {"data": {"k": "2"}})
    before = await bench.cluster.get(ConfigMap, "a")
    entry = await apply(bench, config_map("a", {"k": "3", "l": "3"}))
    assert [(one.path, one.manager) for one in entry.conflicts] == [(".data.k", "editor")]
    assert await bench.cluster.get(ConfigMap, "a") == before


async def test_a_dry_run_tells_what_a_take_over_would_do(bench: Bench) -> None:
    """Also what goes, and what the server fills in again."""
    left = annotated(deployment("a", replicas=3, image="app:1"))
    pod: Any = left["spec"]["template"]["spec"]
    pod["containers"].append({"name": "sidecar", "image": "sidecar:1"})
    pod["terminationGracePeriodSeconds"] = 5
    await left_by(bench, CLIENT_SIDE_APPLY, left)
    wanted = deployment("a", replicas=2, image="app:2")
    tried = await apply(bench, wanted, dry_run=True)
    assert (await bench.cluster.get(Deployment, "a"))["spec"]["replicas"] == 3
    done = await apply(bench, wanted)
    assert done.action is Action.CONFIGURED
    assert tried.diff == done.diff
    found = await bench.cluster.get(Deployment, "a")
    assert [one["name"] for one in found["spec"]["template"]["spec"]["containers"]] == ["main"]
    assert found["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 30


async def test_objects_older_than_the_record_of_managers_are_taken_over(bench: Bench) -> None:
    await left_by(bench, CLIENT_SIDE_APPLY, annotated(config_map("a", {"k": "1", "old": "1"})))
    await patched_by(bench, "editor", {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in (await bench.cluster.get(ConfigMap, "a"))["metadata"]
    tried = await apply(bench, config_map("a", {"k": "2"}), dry_run=True)
    done = await apply(bench, config_map("a", {"k": "2"}))
    assert done.action is Action.CONFIGURED
    assert tried.diff == done.diff
    found = await bench.cluster.get(ConfigMap, "a")
    assert found["data"] == {"k": "2"}
    assert found["metadata"]["annotations"] == {OURS.annotation: "ours"}
