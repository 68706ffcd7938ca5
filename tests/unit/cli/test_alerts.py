"""The shipped alerting rules: each fires on the series it is about, and not before its time."""

import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from tests.support.alerts.promtool import INSTALL, Alert, assert_firing, rules

CONDITION = 'certwright_condition{{kind="ManagedResource",namespace="a",name="b",{}}}'
ERRORS = "controller_runtime_reconcile_errors_total"

# Which series make an alert fire: values a minute apart, and the minute from which it fires.
CASES: dict[str, tuple[str, str, int, Alert]] = {
    "not applied": (
        CONDITION.format('type="ResourcesApplied",status="False",reason="ApplyFailed"'),
        "1x30", 10, Alert("ManagedResourceNotApplied", "a", "b"),
    ),
    "unhealthy": (
        CONDITION.format('type="ResourcesHealthy",status="False",reason="PodUnhealthy"'),
        "1x30", 15, Alert("ManagedResourceUnhealthy", "a", "b"),
    ),
    "not ready": (
        CONDITION.format('type="Ready",status="Unknown",reason="DependencyNotReady"'),
        "1x90", 60, Alert("ManagedResourceNotReady", "a", "b"),
    ),
    "objects": (
        'certwright_managed_resource_objects{health="Missing"}',
        "2x30", 15, Alert("ManagedResourceObjectsUnhealthy"),
    ),
    "fight": (
        "certwright_managed_resource_fights_total", "0 0 1x30", 2, Alert("ManagedResourceFight"),
    ),
    "deletion": (
        "certwright_managed_resource_deletions_blocked",
        "1x90", 60, Alert("ManagedResourceDeletionBlocked"),
    ),
    "collector": (
        "certwright_garbage_collector_last_pass_timestamp_seconds",
        "60x200", 182, Alert("GarbageCollectorBehind"),
    ),
    "issuer": (
        'certwright_issuer_ready{kind="CAIssuer",namespace="a",name="b"}',
        "0x30", 15, Alert("IssuerNotReady", "a", "b"),
    ),
    "calls": (
        'certwright_issuer_overdue_calls{kind="CAIssuer"}', "1x30", 15, Alert("IssuerCallsOverdue"),
    ),
    "errors": (ERRORS + '{controller="web"}', "0+1x90", 61, Alert("ReconcilesFail")),
    "crash": (
        'controller_runtime_reconcile_panics_total{controller="web"}',
        "0 0 1x5", 2, Alert("ReconcileCrashed"),
    ),
    "stuck": ('certwright_reconciles_stuck{controller="web"}', "0 1x5", 1, Alert("ReconcileStuck")),
    "slow": (
        'workqueue_longest_running_processor_seconds{controller="web"}',
        "70+60x20", 5, Alert("ReconcileSlow"),
    ),
    "watch": ('certwright_watch_synced{view="Toy"}', "0x20", 5, Alert("WatchNotSynced")),
    "leader": (
        'leader_election_master_status{name="web"}', "0x20", 5, Alert("NoLeader", object="web"),
    ),
    "left out": ("certwright_condition_series_left_out", "3x30", 15, Alert("ConditionsLeftOut")),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_fires_in_its_time(case: tuple[str, str, int, Alert], tmp_path: Path) -> None:
    series, values, minute, alert = case
    assert_firing(tmp_path, {series: values}, {minute - 1: [], minute: [alert]})


def test_tokens_that_are_not_renewed(tmp_path: Path) -> None:
    series = {ERRORS + '{controller="token-requestor"}': "0+1x90"}
    fired = [Alert("TokensNotRenewed"), Alert("ReconcilesFail")]
    assert_firing(tmp_path, series, {60: [], 61: fired})


QUIET = {
    "suspended": CONDITION.format('type="Ready",status="False",reason="Suspended"'),
    "being deleted": CONDITION.format(
        'type="ResourcesHealthy",status="False",reason="DeletionPending"'
    ),
    "all is well": CONDITION.format('type="Ready",status="True",reason="ResourcesHealthy"'),
}


@pytest.mark.parametrize("series", QUIET.values(), ids=QUIET.keys())
def test_what_is_wanted_raises_no_alert(series: str, tmp_path: Path) -> None:
    assert_firing(tmp_path, {series: "1x120"}, {100: []})


def test_another_reason_does_not_start_the_time_anew(tmp_path: Path) -> None:
    said = 'type="ResourcesApplied",status="False",reason="{}"'
    series = {
        CONDITION.format(said.format("CannotReadSecret")): "1 1 1 1 1 stale",
        CONDITION.format(said.format("DecodingFailed")): "_ _ _ _ _ 1x20",
    }
    alert = Alert("ManagedResourceNotApplied", "a", "b")
    assert_firing(tmp_path, series, {9: [], 10: [alert]})


def test_each_rule_has_a_case() -> None:
    tried = {alert.name for _, _, _, alert in CASES.values()} | {"TokensNotRenewed"}
    assert tried == set(rules())


def test_each_rule_is_explained() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/alerts.md").read_text("utf-8")
    unexplained = [name for name in rules() if f"\n### {name}\n" not in page]
    assert not unexplained, f"docs/how-to/alerts.md does not say what to do about {unexplained}"
    unknown = [
        line for line in page.splitlines() if line.startswith("### ") and line[4:] not in rules()
    ]
    assert not unknown


def test_prometheus_accepts_the_file() -> None:
    if shutil.which("promtool") is None:
        pytest.skip(f"no promtool on this machine: {INSTALL}")
    with as_file(files("certwright.cli").joinpath("alerts.yaml")) as path:
        done = subprocess.run(
            ["promtool", "check", "rules", path], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
