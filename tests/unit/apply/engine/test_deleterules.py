"""What is deleted how, and what is said about what stays."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply import (
    DeleteRules,
    Live,
    ObjectRef,
    Owner,
)
from certwright.apply.cluster import left_of
from certwright.apply.engine.blockers import (
    blockers,
    events_text,
    human_duration,
    lasting_events_text,
)
from certwright.apply.engine.declared import OwnerState
from certwright.apply.engine.deleterules import (
    claims_selector,
    is_overdue,
    propagation_for,
    reason_to_keep,
)
from certwright.apply.ordering import waves
from certwright.client import Propagation
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ref(api_version: str, kind: str, name: str = "x") -> ObjectRef:
    return ObjectRef(api_version, kind, "ns", name)


def live(*finalizers: str, since: str = "", **more: Any) -> Live:
    metadata = {"name": "x", "finalizers": list(finalizers), **more}
    if since:
        metadata["deletionTimestamp"] = since
    return Live({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@pytest.mark.parametrize(
    ("api_version", "kind", "propagation"),
    [
        ("apps/v1", "Deployment", Propagation.FOREGROUND),
        ("extensions/v1beta1", "Ingress", Propagation.FOREGROUND),
        ("batch/v1", "Job", Propagation.FOREGROUND),
        ("v1", "Service", None),
        ("rbac.authorization.k8s.io/v1", "Role", None),
        ("apps.example.com/v1", "Deployment", None),
    ],
)
@pytest.mark.scenario("MR-63")
def test_propagation(api_version: str, kind: str, propagation: Propagation | None) -> None:
    assert propagation_for(ref(api_version, kind)) is propagation


KEEP = DeleteRules(keep=lambda _ref, _live: "asked to")


async def test_reasons_to_keep() -> None:
    async def state(value: str, _ref: ObjectRef) -> OwnerState:
        return OwnerState(value)

    owner = Owner("m", "ours", former=lambda value: value == "holds", state=state)
    one = ref("v1", "ConfigMap")
    assert await reason_to_keep(one, live(), None, DeleteRules()) == ""
    assert await reason_to_keep(one, live(), None, KEEP) == "asked to"
    for mark, reason in (
        ("ours", ""),
        ("gone", "it belongs to gone now"),
        ("", ""),
        ("holds", "it belongs to holds now"),
        ("released", ""),
    ):
        marked = live(annotations={"m": mark})
        assert await reason_to_keep(one, marked, owner, DeleteRules()) == reason


@pytest.mark.scenario("MR-60")
def test_patience_ends_at_its_very_end() -> None:
    rules = DeleteRules(finalize_after=lambda _live: timedelta(hours=1))
    going = live("f", since="2026-01-01T11:00:00Z")
    assert is_overdue(going, rules, NOW)
    assert not is_overdue(going, rules, NOW - timedelta(seconds=1))
    assert not is_overdue(live("f"), rules, NOW), "nobody deleted it"
    assert not is_overdue(live(since="2026-01-01T11:00:00Z"), rules, NOW), "nothing holds it"
    assert not is_overdue(going, DeleteRules(), NOW)


def test_claims_are_found_by_the_selector() -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "volumeClaimTemplates": [{}]}
    sets = ref("apps/v1", "StatefulSet")

    def selector(one: ObjectRef = sets, **changes: Any) -> str:
        obj = {"metadata": {"name": "x"}, "spec": {**spec, **changes}}
        return claims_selector(one, Live(obj))

    assert selector() == "a=b"
    assert selector(volumeClaimTemplates=[]) == ""
    assert selector(selector={}) == "", "no labels would mean every claim of the namespace"
    assert selector(ref("apps/v1", "Deployment")) == ""
    assert selector(ref("example.com/v1", "StatefulSet")) == ""


@pytest.mark.scenario("MR-59")
def test_what_holds_an_object_is_named() -> None:
    since = "2026-01-01T11:55:00Z"
    assert blockers(live("a/b", since=since), NOW) == "held by finalizer a/b for 5m"
    assert blockers(live("a", "b", since=since), NOW) == "held by finalizers a, b for 5m"
    assert "dependents" in blockers(live("foregroundDeletion", since=since), NOW)
    assert blockers(live("foregroundDeletion", "b", since=since), NOW).startswith(
        "held by finalizer b"
    )
    assert "shutting down" in blockers(live(since=since), NOW)


def test_a_namespace_says_what_it_waits_for() -> None:
    conditions = [
        {"type": "NamespaceContentRemaining", "status": "True", "message": "pods. has 1 instance"},
        {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "fine"},
    ]
    namespace = Live(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T11:55:00Z"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"conditions": conditions},
        }
    )
    assert blockers(namespace, NOW) == "held by finalizer kubernetes for 5m (pods. has 1 instance)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (600, "10m"),
        (3 * 3600 - 1, "179m"), (3 * 3600, "3h"), (3 * 3600 + 60, "3h1m"), (47 * 3600, "47h"),
        (49 * 3600, "2d1h"), (10 * 86400, "10d"), (800 * 86400, "2y70d"), (4000 * 86400, "10y"),
    ],
)  # fmt: skip
def test_durations_for_people(seconds: int, text: str) -> None:
    assert human_duration(timedelta(seconds=seconds)) == text


def event(number: int, **more: Any) -> JsonObject:
    return {
        "type": "Warning",
        "message": f"message  {number}\n",
        "source": {"component": "cloud"},
        "lastTimestamp": f"2026-01-01T11:59:{number:02}Z",
        **more,
    }


@pytest.mark.scenario("MR-61")
def test_events() -> None:
    events = [event(n) for n in (3, 1, 2, 9, 4, 5)] + [{**event(50), "type": "Normal"}]
    lines = events_text(events, NOW).splitlines()
    assert lines[0] == "-> Events:"
    assert [line.rpartition(" ")[2] for line in lines[1:]] == ["2", "3", "4", "5", "9"]
    assert lines[-1] == "* cloud reported 51s ago: message 9"
    often = event(0, count=4, firstTimestamp="2026-01-01T11:00:00Z")
    assert events_text([often], NOW).endswith("* cloud reported 60s ago (x4 over 60m): message 0")
    assert events_text([], NOW) == ""
    strange = {"type": "Warning", "lastTimestamp": "yesterday", "source": 5, "count": "x"}
    assert events_text([strange], NOW).endswith("* an unknown component reported some time ago: ")


def test_lasting_words_about_events_change_with_what_is_said_and_nothing_else() -> None:
    first, second = event(1, firstTimestamp="a"), event(2, firstTimestamp="b")
    text = lasting_events_text([second, first, {**event(3), "type": "Normal"}])
    lines = ["* cloud reported: message 1", "* cloud reported: message 2"]
    assert text.splitlines() == ["-> Events:", *lines]
    again = {**first, "lastTimestamp": "2026-01-01T12:30:00Z", "count": 7}
    assert lasting_events_text([again, second]) == text
    assert lasting_events_text([first, second, first]) == text
    assert lasting_events_text([first]) != text
    assert lasting_events_text([]) == ""


GOING = {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ({"kind": "Status", "status": "Success"}, False),
        ({"kind": "ConfigMap", "metadata": {"name": "x"}}, False),
        ({"kind": "ConfigMap", "metadata": {**GOING, "finalizers": ["f"]}}, True),
        ({"kind": "ConfigMap", "metadata": {**GOING, "deletionGracePeriodSeconds": 30}}, True),
        ({"kind": "ConfigMap", "metadata": {**GOING, "deletionGracePeriodSeconds": 0}}, False),
    ],
)
def test_what_a_deletion_leaves(answer: JsonObject, *, left: bool) -> None:
    assert (left_of(answer, ConfigMap) is not None) is left


KINDS = [
    ("v1", "Namespace"), ("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("v1", "Service"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("example.com/v1", "Toy"),
    ("networking.k8s.io/v1", "Ingress"), ("rbac.authorization.k8s.io/v1", "ClusterRole"),
]  # fmt: skip


@given(
    st.lists(
        st.builds(
            lambda kind, name: ref(kind[0], kind[1], name), st.sampled_from(KINDS), st.text("ab")
        )
    )
)
def test_waves_hold_every_object_once_users_before_what_they_use(refs: list[ObjectRef]) -> None:
    found = waves(refs)
    flat = [one for wave in found for one in wave]
    assert sorted(flat, key=str) == sorted(set(refs), key=str)
    position = {one: number for number, wave in enumerate(found) for one in wave}
    order = [
        "Toy",
        "Ingress",
        "Deployment",
        "Service",
        "CustomResourceDefinition",
        "ConfigMap",
        "Namespace",
    ]
    for earlier, later in itertools.pairwise(order):
        for one in (r for r in flat if r.kind == earlier):
            assert all(position[one] < position[r] for r in flat if r.kind == later)
