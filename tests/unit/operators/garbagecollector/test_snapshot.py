"""What one object says about the use of others."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import ConfigMap, Pod
from certwright.managed.unique import UNUSED_SINCE
from certwright.operators.garbagecollector.decision import Candidate, ObjectKey
from certwright.operators.garbagecollector.snapshot import candidate_of, kept_by, note_uses

KEY = ObjectKey("Secret", "ns", "s")
NO_CLIENT: Any = None  # nothing is read: the inventory is not spread


def users(resource: Resource, obj: JsonObject, *keys: Any) -> dict[tuple[Any, ...], str]:
    found: dict[Any, Any] = {}
    note_uses(found, {KEY, *keys}, resource, obj)
    return found


def test_annotations_and_structure_both_count() -> None:
    annotations = {"reference.resources.gardener.cloud/secret-foo": "s"}
    annotated = {"metadata": {"namespace": "ns", "name": "p", "annotations": annotations}}
    spec = {"initContainers": [{"envFrom": [{"secretRef": {"name": "s"}}]}]}
    using = {"metadata": {"namespace": "ns", "name": "p"}, "spec": spec}
    assert users(Pod, annotated) == users(Pod, using) == {KEY: "Pod ns/p"}
    elsewhere = {**using, "metadata": {"namespace": "other", "name": "p"}}
    assert users(Pod, elsewhere) == {}


def test_only_candidates_are_noted_and_the_first_user_stays() -> None:
    found = {KEY: "Pod ns/first"}
    spec = {"imagePullSecrets": [{"name": "s"}, {"name": "another"}]}
    note_uses(found, {KEY}, Pod, {"metadata": {"namespace": "ns", "name": "p"}, "spec": spec})
    assert found == {KEY: "Pod ns/first"}


async def kept(**managed: Any) -> list[tuple[Any, ...]]:
    obj = {"metadata": {"namespace": "elsewhere", "name": "mr"}, **managed}
    return [key async for key in kept_by(NO_CLIENT, obj)]


async def test_what_a_managed_resource_keeps_is_in_use_in_any_namespace() -> None:
    entry = {"apiVersion": "v1", "kind": "Secret", "namespace": "ns", "name": "s"}
    assert await kept(status={"resources": [entry, {**entry, "apiVersion": "apps/v1"}]}) == [KEY]
    annotations = {"resources.certwright.dev/intent": '["v1/Secret/ns/s", "apps/v1/X/ns/s"]'}
    metadata = {"namespace": "elsewhere", "name": "mr", "annotations": annotations}
    assert await kept(metadata=metadata) == [KEY]
    assert await kept(metadata=metadata, status={"secretsDataChecksum": "x"}) == []
    assert await kept(metadata=metadata, status={"conditions": []}) == [KEY]


@pytest.mark.parametrize("intent", ["no json", "{}", "[1]", '["v1/Secret/ns"]'])
async def test_an_intent_written_by_hand_says_nothing(intent: str) -> None:
    annotations = {"resources.certwright.dev/intent": intent}
    metadata = {"namespace": "ns", "name": "mr", "annotations": annotations}
    assert await kept(metadata=metadata) == []


def test_a_candidate_is_its_metadata() -> None:
    metadata = {
        "namespace": "ns",
        "name": "c",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {
            UNUSED_SINCE: "2026-01-02T00:00:00.500000Z",
            "resources.gardener.cloud/keep-object": "T",
        },
    }
    assert candidate_of(ConfigMap.kind, orjson.dumps({"metadata": metadata})) == Candidate(
        ObjectKey("ConfigMap", "ns", "c"),
        "u",
        "7",
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 2, 0, 0, 0, 500_000, tzinfo=UTC),
        keep=True,
        deleting=True,
    )
    plain = {**metadata, "annotations": {UNUSED_SINCE: "long ago"}}
    assert candidate_of(ConfigMap.kind, orjson.dumps({"metadata": plain})).unused_since is None
