from typing import Any

import pytest

from certwright.kube import Key
from certwright.operators.discoveryservice.config.envoys.countreport import (
    MOST_BYTES,
    REPORT,
    CountReport,
    changed_nodes,
    counts_elsewhere,
    encode_count_report,
    make_count_report,
    read_count_report,
)
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.xds.snapshot import NodeKey

A, B = NodeKey("shop", "a/b"), NodeKey("shop", "b")
OWN, OTHER, GONE = Key("infra", "own"), Key("infra", "other"), Key("infra", "gone")


def test_a_report_comes_back_as_it_was_written() -> None:
    made = make_count_report({A: {"v1": 3, "": 1}, B: {}})
    lease = ReplicaIdentity("x", OWN).lease(REPORT, encode_count_report(made))
    assert read_count_report(lease) == made
    assert made.of(A) == {"v1": 3, "": 1}
    assert list(made.nodes) == [A], "nothing is said of nodes without Envoys"


@pytest.mark.parametrize(
    "annotations",
    [None, {}, {REPORT: "no JSON"}, {REPORT: "[]"}, {REPORT: '{"envoys":{"a":{"b":{"c":-1}}}}'}],
)
def test_what_cannot_be_read_is_no_report(annotations: Any) -> None:
    assert read_count_report({"metadata": {"annotations": annotations}}) == CountReport()


def test_a_report_has_a_largest_size_and_says_how_many_nodes_it_omits() -> None:
    versions = {f"{number:010}": 1000 for number in range(20)}
    counts = {NodeKey("n" * 63, f"{number:0253}\x00"): versions for number in range(1000)}
    made = make_count_report(counts)
    assert 100 < len(list(made.nodes)) == 1000 - made.omitted
    assert len(encode_count_report(made)) <= MOST_BYTES + 100


def test_nodes_that_came_went_or_changed_are_told() -> None:
    before = make_count_report({A: {"v1": 1}, B: {"v1": 1}})
    assert changed_nodes(before, before) == []
    assert changed_nodes(before, make_count_report({A: {"v2": 1}, B: {"v1": 1}})) == [A]
    assert changed_nodes(before, CountReport()) == [A, B]


def test_others_count_that_are_ready() -> None:
    report = make_count_report({A: {"v1": 2, "v2": 1}})
    reports = {OWN: report, OTHER: report, GONE: report}
    assert counts_elsewhere(A, reports, [OWN, OTHER], OWN) == {"v1": 2, "v2": 1}
    assert counts_elsewhere(B, reports, [OWN, OTHER], OWN) == {}
