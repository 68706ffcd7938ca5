"""What the documentation admits: the two servers differ, still, and in nothing else."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.support.contract.samples import CONFIG_MAPS, PODS, config_map, pod
from tests.support.contract.transcript import Conversation, difference

TABLE = Path(__file__).parents[2] / "docs" / "reference" / "embedded-server.md"

Body = Callable[[Conversation], Awaitable[object]]


async def selectors(api: Conversation) -> None:
    await api.get(f"{CONFIG_MAPS}?labelSelector=a b")


async def syntax(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, b"hello")


async def deep_bodies(api: Conversation) -> None:
    deep = b'{"metadata":{"name":"a"},"revision":1,"data":%b}' % (
        b'{"a":' * 300 + b"{}" + b"}" * 300
    )
    await api.post("/apis/apps/v1/namespaces/{ns}/controllerrevisions", deep)


async def quoted(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    await api.merge(f"{CONFIG_MAPS}/a?fieldValidation=Strict", {"dta": 1})


async def hashes(api: Conversation) -> None:
    found = await api.get("/api/v1", recorded=False)
    api.note(any("storageVersionHash" in entry for entry in found.body["resources"]))


async def media_types(api: Conversation) -> None:
    await api.get(CONFIG_MAPS, accept="application/yaml")


async def watch_paths(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    await api.watch("/api/v1/watch/namespaces/{ns}/configmaps/a", 1)


async def selector_of_nothing(api: Conversation) -> None:
    await api.get(f"{CONFIG_MAPS}?fieldSelector==")


async def maps_twice(api: Conversation) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"x":"1"},"data":{"y":"2"}}'
    await api.post(CONFIG_MAPS, body)


async def times(api: Conversation) -> None:
    await api.post(PODS, pod("a"))
    conditions = [{"type": "Ready", "status": "True"}]
    await api.merge(f"{PODS}/a/status", {"status": {"conditions": conditions}})


async def addresses(api: Conversation) -> None:
    await api.post(PODS, pod("a"))
    await api.merge(f"{PODS}/a/status", {"status": {"podIP": "10.1.2.3"}})


KNOWN: dict[str, Body] = {
    "words of malformed selectors": selectors,
    "words of syntax errors": syntax,
    "depth of bodies": deep_bodies,
    "fields of quoted objects": quoted,
    "hashes of storage versions": hashes,
    "media types": media_types,
    "deprecated watch paths": watch_paths,
    "field selector of nothing": selector_of_nothing,
    "maps given twice": maps_twice,
    "times never set": times,
    "addresses of pods": addresses,
}


@pytest.mark.real
@pytest.mark.parametrize("what", KNOWN)
async def test_still_differs(embedded: Conversation, real: Conversation, what: str) -> None:
    assert f"\n| {what} |" in TABLE.read_text("utf-8")

    await KNOWN[what](embedded)
    await KNOWN[what](real)

    assert difference(embedded.heard, real.heard), f"no longer differs, strike it out: {what}"
