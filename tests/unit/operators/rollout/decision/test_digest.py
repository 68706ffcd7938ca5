"""Keyed digests."""

import pytest
from tests.unit.operators.rollout.decision.conftest import KEY, OTHER_KEY, source

from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.decision.record import ContentRecord, read_record, source_name
from certwright.operators.rollout.workload import SourceKind


def test_a_digest_depends_on_everything_and_on_nothing_else() -> None:
    one = KEY.of_value(source("s"), "a", b"1")
    assert one == KEY.of_value(source("s"), "a", b"1")
    others = {
        KEY.of_value(source("s"), "a", b"2"),
        KEY.of_value(source("s"), "b", b"1"),
        KEY.of_value(source("t"), "a", b"1"),
        KEY.of_value(source("s", SourceKind.CONFIG_MAP), "a", b"1"),
        OTHER_KEY.of_value(source("s"), "a", b"1"),
        KEY.of_value(source("s"), "", b"a1"),
    }
    assert one not in others
    assert len(others) == 6


def test_the_order_of_digests_does_not_matter_and_their_names_do() -> None:
    assert KEY.of_digests([("a", "1"), ("b", "2")]) == KEY.of_digests([("b", "2"), ("a", "1")])
    assert KEY.of_digests([("a", "1")]) != KEY.of_digests([("a1", "")])
    assert KEY.of_digests([]) != KEY.of_digests([("", "")])


def test_a_key_does_not_show_itself() -> None:
    assert repr(KEY) == f"DigestKey({KEY.id})"
    assert KEY.id != OTHER_KEY.id


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 32 bytes"):
        DigestKey(b"short")


def test_a_record_is_read_as_it_was_written() -> None:
    record = ContentRecord("k", {"Secret/s": {"*": "d", "@": "7"}, "ConfigMap/x/y": {"a": "e"}})
    assert read_record(record.write()) == record
    assert record.digests() == [("Secret/s:*", "d"), ("ConfigMap/x/y:a", "e")]


def test_sources_of_other_namespaces_are_named_with_them() -> None:
    assert source_name(source("s"), "ns") == "Secret/s"
    assert source_name(source("s"), "other") == "Secret/ns/s"
