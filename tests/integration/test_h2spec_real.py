"""The rules of HTTP/2, case by case, as h2spec has them."""

import ssl
from pathlib import Path

import pytest
from tests.support.xds.client import Served
from tests.support.xds.h2spec import run_h2spec

from certwright.testkit.controlplane.errors import AssetsMissing

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

CASES = 145


async def test_the_discovery_server_keeps_the_rules_of_http2(tmp_path: Path) -> None:
    served = Served()
    context = served.certificate.context
    assert context is not None
    context.verify_mode = ssl.CERT_NONE  # h2spec has no certificate to show
    async with served.running():
        try:
            report = await run_h2spec(served.server.port, tmp_path)
        except AssetsMissing as missing:
            pytest.skip(str(missing))
    assert not report.failed | report.skipped
    assert len(report.passed) == CASES
