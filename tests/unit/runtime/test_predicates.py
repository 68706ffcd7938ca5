from collections.abc import Callable
from typing import Any

import pytest

from certwright.kube import Key
from certwright.runtime import (
    Entry,
    all_of,
    annotations_changed,
    any_of,
    generation_changed,
    labelled,
    labels_changed,
)
from certwright.runtime.cache.entries import Meta


def entry(
    generation: int = 1, labels: dict[str, str] | None = None, annotations: str = "{}"
) -> Entry:
    raw = b'{"metadata":{"name":"a","annotations":%s}}' % annotations.encode()
    pairs = tuple(text for pair in (labels or {}).items() for text in pair)
    return Entry(Key("ns", "a"), Meta(generation=generation, label_pairs=pairs), raw)


PREDICATES = [generation_changed, labels_changed, annotations_changed]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_appearing_and_disappearing_always_wakes(predicate: Callable[..., Any]) -> None:
    assert predicate(None, entry())
    assert predicate(entry(), None)


@pytest.mark.parametrize("predicate", PREDICATES)
def test_a_change_of_something_else_does_not_wake(predicate: Callable[..., Any]) -> None:
    assert not predicate(entry(), entry())


def test_each_notices_its_own_change() -> None:
    assert generation_changed(entry(1), entry(2))
    assert labels_changed(entry(), entry(labels={"a": "b"}))
    assert annotations_changed(entry(), entry(annotations='{"a":"b"}'))


def test_kinds_without_a_generation_always_wake() -> None:
    assert generation_changed(entry(0), entry(0))


def test_combinations() -> None:
    spec_or_labels = any_of(generation_changed, labels_changed)
    assert spec_or_labels(entry(1), entry(2))
    assert not spec_or_labels(entry(1), entry(1))
    both = all_of(generation_changed, labels_changed)
    assert not both(entry(1), entry(2))
    assert both(entry(1), entry(2, {"a": "b"}))


def test_an_object_that_loses_its_label_still_wakes_once() -> None:
    mine = labelled("app=mine")
    assert mine(entry(labels={"app": "mine"}), entry())
    assert mine(None, entry(labels={"app": "mine"}))
    assert not mine(entry(), entry(labels={"app": "other"}))
