from typing import Any

import orjson
import pytest

from certwright.cli.up.feed import changes, describe
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap, Event, Namespace, Secret
from certwright.runtime import Entry
from certwright.runtime.cache.entries import Meta


def entry(
    name: str = "a", namespace: str = "default", meta: Meta | None = None, **body: Any
) -> Entry:
    return Entry(Key(namespace, name), meta or Meta(), orjson.dumps(body))


def test_coming_and_going() -> None:
    assert describe(ConfigMap, None, entry()) == "+ created   ConfigMap default/a"
    assert describe(ConfigMap, entry(), None) == "- deleted   ConfigMap default/a"
    assert describe(Namespace, None, entry("n", "")) == "+ created   Namespace n"


def test_a_deletion_that_waits_says_for_what() -> None:
    leaving = Meta(deletion_timestamp="2030-01-01T00:00:00Z", finalizers=("example.org/hold",))
    assert describe(ConfigMap, entry(), entry(meta=leaving)) == (
        "~ deleting  ConfigMap default/a  waits for example.org/hold"
    )


def test_a_change_names_fields_and_their_new_values() -> None:
    old: JsonObject = {
        "metadata": {"resourceVersion": "1", "generation": 1},
        "spec": {"count": 3, "old": 1},
    }
    new: JsonObject = {
        "metadata": {"resourceVersion": "2", "generation": 2},
        "spec": {"count": 1},
        "ok": True,
    }
    line = describe(ConfigMap, entry(**old), entry(**new))
    said, _, fields = line.partition("default/a  ")
    assert said == "~ changed   ConfigMap "
    assert set(fields.split(", ")) == {"spec.count: 1", "spec.old removed", "ok: true"}


def test_many_changes_are_counted() -> None:
    old: JsonObject = {"data": {}}
    new: JsonObject = {"data": {str(number): "x" for number in range(5)}}
    assert describe(ConfigMap, entry(**old), entry(**new)).endswith("and 2 more")


def test_nothing_but_bookkeeping_is_no_news() -> None:
    old = entry(metadata={"resourceVersion": "1"})
    assert describe(ConfigMap, old, entry(metadata={"resourceVersion": "2"})) == ""


def status(*conditions: tuple[str, str, str, str], **others: int) -> JsonObject:
    names = ("type", "status", "reason", "message")
    listed = [dict(zip(names, one, strict=True)) for one in conditions]
    return {"status": {**others, "conditions": listed}}


def test_conditions_are_named_by_their_type_and_come_first() -> None:
    old: JsonObject = status(
        ("Ready", "False", "Pending", "not yet"), ("Old", "True", "So", ""), count=1
    )
    new: JsonObject = status(
        ("New", "True", "So", "it is"), ("Ready", "True", "Issued", "done"), count=2
    )
    assert changes(old, new) == [
        "New: True (So)",
        "Ready: True (Issued)",
        "Old removed",
        "status.count: 2",
    ]


def test_the_first_conditions_are_all_that_is_new() -> None:
    assert changes({}, status(("Ready", "True", "So", ""))) == ["Ready: True (So)"]


def test_a_condition_of_which_only_the_words_change_is_quoted() -> None:
    old: JsonObject = status(("Ready", "False", "Pending", "waits for a"))
    new: JsonObject = status(("Ready", "False", "Pending", "waits for b"))
    assert changes(old, new) == ["Ready: False (Pending) waits for b"]


def test_a_condition_that_was_only_looked_at_again_is_no_news() -> None:
    old, new = status(("Ready", "True", "So", "")), status(("Ready", "True", "So", ""))
    old["status"]["conditions"][0]["lastProbeTime"] = "2030-01-01T00:00:00Z"
    assert changes(old, new) == []


def test_conditions_in_a_form_of_their_own_are_fields_like_others() -> None:
    assert changes({"status": {"conditions": "a"}}, {"status": {"conditions": "b"}}) == [
        "status.conditions: b"
    ]


def test_the_first_inventory_of_a_managed_resource_is_no_news() -> None:
    noted = {"metadata": {"annotations": {"resources.certwright.dev/intent": "[]"}}}
    assert changes({"metadata": {}}, noted) == []


def test_what_every_namespace_gets_is_no_news() -> None:
    assert describe(ConfigMap, None, entry("kube-root-ca.crt")) == ""


def test_values_of_secrets_are_not_shown() -> None:
    line = describe(Secret, entry(data={"a": "b2xk"}), entry(data={"a": "bmV3", "b": "eA=="}))
    assert line == "~ changed   Secret default/a  data.a, data.b"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("two\nlines", "two lines"),
        ([1], "1 item"),
        ([1, 2], "2 items"),
        ("x" * 80, "x" * 60 + "…"),
        ("-----BEGIN PRIVATE KEY-----\nabc", "[redacted]"),
        ({}, "{}"),
    ],
)
def test_values_fit_in_a_line(value: str | JsonObject | list[int], shown: str) -> None:
    assert changes({}, {"a": value}) == [f"a: {shown}"]


def test_events_are_told() -> None:
    event: JsonObject = {
        "type": "Warning",
        "reason": "Failed",
        "note": "it did not work",
        "regarding": {"kind": "Greeting", "namespace": "default", "name": "hello"},
    }
    assert describe(Event, None, entry(**event)) == (
        "! event     Greeting default/hello  Failed: it did not work"
    )
    assert describe(Event, entry(**event), None) == ""
