"""Whose an object is, decided from what it says of itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply import (
    Adopt,
    Live,
    ObjectRef,
    Owner,
    Rules,
)
from certwright.apply.changeset import FieldConflict
from certwright.apply.engine.adoption import (
    Right,
    has_legacy,
    is_given_up,
    needs_transfer,
    ownership,
    taken_over,
)
from certwright.apply.engine.declared import CLIENT_SIDE_APPLY, LAST_APPLIED, OwnerState
from certwright.apply.engine.findings import field_conflict
from certwright.kube import JsonObject
from certwright.kube.comparison import own_fields
from certwright.kube.errors import Cause
from certwright.kube.ownership import FieldSet

MARK = "example.com/owner"
OURS = Owner(MARK, "ours")
ME = {"manager": "me", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}}}


def live(
    mark: str | None = None,
    labels: dict[str, str] | None = None,
    managed: list[JsonObject] | tuple[Any, ...] = (),
) -> Live:
    metadata = {"name": "x", "labels": labels or {}}
    if mark is not None:
        metadata["annotations"] = {MARK: mark}
    return Live({"metadata": metadata}, managed)


CASES = {
    "nobody asks": (live("theirs"), None, Rules(), Right.WRITE),
    "ours": (live("ours"), OURS, Rules(adopt=Adopt.NEVER), Right.WRITE),
    "of one that is gone": (live("gone"), OURS, Rules(adopt=Adopt.NEVER), Right.WRITE),
    "theirs": (live("theirs"), OURS, Rules(), Right.REFUSE),
    "theirs, to be taken": (live("theirs"), OURS, Rules(take_over=True), Right.WRITE),
    "theirs, and a fall-back": (live("theirs"), OURS, Rules(fall_back=True), Right.LEAVE),
    "nobody's": (live(), OURS, Rules(), Right.WRITE),
    "an empty mark": (live(""), OURS, Rules(adopt=Adopt.NEVER), Right.REFUSE),
    "nobody's, never": (live(), OURS, Rules(adopt=Adopt.NEVER), Right.REFUSE),
    "nobody's, a fall-back": (live(), OURS, Rules(fall_back=True), Right.LEAVE),
    "applied by us, mark removed": (
        live(managed=[ME]),
        OURS,
        Rules(adopt=Adopt.NEVER, fall_back=True),
        Right.WRITE,
    ),
    "labelled": (
        live(labels={"a": "b", "c": "d"}),
        OURS,
        Rules(adopt=Adopt.IF_LABELLED, adopt_labels={"a": "b"}),
        Right.WRITE,
    ),
    "labelled otherwise": (
        live(labels={"a": "x"}),
        OURS,
        Rules(adopt=Adopt.IF_LABELLED, adopt_labels={"a": "b"}),
        Right.REFUSE,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_claims(case: tuple[Live, Owner | None, Rules, Right]) -> None:
    obj, owner, rules, right = case
    given_up = obj.annotations.get(MARK) == "gone"
    found = ownership(obj, owner, rules, "me", given_up=given_up)
    assert found.right is right
    assert bool(found.reason) == (right is not Right.WRITE)


def entry(manager: str, operation: str, fields: JsonObject, subresource: str = "") -> JsonObject:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "subresource": subresource,
        "fieldsV1": fields,
    }


def wrote(manager: str, *annotations: str, subresource: str = "") -> JsonObject:
    names: JsonObject = {f"f:{name}": {} for name in annotations}
    return entry(manager, "Update", {"f:metadata": {"f:annotations": names}}, subresource)


MINE, THEIRS = wrote("me", MARK), wrote("kubectl", MARK)
KNOWN, LISTED = {"applied": True, "listed": True}, {"applied": False, "listed": True}
NEW = {"applied": False, "listed": False}
GIVEN_UP = {
    "no mark": (live(), KNOWN, False),
    "ours": (live("ours"), KNOWN, False),
    "of one that is gone": (live("gone"), NEW, True),
    "of one that does not list it": (live("released"), NEW, True),
    "of one that lists it": (live("holds", managed=[MINE]), KNOWN, False),
    "of our name elsewhere": (live("former", managed=[MINE]), NEW, True),
    "of our name elsewhere, listed": (live("former", managed=[MINE]), LISTED, True),
    "taken from us by our name elsewhere": (live("former", managed=[MINE]), KNOWN, False),
    "forged": (live("holds", managed=[wrote("me", "other"), THEIRS]), LISTED, True),
    "forged in our name elsewhere": (live("former", managed=[wrote("me"), THEIRS]), KNOWN, True),
    "forged, and not ours": (live("holds", managed=[wrote("me"), THEIRS]), NEW, False),
    "a mark on what no owner wrote": (live("holds", managed=[THEIRS]), LISTED, False),
    "only a status": (live("holds", managed=[wrote("me", subresource="status")]), LISTED, False),
    "who wrote it is not known": (live("holds"), LISTED, False),
}


@pytest.mark.parametrize("case", GIVEN_UP.values(), ids=GIVEN_UP)
async def test_other_owners_that_do_not_hold_an_object(
    case: tuple[Live, dict[str, bool], bool],
) -> None:
    async def state(value: str, _ref: ObjectRef) -> OwnerState:
        return OwnerState.HOLDS if value == "former" else OwnerState(value)

    us = Owner(MARK, "ours", former=lambda value: value == "former", state=state, signs="me".__eq__)
    obj, known, given_up = case
    ref = ObjectRef("v1", "ConfigMap", "x", "x")
    assert await is_given_up(ref, obj, us, **known) is given_up
    assert not await is_given_up(ref, obj, None, **known)


FIELDS: Any = st.dictionaries(
    st.sampled_from(["f:a", "f:b"]),
    st.dictionaries(st.sampled_from(["f:x", "f:y"]), st.just({}), min_size=1),
    min_size=1,
)
ENTRIES = st.lists(
    st.builds(
        entry,
        st.sampled_from(["old", "older", "other", "me", "me:two"]),
        st.sampled_from(["Apply", "Update"]),
        FIELDS,
        st.sampled_from(["", "status"]),
    ),
    max_size=5,
    unique_by=lambda e: (e["manager"], e["operation"], e["subresource"]),
)


LEGACY = {("old", "Update"), ("older", "Update"), ("me:two", "Apply"), ("me:two", "Update")}


@given(ENTRIES)
def test_a_transfer_moves_exactly_the_fields_of_the_predecessors(entries: list[JsonObject]) -> None:
    before = Live({"metadata": {}}, entries)
    if not has_legacy(before, "me", ("old", "older")):
        return
    after = taken_over(entries, "me", ("old", "older"))
    assert not has_legacy(Live({"metadata": {}}, after), "me", ("old", "older"))
    legacy = [
        FieldSet.parse(e["fieldsV1"])
        for e in entries
        if (e["manager"], e["operation"]) in LEGACY and not e["subresource"]
    ]
    mine = own_fields(entries, "me") or FieldSet()
    for fields in legacy:
        mine |= fields
    assert own_fields(after, "me") == mine
    untouched = [e for e in entries if e["manager"] == "other" or e["subresource"]]
    assert all(e in after for e in untouched)


CONFLICT = "FieldManagerConflict"


@pytest.mark.parametrize(
    ("cause", "found"),
    [
        (Cause(CONFLICT, 'conflict with "a b" using v1', ".data.k"), (".data.k", "a b", "")),
        (Cause(CONFLICT, 'conflict with "helm"', ".x"), (".x", "helm", "")),
        (
            Cause(CONFLICT, 'conflict with "kubectl" with subresource "scale" using apps/v1', ".r"),
            (".r", "kubectl", "scale"),
        ),
        (Cause(CONFLICT, "something else", ".data.k"), None),
        (Cause("FieldValueInvalid", 'conflict with "a" using v1', ".data.k"), None),
    ],
)
def test_a_conflict_is_read_as_the_server_words_it(
    cause: Cause, found: tuple[str, str, str] | None
) -> None:
    assert field_conflict(cause) == (found and FieldConflict(*found))


def left_by(manager: str, operation: str = "Update", *, annotated: bool = True) -> Live:
    fields: JsonObject = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}}
    metadata: JsonObject = {"annotations": {LAST_APPLIED: "{}"} if annotated else {}}
    return Live({"metadata": metadata}, [entry(manager, operation, fields)])


@pytest.mark.parametrize(
    ("live", "managers", "found"),
    [
        (left_by("kubectl-create"), (CLIENT_SIDE_APPLY,), True),
        (left_by("kubectl-last-applied", "Apply"), (CLIENT_SIDE_APPLY,), False),
        (left_by("kubectl-create"), ("helm",), False),
        (left_by("kubectl-create", annotated=False), (CLIENT_SIDE_APPLY,), False),
        (Live({"metadata": {"annotations": {LAST_APPLIED: "{}"}}}), (CLIENT_SIDE_APPLY,), True),
        (Live({"metadata": {}}), (CLIENT_SIDE_APPLY,), False),
        (Live({"metadata": {"annotations": {LAST_APPLIED: "{}"}}}), (), False),
    ],
)
def test_client_side_apply_is_known_by_its_annotation(
    live: Live, managers: tuple[str, ...], *, found: bool
) -> None:
    assert needs_transfer(live, Rules(take_over_from=managers), "me") is found
