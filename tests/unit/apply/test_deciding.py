"""The smaller decisions of the engine: what is sent, what is removed, what is made anew."""

from base64 import b64encode
from typing import Any

import pytest

from certwright.apply import Declared, Live, Owner, Rules
from certwright.apply.engine.apply import Recreation, recreation
from certwright.apply.engine.declared import desired_of
from certwright.apply.engine.findings import Definitions, failed, is_decided, is_established
from certwright.apply.engine.leftovers import leftovers
from certwright.apply.engine.memory import Memory, digest_of
from certwright.apply.engine.preserve import Sent
from certwright.apply.kinds import UnknownKind
from certwright.client import ConnectFailed, Propagation
from certwright.kube import (
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    GroupVersionKind,
    InternalError,
    Invalid,
    JsonObject,
    Key,
    NotFound,
    RequestTooLarge,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
)
from certwright.kube.errors import Cause
from certwright.kube.kinds import ConfigMap
from certwright.kube.ownership import FieldSet
from certwright.kube.redaction import without_values_of


def obj(kind: str = "ConfigMap", api_version: str = "v1", **parts: Any) -> JsonObject:
    metadata = {"name": "x", "namespace": "ns", **parts.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def live(**metadata: Any) -> Live:
    return Live(obj(metadata={"uid": "u", "resourceVersion": "7", **metadata}))


def secret(**parts: Any) -> JsonObject:
    return desired_of(Declared(obj("Secret", **parts)), None)


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def test_texts_of_secrets_become_data() -> None:
    assert secret(stringData={"a": "1"}, data={"a": "eA==", "b": "eQ=="}) == obj(
        "Secret", data={"a": encoded("1"), "b": "eQ=="}
    )
    assert secret(stringData={}) == obj("Secret")
    assert secret(stringData=None, data=None) == obj("Secret", data=None)
    assert secret(data={"a": "eA\n=="}) == obj("Secret", data={"a": "eA=="})


@pytest.mark.parametrize("parts", [{"stringData": {"a": 1}}, {"data": "x"}, {"data": {"a": "\n!"}}])
def test_what_makes_no_sense_is_left_to_the_server(parts: JsonObject) -> None:
    assert secret(**parts) == obj("Secret", **parts)


def test_the_owner_is_written_and_the_servers_own_fields_left_out() -> None:
    exported = obj(metadata={"uid": "u", "resourceVersion": "1", "managedFields": [], "labels": {}})
    assert desired_of(Declared(exported), Owner("o", "me"))["metadata"] == {
        "name": "x",
        "namespace": "ns",
        "labels": {},
        "annotations": {"o": "me"},
    }
    verbatim = Declared(exported, Rules(create_only=True))
    assert desired_of(verbatim, Owner("o", "me")) is exported


@pytest.mark.parametrize("metadata", ["x", ["x"], {"name": "x", "annotations": ["y"]}])
def test_metadata_nobody_can_write_to_are_refused(metadata: str | JsonObject | list[str]) -> None:
    with pytest.raises(ValueError, match="must be maps"):
        desired_of(Declared({**obj(), "metadata": metadata}), Owner("o", "me"))


EXACT = Rules(exact_labels=True, exact_annotations=True, exact_owners=True)
REF = {"uid": "1"}


def test_nothing_to_remove_needs_no_patch() -> None:
    assert leftovers(obj(), live(), EXACT) is None
    assert leftovers(obj(), live(labels={"a": "b"}, ownerReferences=[REF]), Rules()) is None


def test_what_others_put_there_is_removed_from_the_state_it_was_seen_in() -> None:
    found = live(labels={"a": "1", "b": "1"}, annotations={"c": "1"}, ownerReferences=[REF])
    assert leftovers(obj(metadata={"labels": {"a": "1"}}), found, EXACT) == {
        "metadata": {
            "uid": "u",
            "resourceVersion": "7",
            "labels": {"b": None},
            "annotations": {"c": None},
            "ownerReferences": None,
        }
    }


def test_own_references_stay_next_to_those_that_go() -> None:
    found = live(ownerReferences=[REF, {"uid": "2"}])
    patch = leftovers(obj(metadata={"ownerReferences": [REF]}), found, EXACT)
    assert patch is not None
    assert patch["metadata"]["ownerReferences"] == [REF]


def test_what_the_cluster_notes_for_itself_stays() -> None:
    noted = {"deployment.kubernetes.io/revision": "1", "loadbalancer.openstack.org/id": "2"}
    name = {"kubernetes.io/metadata.name": "x"}
    found = live(annotations=noted, labels=name)
    assert leftovers(obj("Service"), found, EXACT) is None
    patch = leftovers(obj("ConfigMap"), found, EXACT)
    assert patch is not None
    assert patch["metadata"]["annotations"] == {"loadbalancer.openstack.org/id": None}


def test_prefixes_go_where_they_are_not_wanted() -> None:
    rules = Rules(drop_annotations=("ref/",))
    found = live(annotations={"ref/a": "1", "ref/b": "1", "c": "1"})
    patch = leftovers(obj(metadata={"annotations": {"ref/b": "1"}}), found, rules)
    assert patch is not None
    assert patch["metadata"]["annotations"] == {"ref/a": None}


def test_labels_with_a_prefix_go_where_they_are_not_wanted() -> None:
    rules = Rules(drop_labels=("open/",))
    found = live(labels={"open/a": "1", "open/b": "1", "c": "1"})
    patch = leftovers(obj(metadata={"labels": {"open/b": "1"}}), found, rules)
    assert patch is not None
    assert patch["metadata"]["labels"] == {"open/a": None}
    assert leftovers(obj(), found, Rules()) is None


IMMUTABLE = Invalid(
    "no",
    causes=[Cause("FieldValueForbidden", "x: field is immutable when `immutable` is set", "data")],
)
OTHER = Invalid("no", causes=[Cause("FieldValueInvalid", "field is immutable", "spec")])


@pytest.mark.parametrize(
    ("wanted", "refusal", "allowed"),
    [
        (Declared(obj()), IMMUTABLE, True),
        (Declared(obj("Secret")), IMMUTABLE, True),
        (Declared(obj("ConfigMap", "example.com/v1")), IMMUTABLE, False),
        (Declared(obj()), OTHER, False),
        (Declared(obj("Job", "batch/v1")), OTHER, False),
        (Declared(obj("Job", "batch/v1"), Rules(recreate=True)), OTHER, True),
        (Declared(obj("Service", spec={"clusterIP": "None"})), OTHER, True),
        (Declared(obj("Service", spec={"clusterIP": "10.0.0.2"})), OTHER, False),
    ],
)
def test_what_is_made_anew(wanted: Any, refusal: Invalid, *, allowed: bool) -> None:
    found = Live(obj(wanted.obj["kind"], spec={"clusterIP": "10.0.0.1"}))
    assert recreation(wanted, found, refusal) == (Recreation() if allowed else None)


@pytest.mark.scenario("MR-44")
def test_how_dependents_go_then() -> None:
    wanted = Declared(obj(), Rules(recreate=True, recreate_propagation="Orphan"))
    assert recreation(wanted, live(), OTHER) == Recreation(Propagation.ORPHAN)
    bogus = Declared(obj(), Rules(recreate=True, recreate_propagation="Bogus"))
    with pytest.raises(ValueError, match=r"supported values: \[Background Foreground Orphan\]"):
        recreation(bogus, live(), OTHER)
    unused = Declared(obj("Job", "batch/v1"), Rules(recreate_propagation="Bogus"))
    assert recreation(unused, live(), OTHER) is None


def test_nothing_shows_what_a_secret_holds() -> None:
    hidden = obj("Secret", stringData={"a": "hunter2"})
    assert "hunter2" not in repr(
        [Declared(hidden), Live(hidden), Sent(hidden), str(Declared(hidden))]
    )


def test_failures_name_the_object_and_no_secret() -> None:
    wanted = Declared(
        obj("Secret", stringData={"a": "hunter2", "b": "x"}, data={"c": encoded("swordfish")})
    )
    text = f"Secret is invalid: hunter2 and {encoded('swordfish')} and swordfish: x"
    reason = failed(wanted, ValueError(text)).entry.reason
    assert (
        reason
        == 'error during apply of object "v1/Secret/ns/x": Secret is invalid: *** and *** and ***: x'
    )
    assert without_values_of("hunter2", obj(stringData={"a": "hunter2"})) == "hunter2"


def crd(**status: str) -> JsonObject:
    spec = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Toy", "plural": "toys"},
        "versions": [{"name": "v1", "served": True}, {"name": "v0", "served": False}],
    }
    conditions = [{"type": name, "status": value} for name, value in status.items()]
    made = obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", spec=spec)
    return {**made, "status": {"conditions": conditions}}


def test_definitions_are_decided_when_they_serve_or_never_will() -> None:
    assert is_established(Live(crd(Established="True")))
    assert is_decided(Live(crd(NamesAccepted="False")))
    assert not is_decided(Live(crd(NamesAccepted="True", Established="False")))
    assert not is_decided(Live(obj()))


def test_what_waits_for_a_definition() -> None:
    definition = Declared(crd())
    toy = Declared(obj("Toy", "example.com/v1")).ref
    known = Definitions([definition])
    assert known.brings(toy)
    assert not known.brings(Declared(obj()).ref)
    known.note(definition.obj, failed(definition, ValueError("no")))
    assert known.waits_for(toy) == "it waits for CustomResourceDefinition ns/x"
    assert known.waits_for(Declared(obj()).ref) == ""


def test_the_kinds_of_a_new_definition_are_known_at_once() -> None:
    definition = Declared(crd())
    known = Definitions([definition])
    finding = failed(definition, ValueError("an update that failed"), Live(crd(Established="True")))
    known.note(definition.obj, finding)
    resource = known.resource(GroupVersionKind("example.com", "v1", "Toy"))
    assert resource is not None
    assert (resource.plural, resource.namespaced) == ("toys", False)
    assert known.resource(GroupVersionKind("example.com", "v0", "Toy")) is None
    assert known.waits_for(Declared(obj("Toy", "example.com/v1")).ref) == ""


def test_memory_trusts_what_the_server_made_of_it() -> None:
    """After an apply the server's form counts, however different it looks from what was sent."""
    memory, own = Memory(), FieldSet.parse({"f:data": {"f:a": {}}})
    sent = obj(data={"a": "sent"})
    stored = Live(obj(data={"a": "normalised"}, metadata={"uid": "u", "resourceVersion": "1"}))
    assert not memory.is_applied(None, stored, own, sent)
    place = (ConfigMap, Key("ns", "x"))
    memory.remember(place, stored, own, digest_of(sent), sent, Rules())
    assert memory.is_applied(memory.get(*place), stored, own, sent)
    drifted = Live(obj(data={"a": "drift"}, metadata={"uid": "u", "resourceVersion": "2"}))
    assert not memory.is_applied(memory.get(*place), drifted, own, sent)
    again = Live(obj(data={"a": "normalised"}, metadata={"uid": "other", "resourceVersion": "1"}))
    assert not memory.is_applied(memory.get(*place), again, own, sent)


def test_memory_of_what_was_told_to_go() -> None:
    memory, key = Memory(), Key("ns", "x")
    memory.note_deleted(ConfigMap, key)
    assert memory.was_deleted(ConfigMap, key)
    memory.remember((ConfigMap, key), live(), FieldSet(), b"", {}, Rules())
    assert not memory.was_deleted(ConfigMap, key)
    memory.note_deleted(ConfigMap, key)
    assert len(memory) == 0
    memory.forget(ConfigMap, key)
    assert not memory.was_deleted(ConfigMap, key)


NO_NAMESPACE = NotFound('namespaces "x" not found', details={"kind": "namespaces", "name": "x"})
GOING = Cause("NamespaceTerminating", "namespace x is being terminated", "metadata.namespace")


@pytest.mark.parametrize(
    ("error", "refused", "awaits_namespace"),
    [
        (BadRequest("a webhook denied it"), True, False),
        (Forbidden("exceeded quota"), True, False),
        (Forbidden("not now", causes=[GOING]), True, True),
        (NO_NAMESPACE, True, True),
        (NotFound("404 page not found"), False, False),
        (UnknownKind(GroupVersionKind("example.com", "v1", "Toy")), False, False),
        (Conflict("it belongs to another"), True, False),
        (RequestTooLarge("3 MiB"), True, False),
        (Invalid("no such field"), True, False),
        (ApiError("a code of its own", code=451), True, False),
        (Unauthorized("expired"), False, False),
        (TooManyRequests("later"), False, False),
        (InternalError("a webhook does not answer"), False, False),
        (ServiceUnavailable("starting"), False, False),
        (ConnectFailed("refused"), False, False),
        (ValueError("not our business"), False, False),
    ],
)
def test_what_a_server_would_judge_the_same_again(
    error: Exception, *, refused: bool, awaits_namespace: bool
) -> None:
    entry = failed(Declared(obj()), error).entry
    assert (entry.refused, entry.awaits_namespace) == (refused, awaits_namespace)
