import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operators.managedresource.conftest import Make

from certwright.apply import Adopt, Live, ObjectRef, Rules
from certwright.apply.engine.declared import OwnerState
from certwright.kube import JsonObject, Key
from certwright.operators.managedresource.declared import Input, combined_input, decode_secret
from certwright.operators.managedresource.inventory import Equivalences, reference_to
from certwright.operators.managedresource.ownership import Origin, field_manager, owner
from certwright.operators.managedresource.policy import (
    FORCE_AFTER,
    delete_rules,
    kept_because,
    plan,
    scale_targets,
)

GROUP = "resources.gardener.cloud"
ORIGIN = Origin("", Key("garden", "mr"))
ALWAYS: dict[str, Any] = {
    "take_over_from": ("gardener-resource-manager", "certwright"),
    "exact_owners": True,
    "drop_annotations": (f"reference.{GROUP}/",),
}


def desire(*objects: dict[str, Any]) -> Input:
    content = "".join(map(json.dumps, objects)).encode()
    return combined_input([decode_secret(Key("garden", "s"), {"k": content})], lambda _: True)


def deployment(name: str = "a", **annotations: str) -> dict[str, Any]:
    keyed = {f"{GROUP}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": name, "namespace": "x", "labels": {"own": "1"}, "annotations": keyed}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"template": {}},
    }


def scaled(*names: str) -> Any:
    autoscalers = [
        {
            "metadata": {"namespace": "x", "name": name},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
            },
        }
        for name in names
    ]
    return scale_targets(autoscalers, Equivalences.of())


def rules_of(make: Callable[..., Any], obj: dict[str, Any], **parts: Any) -> Rules:
    (wanted,) = plan(make(**parts), desire(obj), ORIGIN, "gardener", scaled()).declared
    return wanted.rules


ANNOTATIONS = [
    ({}, {}),
    ({"preserve_replicas": "true"}, {"preserve_replicas": True}),
    ({"preserve_replicas": "True"}, {}),
    ({"preserve_resources": "true"}, {"preserve_resources": True}),
    ({"preserve_resources": "1"}, {}),
    ({"delete_on_invalid_update": "true"}, {"recreate": True}),
    ({"delete_on_invalid_update": "1"}, {"recreate": True}),
    ({"delete_on_invalid_update": "yes"}, {}),
    ({"deletion_propagation_on_invalid_update": "Orphan"}, {"recreate_propagation": "Orphan"}),
    ({"ignore": "t"}, {"create_only": True}),
    ({"ignore": "no"}, {}),
    ({"mode": "EnsureExists"}, {"create_only": True}),
    ({"mode": "FallBack"}, {"fall_back": True}),
    ({"mode": "Keep"}, {}),
]


@pytest.mark.parametrize(("annotations", "expected"), ANNOTATIONS)
def test_annotations_of_an_object(
    make: Make, annotations: JsonObject, expected: JsonObject
) -> None:
    assert rules_of(make, deployment(**annotations)) == Rules(**ALWAYS, **expected)


SPECS = [
    ({"forceOverwriteLabels": True}, {"exact_labels": True}),
    ({"forceOverwriteAnnotations": True}, {"exact_annotations": True}),
    ({"forceOverwriteLabels": False, "forceOverwriteAnnotations": False}, {}),
]


@pytest.mark.parametrize(("spec", "expected"), SPECS)
def test_what_the_spec_adds(make: Make, spec: JsonObject, expected: JsonObject) -> None:
    assert rules_of(make, deployment(), spec=spec) == Rules(**ALWAYS, **expected)


TAKE_OVER = "resources.certwright.dev/take-over"


def test_taking_over_is_asked_for_on_the_object_or_on_the_whole(make: Make) -> None:
    obj = deployment()
    obj["metadata"]["annotations"][TAKE_OVER] = "true"
    assert rules_of(make, obj).take_over
    assert rules_of(make, deployment(), annotations={TAKE_OVER: "true"}).take_over
    assert not rules_of(make, deployment(), annotations={TAKE_OVER: "1"}).take_over


ADOPT = "resources.certwright.dev/adopt"


@pytest.mark.parametrize(
    ("whole", "own", "expected", "labels"),
    [
        (None, None, Adopt.ALWAYS, {}),
        ("Never", None, Adopt.NEVER, {}),
        ("Never", "Always", Adopt.ALWAYS, {}),
        (None, "Never", Adopt.NEVER, {}),
        ("IfLabelled", None, Adopt.IF_LABELLED, {"resources.gardener.cloud/managed-by": "gardener"}),
    ],
)  # fmt: skip
def test_what_exists_and_belongs_to_nobody_is_adopted_as_said(
    make: Make, whole: str | None, own: str | None, expected: Adopt, labels: JsonObject
) -> None:
    obj = deployment()
    if own:
        obj["metadata"]["annotations"][ADOPT] = own
    rules = rules_of(make, obj, annotations={ADOPT: whole} if whole else {})
    assert (rules.adopt, rules.adopt_labels) == (expected, labels)


@pytest.mark.parametrize("value", ["never", ""])
def test_an_unknown_way_to_adopt_is_refused(make: Make, value: str) -> None:
    obj = deployment()
    obj["metadata"]["annotations"][ADOPT] = value
    (refusal,) = plan(make(), desire(obj), ORIGIN, "gardener", scaled()).refused
    assert "supported values: [Always IfLabelled Never]" in str(refusal)


def test_what_an_autoscaler_scales_keeps_its_replicas(make: Make) -> None:
    planned = plan(
        make(), desire(deployment("a"), deployment("b")), ORIGIN, "gardener", scaled("b")
    )
    assert [(w.ref.name, w.rules.preserve_replicas) for w in planned.declared] == [
        ("a", False),
        ("b", True),
    ]


def test_an_unknown_propagation_is_refused_before_anything_is_written(make: Make) -> None:
    bogus = deployment(deletion_propagation_on_invalid_update="Bogus")
    planned = plan(make(), desire(bogus, deployment("b")), ORIGIN, "gardener", scaled())
    assert [wanted.ref.name for wanted in planned.declared] == ["b"]
    (refusal,) = planned.refused
    assert str(refusal) == (
        'error during apply of object "apps/v1/Deployment/x/a": invalid deletion propagation policy on'
        ' object "apps/v1/Deployment/x/a": "Bogus" is invalid, supported values: [Background Foreground Orphan]'
    )


def test_what_objects_are_given(make: Make) -> None:
    resource = make(spec={"injectLabels": {"foo": "bar"}})
    (wanted,) = plan(
        resource, desire(deployment()), Origin("id", ORIGIN.key), "gardener", scaled()
    ).declared
    labels = {"foo": "bar", f"{GROUP}/managed-by": "gardener"}
    assert wanted.obj["metadata"]["labels"] == {"own": "1", **labels}
    assert wanted.obj["spec"]["template"]["metadata"]["labels"] == labels
    annotations = wanted.obj["metadata"]["annotations"]
    assert annotations[f"{GROUP}/origin"] == "id:garden/mr"
    assert f"{GROUP}/description" in annotations


def test_what_is_to_be_ignored_is_created_verbatim(make: Make) -> None:
    obj = deployment(ignore="true")
    resource = make(spec={"injectLabels": {"foo": "bar"}})
    planned = plan(resource, desire(obj), ORIGIN, "gardener", scaled())
    assert planned.declared[0].obj == obj
    assert planned.inventory[0].labels["foo"] == "bar"


def test_what_must_only_exist_is_ours_all_the_same(make: Make) -> None:
    (wanted,) = plan(
        make(), desire(deployment(mode="EnsureExists")), ORIGIN, "g", scaled()
    ).declared
    assert wanted.obj["metadata"]["annotations"][f"{GROUP}/origin"] == "garden/mr"
    assert wanted.obj["metadata"]["labels"][f"{GROUP}/managed-by"] == "g"


def test_the_inventory_holds_labels_of_both_and_annotations_of_the_manifest(make: Make) -> None:
    resource = make(spec={"injectLabels": {"own": "2", "foo": "bar"}})
    planned = plan(resource, desire(deployment(preserve_replicas="true")), ORIGIN, "g", scaled())
    ref = ObjectRef("apps/v1", "Deployment", "x", "a")
    labels = {"own": "2", "foo": "bar", f"{GROUP}/managed-by": "g"}
    assert planned.inventory == (reference_to(ref, labels, {f"{GROUP}/preserve-replicas": "true"}),)


@pytest.mark.parametrize(
    ("mark", "ours", "former", "state"),
    [
        ("id:garden/mr", True, True, None),
        ("nonsense", True, False, None),
        ("garden/mr", False, True, OwnerState.HOLDS),
        ("old-id:garden/mr", False, True, OwnerState.HOLDS),
        ("id:garden/holds", False, False, OwnerState.HOLDS),
        ("id:garden/released", False, False, OwnerState.RELEASED),
        ("id:garden/gone", False, False, OwnerState.GONE),
        ("other:garden/gone", False, False, OwnerState.HOLDS),
        ("garden/gone", False, False, OwnerState.HOLDS),
    ],
)
async def test_whose_objects_are(
    mark: str, *, ours: bool, former: bool, state: OwnerState | None
) -> None:
    async def state_of(key: Key, _ref: ObjectRef) -> OwnerState:
        return OwnerState(key.name)

    us = owner(Origin("id", ORIGIN.key), state_of)
    assert us.annotation == f"{GROUP}/origin"
    assert us.value == "id:garden/mr"
    assert us.owns(mark) is ours
    assert us.former(mark) is former
    if state is not None:
        assert await us.state(mark, ObjectRef("v1", "ConfigMap", "x", "a")) is state


# Deleting


def live(labels: dict[str, str] | None = None, **annotations: str) -> Live:
    keyed = {f"{GROUP}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return Live({"metadata": {"labels": labels or {}, "annotations": keyed}})


COLLECTABLE = {f"{GROUP}/garbage-collectable-reference": "true"}
CONFIG, SECRET, NODE = (ObjectRef("v1", kind, "x", "a") for kind in ("ConfigMap", "Secret", "Node"))
OTHER_SECRET = ObjectRef("example.com/v1", "Secret", "x", "a")


@pytest.mark.parametrize(
    ("ref", "found", "collected", "kept"),
    [
        (CONFIG, live(), True, False),
        (CONFIG, live(keep_object="true"), False, True),
        (CONFIG, live(keep_object="1"), False, True),
        (CONFIG, live(keep_object="yes"), False, False),
        (CONFIG, live(mode="Keep"), False, True),
        (CONFIG, live(mode="FallBack"), False, False),
        (CONFIG, live(COLLECTABLE), True, True),
        (SECRET, live(COLLECTABLE), True, True),
        (SECRET, live({f"{GROUP}/garbage-collectable-reference": "T"}), True, True),
        (CONFIG, live(COLLECTABLE), False, False),
        (NODE, live(COLLECTABLE), True, False),
        (OTHER_SECRET, live(COLLECTABLE), True, False),
    ],
)
def test_what_stays_when_it_is_no_longer_wanted(
    ref: ObjectRef, found: Live, *, collected: bool, kept: bool
) -> None:
    assert bool(kept_because(ref, found, garbage_collected=collected)) is kept


def test_rules_of_a_deletion(make: Make) -> None:
    with_claims = make(spec={"deletePersistentVolumeClaims": True})
    rules = delete_rules(with_claims, (), garbage_collected=True)
    assert rules.claims
    assert rules.keep(CONFIG, live(COLLECTABLE))
    assert not delete_rules(make(), (), garbage_collected=True).claims


def test_finalizers_are_cleared_after_a_while_if_somebody_says_so(make: Make) -> None:
    rules = delete_rules(make(), (), garbage_collected=False)
    assert rules.finalize_after(live()) is None
    assert rules.finalize_after(live(finalize_deletion_after="1h")) == timedelta(hours=1)
    for never in ("0", "0s", "0h0m", "-1h"):
        assert rules.finalize_after(live(finalize_deletion_after=never)) is None
    with pytest.raises(ValueError, match="'bogus'"):
        rules.finalize_after(live(finalize_deletion_after="bogus"))


def test_a_forced_deletion_does_not_wait_for_long(make: Make) -> None:
    force = make(annotations={"resources.certwright.dev/force-delete": "true"})
    rules = delete_rules(force, (), garbage_collected=False)
    assert rules.finalize_after(live()) == FORCE_AFTER
    assert rules.finalize_after(live(finalize_deletion_after="1h")) == FORCE_AFTER


def test_installations_with_a_label_of_their_own_have_a_name_of_their_own() -> None:
    assert field_manager("gardener") == "certwright-resource-manager"
    assert field_manager("two") == "certwright-resource-manager:two"
