from copy import deepcopy
from typing import Any

import pytest

from certwright.kube import JsonObject
from certwright.operators.managedresource.policy import inject_labels, labels_for_all

LABELS = {"foo": "bar", "own": "new"}
MERGED = {"foo": "bar", "own": "new", "other": "x"}
BEFORE = {"own": "old", "other": "x"}

CASES: dict[str, tuple[Any, Any]] = {
    "no metadata": ({"kind": "A"}, {"kind": "A", "metadata": {"labels": LABELS}}),
    "metadata without labels": (
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "a", "labels": LABELS}},
    ),
    "null labels": ({"metadata": {"labels": None}}, {"metadata": {"labels": LABELS}}),
    "labels are overridden": ({"metadata": {"labels": BEFORE}}, {"metadata": {"labels": MERGED}}),
    "an empty pod template": (
        {"metadata": {}, "spec": {"template": {}}},
        {"metadata": {"labels": LABELS}, "spec": {"template": {"metadata": {"labels": LABELS}}}},
    ),
    "a pod template": (
        {
            "metadata": {},
            "spec": {"a": 1, "template": {"metadata": {"labels": BEFORE}, "spec": {}}},
        },
        {
            "metadata": {"labels": LABELS},
            "spec": {"a": 1, "template": {"metadata": {"labels": MERGED}, "spec": {}}},
        },
    ),
    "volume claim templates": (
        {
            "metadata": {},
            "spec": {"volumeClaimTemplates": [{"metadata": {"labels": BEFORE}}, {}, "x"]},
        },
        {
            "metadata": {"labels": LABELS},
            "spec": {
                "volumeClaimTemplates": [
                    {"metadata": {"labels": MERGED}},
                    {"metadata": {"labels": LABELS}},
                    "x",
                ]
            },
        },
    ),
    "a template that is a text": (
        {"metadata": {}, "spec": {"template": "{{ x }}"}},
        {"metadata": {"labels": LABELS}, "spec": {"template": "{{ x }}"}},
    ),
    "a template whose metadata is a text": (
        {"metadata": {}, "spec": {"template": {"metadata": "x"}}},
        {"metadata": {"labels": LABELS}, "spec": {"template": {"metadata": "x"}}},
    ),
    "a spec that is a list": (
        {"metadata": {}, "spec": [1]},
        {"metadata": {"labels": LABELS}, "spec": [1]},
    ),
    "claims that are a mapping": (
        {"metadata": {}, "spec": {"volumeClaimTemplates": {}}},
        {"metadata": {"labels": LABELS}, "spec": {"volumeClaimTemplates": {}}},
    ),
    "a cron job": (
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {},
            "spec": {"jobTemplate": {"spec": {"template": {}}}},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"labels": LABELS},
            "spec": {
                "jobTemplate": {
                    "metadata": {"labels": LABELS},
                    "spec": {"template": {"metadata": {"labels": LABELS}}},
                }
            },
        },
    ),
    "a job template of another kind": (
        {
            "apiVersion": "example.com/v1",
            "kind": "CronJob",
            "metadata": {},
            "spec": {"jobTemplate": {}},
        },
        {
            "apiVersion": "example.com/v1",
            "kind": "CronJob",
            "metadata": {"labels": LABELS},
            "spec": {"jobTemplate": {}},
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_where_labels_go(name: str) -> None:
    before, after = CASES[name]
    untouched = deepcopy(before)
    assert inject_labels(before, LABELS) == after
    assert before == untouched


def test_no_labels_change_nothing() -> None:
    obj: JsonObject = {"metadata": {}}
    assert inject_labels(obj, {}) is obj


def test_our_mark_wins() -> None:
    mark = "resources.gardener.cloud/managed-by"
    assert labels_for_all({"a": "b", mark: "me"}, "gardener") == {"a": "b", mark: "gardener"}
    assert labels_for_all({}, "x") == {mark: "x"}
