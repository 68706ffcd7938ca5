"""What changed, by what is on record."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operators.rollout.decision.conftest import (
    KEY,
    OTHER_KEY,
    contents,
    missing,
    policy,
    present,
    source,
    workload,
)

from certwright.operators.rollout.decision.compare import (
    ContentComparison,
    Counted,
    SourceChange,
    change_of,
    compare,
    counted,
)
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.policy import DIGEST, RECORD, RolloutPolicy, SourceCondition

PLAIN = policy()


def judged(
    sources: Sequence[Counted],
    before: ContentComparison | str | None = None,
    *,
    mark: str = "",
    rules: RolloutPolicy = PLAIN,
    key: DigestKey = KEY,
) -> ContentComparison:
    annotations = {}
    if before is not None:
        annotations[RECORD] = before if isinstance(before, str) else before.record.write()
    template = {DIGEST: mark} if mark else {}
    subject = workload(annotations=annotations, template_annotations=template)
    return compare(subject, rules, sources, key)


def changed(comparison: ContentComparison) -> list[str]:
    return [one.use.ref.name for one in comparison.changed]


def test_without_a_record_nothing_has_changed() -> None:
    found = judged([present(a="1")])
    assert changed(found) == []
    assert not found.recorded


def test_what_is_on_record_is_on_record() -> None:
    first = judged([present(a="1")])
    assert judged([present(a="1")], first).recorded
    assert judged([present(a="1", version="7")], first).recorded  # metadata changed


def test_other_contents_are_a_change() -> None:
    first = judged([present(a="1"), present("t", a="1")])
    found = judged([present(a="2", version="2"), present("t", a="1")], first)
    assert changed(found) == ["s"]
    assert found.digest != first.digest
    assert not found.changed[0].stale


def test_a_key_that_appears_is_a_change_where_all_are_consumed() -> None:
    first = judged([present(a="1")])
    assert changed(judged([present(a="1", b="2", version="2")], first)) == ["s"]


def test_only_consumed_keys_count_and_are_named() -> None:
    first = judged([present("s", "a", "b", a="1", b="1", c="1")])
    assert changed(judged([present("s", "a", "b", a="1", b="1", c="2")], first)) == []
    [one] = judged([present("s", "a", "b", a="1", b="2", version="2")], first).changed
    assert one.keys == ("b",)


def test_another_choice_of_keys_is_recorded_only() -> None:
    first = judged([present("s", "a", a="1", b="1")])
    found = judged([present("s", "a", "b", a="1", b="1")], first)
    assert changed(found) == []
    assert not found.recorded
    whole = judged([present(a="1", b="2")], first)
    assert changed(whole) == []
    assert not whole.recorded


def test_a_source_that_is_new_in_the_template_is_recorded_only() -> None:
    first = judged([present(a="1")])
    found = judged([present(a="1"), present("t", a="1")], first)
    assert changed(found) == []
    assert not found.recorded
    assert list(found.record.sources) == ["Secret/s", "Secret/t"]


def test_a_source_that_is_missing_stays_on_record() -> None:
    first = judged([present(a="1")])
    gone = judged([missing()], first)
    assert gone.recorded
    assert changed(gone) == []
    assert changed(judged([present(a="1", version="9")], gone)) == []
    assert changed(judged([present(a="2", version="9")], gone)) == ["s"]


def test_what_does_not_count_any_more_stays_on_record() -> None:
    first = judged([present(a="1")])
    ref = source()
    marked = present(a="2").contents
    excluded = counted(present().use, marked, SourceCondition("wanted"))
    assert excluded == Counted(present().use, None, excluded=True)
    rules = policy(restart_on_delete=True)
    assert judged([excluded], first, rules=rules).recorded
    assert ref.name == "s"


def test_on_request_a_deletion_is_a_change() -> None:
    rules = policy(restart_on_delete=True)
    first = judged([present(a="1")], rules=rules)
    gone = judged([missing()], first, rules=rules)
    assert changed(gone) == ["s"]
    assert judged([missing()], gone, rules=rules).recorded


def test_on_request_an_appearance_is_a_change() -> None:
    rules = policy(restart_on_create=True)
    first = judged([missing()], rules=rules)
    assert not first.recorded
    found = judged([present(a="1")], first, rules=rules)
    assert changed(found) == ["s"]
    assert changed(judged([present(a="1")], first)) == []


def test_a_record_made_with_another_key_is_written_anew() -> None:
    first = judged([present(a="1")], key=OTHER_KEY)
    found = judged([present(a="2")], first)
    assert changed(found) == []
    assert not found.recorded


def test_contents_older_than_the_record_are_stale() -> None:
    first = judged([present(a="2", version="10")])
    [one] = judged([present(a="1", version="9")], first).changed
    assert one.stale


def test_a_lost_record_and_another_digest_in_the_template() -> None:
    first = judged([present(a="1")])
    assert changed(judged([present(a="2")], mark=first.digest)) == ["s"]
    assert changed(judged([present(a="1")], mark=first.digest)) == []
    assert changed(judged([present(a="2")], mark="another.mark")) == []


def test_a_lost_record_while_a_source_is_not_known() -> None:
    first = judged([present(a="1"), present("t", a="1")])
    unknown = missing("t")
    optional = replace(unknown, use=replace(unknown.use, optional=True))
    ignored = replace(unknown, excluded=True)
    assert changed(judged([present(a="1"), unknown], mark=first.digest)) == []
    assert judged([present(a="1"), unknown]).missing == (unknown.use.ref,)
    assert judged([present(a="1"), unknown], first).missing == ()
    for harmless in (optional, ignored):
        assert changed(judged([present(a="2"), harmless], mark=first.digest)) == ["s"]


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"key":1}', "x" * 70_000])
def test_what_cannot_be_read_is_no_record(text: str) -> None:
    found = judged([present(a="1")], text)
    assert changed(found) == []
    assert not found.recorded


def test_nothing_to_record_is_on_record() -> None:
    assert judged([missing()]).recorded
    assert judged([]).recorded


DATA = st.dictionaries(st.sampled_from("abc"), st.text(max_size=3), max_size=3)


@given(DATA, DATA, st.none() | st.frozensets(st.sampled_from("abc"), min_size=1))
def test_a_change_is_a_difference_in_what_is_consumed(
    before: dict[str, str], after: dict[str, str], keys: frozenset[str] | None
) -> None:
    def seen(data: dict[str, str], version: str) -> list[Counted]:
        chosen: Any = sorted(keys) if keys is not None else ()
        return [present("s", *chosen, version=version, **data)]

    first = judged(seen(before, "1"))
    found = judged(seen(after, "2"), first)
    if keys is None:
        expected = before != after
    else:
        shared = keys & before.keys() & after.keys()
        expected = any(before[key] != after[key] for key in shared)
    assert bool(found.changed) is expected
    again = judged(seen(after, "3"), found)
    assert again.recorded
    assert not again.changed


def test_what_a_change_of_a_source_may_mean() -> None:
    old, new = (contents(source(), {"a": value}) for value in ("1", "2"))
    assert change_of(old, replace(old, resource_version="99")) is SourceChange.NONE
    assert change_of(old, new) is SourceChange.CONTENTS
    for other in (None, replace(new, labels={"x": "y"}), replace(old, annotations={"x": "y"})):
        assert change_of(old, other) is SourceChange.STANDING
        assert change_of(other, old) is SourceChange.STANDING
