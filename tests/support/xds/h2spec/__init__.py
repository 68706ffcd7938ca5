"""h2spec, which tries a server against the rules of HTTP/2, built from its Go module."""

import asyncio
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from certwright.testkit.controlplane.gobuild import GoBuild

VERSION = "2.2.1"
_BUILD = GoBuild(
    title=f"h2spec {VERSION}",
    name="h2spec",
    version=VERSION,
    source=Path(__file__).parent,
    files=("go.mod", "go.sum", "tools.go"),
    packages={"h2spec": "github.com/summerwind/h2spec/cmd/h2spec"},
    linker_flags="-s -w",
    effort="about a minute",
    alternative="",
)


class Report(NamedTuple):
    """Cases by how they ended, as ``section: what is done``."""

    passed: set[str]
    failed: set[str]
    skipped: set[str]


async def run_h2spec(port: int, folder: Path) -> Report:
    """Try a server on this machine, whose certificate is not checked."""
    binary = await asyncio.to_thread(_BUILD.build) / "h2spec"
    output = folder / "h2spec.xml"
    process = await asyncio.create_subprocess_exec(
        binary, "--tls", "--insecure", "--host", "127.0.0.1", "--port", str(port),
        "--timeout", "2", "--junit-report", output, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    await process.wait()
    report = Report(set(), set(), set())
    for case in ET.parse(output).iter("testcase"):  # noqa: S314 - written by h2spec just now
        name = f"{case.get('package')}: {case.get('classname')}"
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            report.failed.add(name)
        elif "skipped" in kinds:
            report.skipped.add(name)
        else:
            report.passed.add(name)
    return report
