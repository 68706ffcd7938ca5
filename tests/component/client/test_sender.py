"""Retries, limits, observers and warnings, on a transport that answers from a script."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
import pytest

from certwright.client import (
    Client,
    ConnectFailed,
    ConnectionLost,
    Request,
    Response,
    Selection,
    Timeout,
    TransportError,
)
from certwright.client.retry import Policy
from certwright.client.transport import Stream
from certwright.kube import (
    Conflict,
    Gone,
    JsonObject,
    Key,
    NotFound,
    ServiceUnavailable,
    TooManyRequests,
)
from certwright.kube.kinds import ConfigMap, Lease
from certwright.testkit.time.virtual import VirtualLoop

KEY = Key("shop", "web")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"}}


def ok(headers: dict[str, str] | None = None, **body: Any) -> Response:
    return Response(200, headers or {}, orjson.dumps(body))


def no(status: int, *, headers: dict[str, str] | None = None, reason: str = "") -> Response:
    body = {"kind": "Status", "code": status, "reason": reason}
    return Response(status, headers or {}, orjson.dumps(body))


@dataclass
class Script:
    """A transport that gives the next answer of a list, and notes when it was asked."""

    answers: list[Any]
    seen: list[tuple[float, Request]] = field(default_factory=list)

    async def send(self, request: Request) -> Response:
        self.seen.append((asyncio.get_running_loop().time(), request))
        answer: Response | TransportError = self.answers.pop(0)
        if isinstance(answer, TransportError):
            raise answer
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        if request:
            raise ConnectFailed("nobody there")
        yield cast("Any", None)

    async def close(self) -> None:
        pass


@dataclass
class Counter:
    seen: list[tuple[str, int | TransportError, float]] = field(default_factory=list)

    def on_request(self, request: Request, outcome: int | TransportError, seconds: float) -> None:
        self.seen.append((request.verb, outcome, seconds))


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def client_on(loop: VirtualLoop, script: Script, **options: Any) -> Client:
    return Client(script, clock=loop.clock, **options)


def test_waits_as_long_as_the_server_asks(loop: VirtualLoop) -> None:
    script = Script([no(429, headers={"retry-after": "7"}), ok(kind="ConfigMap")])
    loop.run_until_complete(client_on(loop, script).create(CONFIG))
    first, second = (when for when, _ in script.seen)
    assert 7 <= second - first < 7 * 1.25


def test_gives_up_after_the_last_attempt_with_the_servers_own_error(loop: VirtualLoop) -> None:
    script = Script([no(503, headers={"retry-after": "1"})] * 5)
    with pytest.raises(ServiceUnavailable) as caught:
        loop.run_until_complete(client_on(loop, script).get(ConfigMap, KEY))
    assert caught.value.retry_after == 1
    assert len(script.seen) == 5


def test_a_server_that_asks_for_more_than_we_wait_is_believed(loop: VirtualLoop) -> None:
    script = Script([no(429, headers={"retry-after": "600"})])
    with pytest.raises(TooManyRequests) as caught:
        loop.run_until_complete(client_on(loop, script).get(ConfigMap, KEY))
    assert caught.value.retry_after == 600


def test_a_read_survives_a_lost_connection(loop: VirtualLoop) -> None:
    script = Script([ConnectionLost("cut"), Timeout("slow"), ok(kind="ConfigMap")])
    found = loop.run_until_complete(client_on(loop, script).get(ConfigMap, KEY))
    assert found["kind"] == "ConfigMap"
    assert len(script.seen) == 3


def test_a_create_does_not(loop: VirtualLoop) -> None:
    script = Script([ConnectionLost("cut")])
    with pytest.raises(ConnectionLost):
        loop.run_until_complete(client_on(loop, script).create(CONFIG))


def test_an_apply_is_repeated_with_the_same_bytes(loop: VirtualLoop) -> None:
    script = Script([ConnectionLost("cut"), ok(kind="ConfigMap")])
    loop.run_until_complete(client_on(loop, script).apply(CONFIG))
    assert script.seen[0][1] is script.seen[1][1]


def test_a_delete_whose_first_answer_was_lost_may_find_nothing(loop: VirtualLoop) -> None:
    script = Script([ConnectionLost("cut"), no(404, reason="NotFound")])
    with pytest.raises(NotFound):
        loop.run_until_complete(client_on(loop, script).delete(ConfigMap, KEY, uid="u"))


def test_conflicts_are_raised_at_once(loop: VirtualLoop) -> None:
    script = Script([no(409, reason="Conflict")])
    with pytest.raises(Conflict):
        loop.run_until_complete(client_on(loop, script).update(CONFIG))


def test_observers_see_every_attempt(loop: VirtualLoop) -> None:
    failure = ConnectFailed("x")
    script = Script([failure, no(429), ok(kind="ConfigMap")])
    counter = Counter()
    client = client_on(loop, script, observers=[counter])
    loop.run_until_complete(client.get(ConfigMap, KEY))
    assert [(verb, outcome) for verb, outcome, _ in counter.seen] == [
        ("get", failure),
        ("get", 429),
        ("get", 200),
    ]


def test_observers_see_watches_that_do_not_open(loop: VirtualLoop) -> None:
    counter = Counter()
    client = client_on(loop, Script([]), observers=[counter])

    async def watch() -> None:
        async with client.watch(ConfigMap):
            pytest.fail("nobody is there")

    with pytest.raises(ConnectFailed):
        loop.run_until_complete(watch())
    assert [(verb, str(outcome)) for verb, outcome, _ in counter.seen] == [
        ("watch", "nobody there")
    ]


def test_each_warning_is_passed_on_once(loop: VirtualLoop) -> None:
    def warned(*texts: str) -> Response:
        return ok({"warning": ", ".join(f'299 - "{text}"' for text in texts)}, kind="ConfigMap")

    heard: list[Any] = []
    script = Script([warned("old", "odd"), warned("old"), warned("new")])
    client = client_on(loop, script, on_warning=heard.append)
    for _ in range(3):
        loop.run_until_complete(client.get(ConfigMap, KEY))
    assert heard == ["old", "odd", "new"]


def test_a_server_cannot_fill_memory_with_warnings(loop: VirtualLoop) -> None:
    heard: list[Any] = []
    count = 3000
    answers = [ok({"warning": f'299 - "w{n}"'}, kind="ConfigMap") for n in range(count)]
    client = client_on(loop, Script(answers), on_warning=heard.append)
    for _ in range(count):
        loop.run_until_complete(client.get(ConfigMap, KEY))
    assert len(heard) == 1000


def test_no_more_requests_are_in_flight_than_allowed(loop: VirtualLoop) -> None:
    busy, most = 0, 0

    class Slow(Script):
        async def send(self, _request: Request) -> Response:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await asyncio.sleep(1)
            busy -= 1
            return ok(kind="ConfigMap")

    client = client_on(loop, Slow([]), max_in_flight=3)

    async def many() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(client.get(ConfigMap, KEY))

    loop.run_until_complete(many())
    assert most == 3
    assert loop.time() == 4


def test_a_lease_waits_for_nobody(loop: VirtualLoop) -> None:
    class Stuck(Script):
        async def send(self, request: Request) -> Response:
            if request.resource != Lease:
                await asyncio.sleep(100)
            return ok(kind=(request.resource and request.resource.kind))

    client = client_on(loop, Stuck([]), max_in_flight=1)

    async def both() -> float:
        async with asyncio.TaskGroup() as group:
            group.create_task(client.get(ConfigMap, KEY))
            await asyncio.sleep(1)
            await client.get(Lease, KEY)
            return loop.time()

    assert loop.run_until_complete(both()) == 1


def test_who_waits_to_retry_holds_no_slot(loop: VirtualLoop) -> None:
    script = Script([no(429, headers={"retry-after": "20"}), ok(kind="A"), ok(kind="B")])
    client = client_on(loop, script, max_in_flight=1)

    async def both() -> tuple[str, str]:
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(client.get(ConfigMap, KEY))
            fast = group.create_task(client.get(ConfigMap, KEY))
        return slow.result()["kind"], fast.result()["kind"]

    assert loop.run_until_complete(both()) == ("B", "A")


def page(*names: str, token: str = "", version: str = "7") -> Response:
    items = [{"metadata": {"name": name}} for name in names]
    return ok(metadata={"resourceVersion": version, "continue": token}, items=items)


def test_list_reads_page_after_page(loop: VirtualLoop) -> None:
    script = Script([page("a", "b", token="t1"), page("c", token="t2"), page("d")])
    client = client_on(loop, script)
    found = loop.run_until_complete(client.list(ConfigMap, "shop", labels="app=web"))
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b", "c", "d"]
    assert {(item["apiVersion"], item["kind"]) for item in found.items} == {("v1", "ConfigMap")}
    assert found.resource_version == "7"
    assert [dict(request.query).get("continue") for _, request in script.seen] == [None, "t1", "t2"]


def test_list_starts_over_once_when_the_server_forgets(loop: VirtualLoop) -> None:
    gone = no(410, reason="Expired")
    script = Script([page("a", token="t"), gone, page("a", token="u"), page("b", version="9")])
    found = loop.run_until_complete(client_on(loop, script).list(ConfigMap))
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert found.resource_version == "9"


def test_list_does_not_start_over_for_ever(loop: VirtualLoop) -> None:
    gone = no(410, reason="Expired")
    script = Script([page("a", token="t"), gone, page("a", token="u"), gone])
    with pytest.raises(Gone):
        loop.run_until_complete(client_on(loop, script).list(ConfigMap))


def test_pages_can_be_read_one_by_one(loop: VirtualLoop) -> None:
    script = Script([page("a", token="t"), page("b")])
    client = client_on(loop, script)

    async def names() -> list[JsonObject]:
        pages = client.pages(ConfigMap, Selection("shop"), limit=1, metadata_only=True)
        return [orjson.loads(memoryview(item)) async for page in pages for item in page.items]

    found = loop.run_until_complete(names())
    assert [item["metadata"]["name"] for item in found] == ["a", "b"]


def test_every_write_is_signed(loop: VirtualLoop) -> None:
    script = Script([ok(kind="ConfigMap")] * 4)
    client = client_on(loop, script, field_manager="me")
    loop.run_until_complete(client.create(CONFIG))
    loop.run_until_complete(client.apply(CONFIG, field_manager="you"))
    loop.run_until_complete(client.patch(ConfigMap, KEY, {"data": None}))
    loop.run_until_complete(client.update(CONFIG))
    signed = [dict(request.query)["fieldManager"] for _, request in script.seen]
    assert signed == ["me", "you", "me", "me"]


def test_an_object_without_a_kind_is_the_callers_mistake(loop: VirtualLoop) -> None:
    with pytest.raises(ValueError, match="not a kind"):
        loop.run_until_complete(client_on(loop, Script([])).create({"metadata": {}}))


def test_patience_is_configurable(loop: VirtualLoop) -> None:
    script = Script([ConnectFailed("x")] * 2)
    with pytest.raises(ConnectFailed):
        loop.run_until_complete(
            client_on(loop, script, retries=Policy(attempts=2)).get(ConfigMap, KEY)
        )
    assert script.answers == []
