"""A report as text for a terminal, and as JUnit XML for a pipeline. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final
from xml.etree import ElementTree as ET

from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.results import CaseResult, CaseStatus, ConformanceReport

_LISTED: Final = 3
"""So many cases that were skipped for one reason are named."""


def render(report: ConformanceReport) -> str:
    """Return the feature matrix, the failures, and the sum, one line each."""
    lines = [f"conformance of {report.subject}", ""]
    for feature in sorted(Feature):
        remark = report.unsupported.get(feature, feature.meaning)
        lines.append(f"  {feature:<26} {report.status_of(feature):<12} {remark}")
    if failed := [one for one in report.results if one.status is CaseStatus.FAILED]:
        lines += ["", "failures"]
        for result in failed:
            lines.append(f"  {result.suite}: {result.name}")
            lines += [f"    {violation}" for violation in result.violations]
    if report.repaired:
        lines += ["", "repaired by the issuer, and better put right at the authority"]
        lines += [f"  {one}" for one in report.repaired]
    if skipped := [one for one in report.results if one.status is CaseStatus.SKIPPED]:
        lines += ["", "skipped"]
        lines += _skipped_lines(skipped)
    counts = ", ".join(f"{report.count(status)} {status}" for status in CaseStatus)
    seconds = sum(result.seconds for result in report.results)
    return "\n".join([*lines, "", f"{counts}, {seconds:.1f} s of waiting for answers"]) + "\n"


def junit(report: ConformanceReport) -> bytes:
    """Return the report as JUnit XML; the suite of a case is the class of its test."""
    suite = ET.Element(
        "testsuite",
        name=f"conformance of {report.subject}",
        tests=str(len(report.results)),
        failures=str(report.count(CaseStatus.FAILED)),
        skipped=str(report.count(CaseStatus.SKIPPED)),
        errors="0",
        time=f"{sum(result.seconds for result in report.results):.3f}",
    )
    for result in report.results:
        seconds = f"{result.seconds:.3f}"
        case = ET.SubElement(
            suite, "testcase", classname=result.suite, name=result.name, time=seconds
        )
        if result.status is CaseStatus.SKIPPED:
            ET.SubElement(case, "skipped", message=_printable(result.skipped))
        elif result.status is CaseStatus.FAILED:
            names = ", ".join(one.name for one in result.violations)
            failure = ET.SubElement(case, "failure", type=names, message=names)
            failure.text = _printable("\n".join(map(str, result.violations)))
        if result.repaired:
            told = "\n".join(f"repaired: {one}" for one in result.repaired)
            ET.SubElement(case, "system-out").text = _printable(told)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _skipped_lines(results: Iterable[CaseResult]) -> Iterator[str]:
    """Yield each skipped case with its reason; many of one reason are only counted."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in results:
        found.setdefault((one.suite, one.skipped), []).append(one.name)
    for (suite, why), names in found.items():
        shown = names if len(names) <= _LISTED else [f"{len(names)} cases"]
        yield from (f"  {suite}: {name} ({why})" for name in shown)


def _printable(text: str) -> str:
    """Return text without what XML cannot hold; messages quote what servers sent."""
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in text)
