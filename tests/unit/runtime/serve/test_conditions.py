"""Conditions as series: which, how many, and in which words."""

from typing import Any

import orjson
from prometheus_client.parser import text_string_to_metric_families

from certwright.kube import Key, Resource
from certwright.runtime import DONE, Context, Controller, Outcome
from certwright.runtime.cache.entries import Entry, Meta
from certwright.runtime.serve.conditions import ConditionView, exposition

TOY = Resource("toys.certwright.dev", "v1", "Toy", "toys")


async def reconcile(_ctx: Context, _key: Key) -> Outcome:
    return DONE


def entry(name: str, *conditions: Any) -> Entry:
    raw = orjson.dumps({"metadata": {"name": name}, "status": {"conditions": conditions}})
    return Entry(Key("default", name), Meta(), raw)


def ready(status: str = "True", reason: str = "Fine") -> dict[str, str]:
    return {"type": "Ready", "status": status, "reason": reason}


def shown(*entries: Entry, resource: Resource = TOY, limit: int = 100) -> tuple[list[Any], float]:
    """Return the labels of the series, and how many were left out."""
    view = ConditionView(Controller(resource, reconcile), entries)
    text = exposition([view, view], limit).decode()
    conditions, left_out = text_string_to_metric_families(text)
    assert all(sample.value == 1 for sample in conditions.samples)
    return [sample.labels for sample in conditions.samples], left_out.samples[0].value


def test_one_series_per_object_and_condition() -> None:
    labels, left_out = shown(
        entry("a", ready("False", "Broken"), {"type": "Busy", "status": "True"})
    )
    object_ = {"kind": "Toy", "namespace": "default", "name": "a"}
    assert labels == [
        {**object_, "type": "Ready", "status": "False", "reason": "Broken"},
        {**object_, "type": "Busy", "status": "True", "reason": ""},
    ]
    assert left_out == 0


def test_of_too_many_those_that_are_not_well_are_shown() -> None:
    entries = [entry(f"well-{n}", ready()) for n in range(5)]
    labels, left_out = shown(*entries, entry("broken", ready("False")), limit=2)
    assert [one["name"] for one in labels] == ["broken", "well-0"]
    assert left_out == 4


def test_one_object_cannot_fill_them_all() -> None:
    labels, _ = shown(entry("a", *({"type": f"T{n}", "status": "True"} for n in range(1000))))
    assert len(labels) == 16


def test_any_text_is_a_label() -> None:
    nasty = 'a"} 1\nother{x="\\'
    labels, _ = shown(entry("a", ready("False", nasty)), entry("b", ready("False", "x" * 9999)))
    assert labels[0]["reason"] == nasty
    assert len(labels[1]["reason"]) == 128


def test_what_is_no_condition_is_left_out() -> None:
    broken = Entry(Key("default", "x"), Meta(), b"not JSON")
    assert shown(entry("a", 7, {}, {"type": 1}), broken) == ([], 0)


def test_kinds_of_kubernetes_are_not_shown() -> None:
    for group in ("", "apps", "certificates.k8s.io"):
        assert shown(entry("a", ready()), resource=Resource(group, "v1", "Pod", "pods")) == ([], 0)
