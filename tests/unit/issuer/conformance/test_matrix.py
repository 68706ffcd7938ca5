"""What people and pipelines read."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from certwright.issuer.conformance import CaseResult, ConformanceReport, Feature, junit, render
from certwright.issuer.conformance.results import CaseStatus
from certwright.pki import Violation

RESULTS = [
    CaseResult("CertificateRequest", "one DNS name", frozenset({Feature.ONLY_SAN}), seconds=0.25),
    CaseResult(
        "CertificateRequest",
        "a wildcard",
        frozenset({Feature.WILDCARDS, Feature.ONLY_SAN}),
        (
            Violation("MissingName", "names are missing: '*.example'"),
            Violation("Expired", "\x1b[2J"),
        ),
        seconds=0.5,
    ),
    CaseResult(
        "Behaviour", "renewal", frozenset({Feature.DURATION}), skipped="Duration is unsupported: no"
    ),
]
REPORT = ConformanceReport("example.com/Mine/here/ca", RESULTS, {Feature.DURATION: "no"})


def test_the_matrix_says_of_each_feature_how_it_stands() -> None:
    lines = render(REPORT).splitlines()
    assert lines[0] == "conformance of example.com/Mine/here/ca"
    standing = {line.split()[0]: line.split()[1] for line in lines[2:] if line.startswith("  ")}
    assert standing["Wildcards"] == "FAILED"
    assert standing["OnlySAN"] == "FAILED", "one of the cases that need it failed"
    assert standing["Duration"] == "unsupported"
    assert standing["ECDSA"] == "not"  # tried
    assert set(Feature) <= set(standing)


@pytest.mark.parametrize(
    ("violations", "blamed"),
    [
        (["DurationMismatch"], {Feature.DURATION}),
        (["DurationMismatch", "ExtraUsage"], {Feature.DURATION, Feature.KEY_USAGES}),
        (["KeyMismatch"], {Feature.ECDSA, Feature.ONLY_SAN}),
        (["MissingCA"], {Feature.SAVE_CA}),
        (["CANotRoot"], {Feature.SAVE_ROOT_CA}),
        ([], set()),
    ],
)
def test_a_violation_that_tells_the_feature_blames_no_other(
    violations: list[str], blamed: set[Feature]
) -> None:
    needs = frozenset({Feature.ECDSA, Feature.ONLY_SAN})
    found = tuple(Violation(name, "") for name in violations)
    assert CaseResult("CertificateRequest", "x", needs, found).missing_features == blamed


def test_the_authority_is_returned_by_every_certificate_request() -> None:
    passed = ConformanceReport("x", RESULTS[:1], {})
    assert passed.status_of(Feature.SAVE_CA) == "supported"
    only_csrs = CaseResult("CertificateSigningRequest", "one", frozenset())
    assert ConformanceReport("x", [only_csrs], {}).status_of(Feature.SAVE_CA) == "not tried"


def test_many_cases_that_are_skipped_for_one_reason_are_counted() -> None:
    def skipped(number: int, why: str) -> CaseResult:
        return CaseResult("Behaviour", f"case {number}", frozenset(), skipped=why)

    many = [skipped(number, "not here") for number in range(4)]
    few = [skipped(number, "nor there") for number in range(3)]
    text = render(ConformanceReport("x", [*many, *few], {}))
    assert "  Behaviour: 4 cases (not here)\n" in text
    assert "  Behaviour: case 2 (nor there)\n" in text


def test_failures_and_what_was_skipped_are_listed_by_name() -> None:
    text = render(REPORT)
    assert "  CertificateRequest: a wildcard\n    MissingName: names are missing" in text
    assert "  Behaviour: renewal (Duration is unsupported: no)" in text
    assert text.endswith("1 passed, 1 failed, 1 skipped, 0.8 s of waiting for answers\n")


def test_a_supported_feature_is_one_whose_cases_all_passed() -> None:
    passed = ConformanceReport("x", RESULTS[:1], {})
    assert any(
        line.split()[:2] == ["OnlySAN", "supported"] for line in render(passed).splitlines() if line
    )
    assert passed.conforms
    assert not REPORT.conforms
    assert not ConformanceReport("x", RESULTS[2:], {}).conforms, "nothing was tried"


def test_junit_names_the_violations_and_survives_what_servers_say() -> None:
    (suite,) = ET.fromstring(junit(REPORT))  # noqa: S314 - our own
    assert suite.attrib | {"time": ""} == {
        "name": "conformance of example.com/Mine/here/ca",
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
        "time": "",
    }
    passed, failed, skipped = suite
    assert (passed.attrib["classname"], passed.attrib["name"]) == (
        "CertificateRequest",
        "one DNS name",
    )
    assert len(passed) == 0
    assert failed[0].attrib["type"] == "MissingName, Expired"
    assert "names are missing" in (failed[0].text or "")
    assert skipped[0].attrib["message"] == "Duration is unsupported: no"


def test_verdicts_are_counted() -> None:
    assert [REPORT.count(verdict) for verdict in CaseStatus] == [1, 1, 1]


def test_what_was_repaired_is_told_once_and_fails_nothing() -> None:
    root = Violation("RootInChain", "Repaired: the chain holds the root")
    results = [replace(RESULTS[0], name=name, repaired=(root,)) for name in ("one", "two")]
    report = ConformanceReport("x", results, {})
    assert report.conforms
    assert render(report).count("  RootInChain: Repaired: the chain holds the root\n") == 1
    (suite,) = ET.fromstring(junit(report))  # noqa: S314 - our own
    assert [case[0].text for case in suite] == [f"repaired: {root}"] * 2
