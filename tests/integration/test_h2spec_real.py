"""The rules of HTTP/2, case by case, as h2spec has them."""

import ssl
from pathlib import Path

import pytest
from tests.support.xds.client import Served
from tests.support.xds.h2spec import run_h2spec

from certwright.testkit.controlplane.errors import AssetsMissing

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

CASES = 145
BODY = "h2spec sends a GET and waits for DATA; what we answer to it, 405, has no body"
EXCEPTIONS = {
    "generic/2: Sends a WINDOW_UPDATE frame on half-closed (remote) stream": BODY,
    "generic/2: Sends a PRIORITY frame on half-closed (remote) stream": BODY,
    "http2/6.5.3: Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE": BODY,
    "http2/6.9.1: Sends SETTINGS frame to set the initial window size to 1 and sends HEADERS frame": BODY,
    "http2/6.9.2: Changes SETTINGS_INITIAL_WINDOW_SIZE after sending HEADERS frame": BODY,
    "http2/6.9.2: Sends a SETTINGS frame for window size to be negative": BODY,
    "http2/5.1.2: Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded": (
        "each GET is answered and its stream closed before the next is read, so the limit is not reached"
    ),
}
"""Cases that do not pass, and why."""


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
    others = report.failed | report.skipped
    assert not others - EXCEPTIONS.keys()
    assert len(report.passed) >= CASES - len(EXCEPTIONS)
