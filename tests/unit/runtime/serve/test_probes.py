import asyncio
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from certwright.runtime import ListenAddress
from certwright.runtime.serve.health import Check
from certwright.runtime.serve.probes import Probes


class ProbeTarget:
    def __init__(self) -> None:
        self.problem = ""

    def liveness(self) -> Iterator[Check]:
        yield Check("controller toys", "", "0 worker(s) lost")

    def readiness(self) -> Iterator[Check]:
        yield Check("watch Toy", self.problem, "watching, heard 3.0 s ago, 7 objects")
        yield Check("watch Secret", "", "watching, heard 1.0 s ago, 0 objects")

    async def exposition(self) -> bytes:
        return b"toys_total 7\n"


@pytest.fixture
def target() -> ProbeTarget:
    return ProbeTarget()


@pytest.fixture
async def base(target: ProbeTarget) -> AsyncIterator[str]:
    async with Probes(target, ListenAddress(0)) as probes:
        yield f"http://127.0.0.1:{probes.port}"


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_all_is_well(base: str, http: aiohttp.ClientSession) -> None:
    for path in ("/livez", "/healthz", "/readyz"):
        async with http.get(base + path) as answer:
            assert (answer.status, await answer.text()) == (200, "ok")


async def test_verbose_shows_every_watch_and_its_age(
    base: str, http: aiohttp.ClientSession
) -> None:
    async with http.get(base + "/readyz?verbose") as answer:
        assert answer.status == 200
        assert await answer.text() == (
            "[+] watch Toy: ok (watching, heard 3.0 s ago, 7 objects)\n"
            "[+] watch Secret: ok (watching, heard 1.0 s ago, 0 objects)\n"
            "readyz check passed\n"
        )


async def test_a_failing_check_says_what_is_wrong_unasked(
    base: str, http: aiohttp.ClientSession, target: ProbeTarget
) -> None:
    target.problem = "not synced: missing: the server has no such kind"
    async with http.get(base + "/readyz") as answer:
        assert answer.status == 503
        text = await answer.text()
    assert text.startswith("[-] watch Toy: not synced: missing: the server has no such kind")
    assert text.endswith("readyz check failed\n")
    async with http.get(base + "/livez") as answer:
        assert answer.status == 200, "trouble with the API server is no reason to restart"


async def test_metrics_are_served_as_text(base: str, http: aiohttp.ClientSession) -> None:
    async with http.get(base + "/metrics") as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert await answer.read() == b"toys_total 7\n"


async def test_only_reading_is_possible_and_headers_are_bounded(
    base: str, http: aiohttp.ClientSession
) -> None:
    async with http.post(base + "/metrics", data=b"x") as answer:
        assert answer.status == 405
    async with http.get(base + "/livez", headers={"X": "y" * 9000}) as answer:
        assert answer.status == 400


async def test_a_connection_that_sends_nothing_is_closed(
    target: ProbeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("certwright.runtime.serve.probeserver.IDLE_SECONDS", 0.2)
    async with Probes(target, ListenAddress(0)) as probes:
        reader, writer = await asyncio.open_connection("127.0.0.1", probes.port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost:")
        async with asyncio.timeout(5):
            await reader.read()
        writer.close()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8081", "127.0.0.1", 8081),
        (":8081", "0.0.0.0", 8081),  # noqa: S104
        ("[::1]:80", "::1", 80),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert ListenAddress.parse(text) == ListenAddress(port, host)


@pytest.mark.parametrize("text", ["", "8081x", "host", "host:99999", "host:"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        ListenAddress.parse(text)
