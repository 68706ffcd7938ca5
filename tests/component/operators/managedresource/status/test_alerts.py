"""What is broken is seen from outside: series, alerts, the log and events, from one real run."""

from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs
from tests.component.operators.managedresource.conftest import Keeping, Toys
from tests.support.alerts.promtool import Alert, assert_firing, series_of

from certwright.kube import JsonObject
from certwright.testkit.builders import config_map

BROKEN = {
    "missing": "CannotReadSecret",
    "unreadable": "DecodingFailed",
    "unknown": "ApplyFailed",
}


async def declare_broken(keeping: Keeping, toys: Toys) -> None:
    """Declare one that is well, and one for each of `BROKEN`."""
    await keeping.declare("well", config_map("a"))
    await keeping.cluster.create(keeping.managed_resource("missing", "nowhere"))
    await keeping.declare("unreadable", "{password: [hunter2", config_map("b"))
    await keeping.declare("unknown", toys.toy("t"))


async def repair(keeping: Keeping, toys: Toys) -> None:
    await keeping.cluster.create(keeping.secret_with("nowhere", config_map("c")))
    await keeping.rewrite("unreadable", config_map("b"))
    await keeping.cluster.install(toys.definition())


def conditions(text: str, **wanted: str) -> list[JsonObject]:
    """Return the labels of the conditions in a scrape that have certain labels."""
    return [
        sample.labels
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "certwright_condition" and wanted.items() <= sample.labels.items()
    ]


def total(text: str, name: str, **wanted: str) -> float:
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and wanted.items() <= sample.labels.items()
    )


@pytest.mark.timeout(120)
async def test_what_is_broken_raises_an_alert_and_what_is_repaired_ends_it(
    embedded_keeping: Keeping, toys: Toys, tmp_path: Path
) -> None:
    keeping = embedded_keeping
    await declare_broken(keeping, toys)
    await keeping.settle()
    scrapes = [await keeping.cluster.scrape()]
    for _ in range(15):
        await keeping.cluster.advance(minutes=1)
        scrapes.append(await keeping.cluster.scrape())
    await repair(keeping, toys)
    for _ in range(15):
        await keeping.cluster.advance(minutes=1)
        scrapes.append(await keeping.cluster.scrape())
    alerts = [Alert("ManagedResourceNotApplied", keeping.namespace, name) for name in BROKEN]
    assert_firing(tmp_path, series_of(scrapes), {9: [], 11: alerts, 30: []})


async def test_a_condition_is_a_series_until_its_object_is_gone(
    embedded_keeping: Keeping, toys: Toys
) -> None:
    keeping = embedded_keeping
    await declare_broken(keeping, toys)
    await keeping.settle()
    text = await keeping.cluster.scrape()
    failed = conditions(text, type="ResourcesApplied", status="False")
    assert {one["name"]: one["reason"] for one in failed} == BROKEN
    of_each = Counter((one["name"], one["type"]) for one in conditions(text))
    assert set(of_each.values()) == {1}
    assert len(of_each) >= 4 + 3 * 2
    await repair(keeping, toys)
    await keeping.settle()
    await keeping.cluster.advance(minutes=6)
    text = await keeping.cluster.scrape()
    assert conditions(text, type="ResourcesApplied", status="False") == []
    assert len(conditions(text, type="Ready", status="True")) == 4
    await keeping.cluster.delete(keeping.kind, "missing")
    await keeping.settle()
    text = await keeping.cluster.scrape()
    assert {one["name"] for one in conditions(text)} == {"well", "unreadable", "unknown"}


async def test_a_restart_shows_the_same_series(embedded_keeping: Keeping, toys: Toys) -> None:
    await declare_broken(embedded_keeping, toys)
    await embedded_keeping.settle()
    before = conditions(await embedded_keeping.cluster.scrape())
    await embedded_keeping.restart()
    after = conditions(await embedded_keeping.cluster.scrape())
    assert sorted(map(str, after)) == sorted(map(str, before))


async def test_passes_that_fail_count_as_errors(embedded_keeping: Keeping, toys: Toys) -> None:
    keeping = embedded_keeping
    errors = "controller_runtime_reconcile_errors_total"
    await keeping.declare("well", config_map("a"))
    await keeping.settle()
    assert total(await keeping.cluster.scrape(), errors) == 0
    counts = []
    for declare in (
        keeping.cluster.create(keeping.managed_resource("missing", "nowhere")),
        keeping.declare("unreadable", "{broken: ["),
        keeping.declare("unknown", toys.toy("t")),
    ):
        await declare
        await keeping.settle()
        text = await keeping.cluster.scrape()
        counts.append(total(text, errors, controller="managedresource"))
        assert counts[-1] == total(
            text, "controller_runtime_reconcile_total", controller="managedresource", result="error"
        )
    assert 0 < counts[0] < counts[1] < counts[2]


async def test_failures_and_their_end_are_logged_and_recorded(
    embedded_keeping: Keeping, toys: Toys
) -> None:
    keeping = embedded_keeping
    with capture_logs() as lines:
        await declare_broken(keeping, toys)
        await keeping.settle()
    warned = {
        (line["key"].removeprefix(f"{keeping.namespace}/"), line["reason"])
        for line in lines
        if line["event"] == "condition changed" and line["log_level"] == "warning"
    }
    assert warned == set(BROKEN.items())
    assert "hunter2" not in str(lines)
    for name, reason in BROKEN.items():
        assert await keeping.events(reason) == [await keeping.message(name)]
    with capture_logs() as lines:
        await repair(keeping, toys)
        await keeping.settle()
        await keeping.cluster.advance(minutes=6)
    again = [
        line["key"]
        for line in lines
        if line["log_level"] == "info" and line.get("type") == "ResourcesApplied"
    ]
    assert sorted(again) == sorted(f"{keeping.namespace}/{name}" for name in BROKEN)
    assert await keeping.events("ApplySucceeded") == ["All resources are applied."] * 3
