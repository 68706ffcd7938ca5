"""The status of an installation in words."""

from datetime import UTC, datetime
from typing import Any

import pytest

from certwright.cli.certmanager.advice import ADVICE
from certwright.cli.certmanager.explain import explanation, is_available
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.gates import GateReason

NOW = datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


def condition(kind: str, status: str, reason: str = "AsExpected", message: str = "") -> JsonObject:
    return {"type": kind, "status": status, "reason": reason, "message": message}


FINE = (
    condition("DeploymentsAreReady", "True"),
    condition("CRDsAreReady", "True"),
    condition("Available", "True", message="certificates can be issued"),
    condition("Progressing", "False"),
    condition("Degraded", "False"),
    condition("Upgradeable", "True"),
)


def told(*conditions: JsonObject, spec: JsonObject | None = None, **status: Any) -> str:
    found = {one["type"]: one for one in (*FINE, *conditions)}
    obj = {
        "metadata": {"name": "cluster", "generation": 2},
        "spec": spec or {},
        "status": {"conditions": list(found.values()), "observedGeneration": 2, **status},
    }
    return explanation("CertManagerDeployment cluster", obj, NOW)


def test_what_works_is_told_in_three_lines() -> None:
    assert told(version="v1.21.2", installedVersion="v1.21.2") == (
        "CertManagerDeployment cluster: certificates can be issued\n"
        "  wanted:     v1.21.2 (the operator's default)\n"
        "  installed:  v1.21.2"
    )


def test_a_step_what_it_waits_for_and_what_to_do() -> None:
    late = "no pod of this version holds the Lease kube-system/cert-manager-controller"
    text = told(
        condition("Available", "False", GateReason.NO_LEADER, late),
        condition("Progressing", "True", "Upgrading", "Upgrade from v1.20.3 to v1.21.2"),
        spec={"version": "v1.21.2"},
        version="v1.21.2",
        installedVersion="v1.20.3",
        step={"name": "controller", "targetVersion": "v1.21.2", "since": "2026-01-01T12:03:00Z"},
    )
    lines = text.splitlines()
    assert lines[0].endswith("step controller towards v1.21.2 is under way for 2m")
    assert lines[1:3] == ["  wanted:     v1.21.2", "  installed:  v1.20.3"]
    assert lines[4:7] == [
        "Available is False (ControllerNotLeading)",
        f"  {late}",
        f"  what to do: {ADVICE[GateReason.NO_LEADER]}",
    ]
    assert "Progressing is True (Upgrading)" in text
    assert lines[-1].startswith("certwright cert-manager check")


def test_a_version_that_cannot_be_had_is_the_one_that_is_wanted() -> None:
    missing = condition("Degraded", "True", "BundleMissing", "no bundle")
    text = told(missing, spec={"version": "v1.22.0"}, version="v1.21.2", installedVersion="v1.21.2")
    assert text.splitlines()[1:3] == ["  wanted:     v1.22.0", "  installed:  v1.21.2"]


def test_what_is_broken_comes_before_what_is_late() -> None:
    text = told(
        condition("Progressing", "True", "Installing"),
        condition("Degraded", "True", "BundleMissing", "no bundle"),
    )
    assert text.index("Degraded is True") < text.index("Progressing is True")
    assert ADVICE["BundleMissing"] in text


@pytest.mark.parametrize(
    ("obj", "summary"),
    [
        ({"metadata": {"generation": 1}}, "no operator has looked at it"),
        (
            {
                "metadata": {"generation": 2},
                "status": {"conditions": [*FINE], "observedGeneration": 1},
            },
            "the spec has changed",
        ),
        (
            {
                "metadata": {"deletionTimestamp": "2026-01-01T12:00:00Z"},
                "status": {"conditions": [*FINE]},
            },
            "it is being removed",
        ),
    ],
)
def test_the_first_line(obj: JsonObject, summary: str) -> None:
    assert explanation("X", obj, NOW).startswith(f"X: {summary}")


def test_components_are_listed() -> None:
    one = {"name": "webhook", "desiredReplicas": 2, "availableReplicas": 1, "image": "i:1"}
    assert "webhook     1 of 2 available   being rolled out   i:1" in told(components=[one])


def test_there_is_advice_for_everything_that_a_gate_finds() -> None:
    assert {reason for reason in GateReason if reason not in ADVICE} == {GateReason.PASSED}


def test_is_available() -> None:
    assert is_available({"conditions": [*FINE]})
    assert not is_available({})
    assert is_available({"conditions": [condition("Ready", "True")]})
