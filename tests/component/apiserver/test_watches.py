"""Watches: what they start with, what they show, how they end."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api

from certwright.apiserver import ApiServer
from certwright.client.transport import Request
from certwright.kube import JsonObject
from certwright.testkit.time.virtual import VirtualLoop


def summary(events: list[JsonObject]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


@pytest.fixture
def virtual() -> Callable[..., Any]:
    """Run a coroutine function on a loop where hours pass in no time."""

    def run(main: Callable[..., Awaitable[Any]]) -> float | list[JsonObject]:
        loop = VirtualLoop(seed=1)
        try:
            value: float | list[JsonObject] = loop.run_until_complete(main())
            return value
        finally:
            loop.close()

    return run


async def test_without_a_version_a_watch_begins_with_what_exists(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("b"))
    api.create(maps, config_map("a"))

    events = await api.events(
        maps, timeoutSeconds=0, until=lambda event: event["object"]["metadata"]["name"] == "b"
    )

    assert summary(events) == [("ADDED", "a"), ("ADDED", "b")]


async def test_from_a_version_a_watch_shows_every_change_since(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    since = api.server.resource_version
    api.create(maps, config_map("a", {"v": "1"}))
    api.merge(f"{maps}/a", {"data": {"v": "2"}})
    api.delete(f"{maps}/a")

    events = await api.events(
        maps, resourceVersion=since, until=lambda event: event["type"] == "DELETED"
    )

    assert summary(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert [event["object"]["data"]["v"] for event in events] == ["1", "2", "2"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert versions[-1] == int(api.server.resource_version)


async def test_events_name_their_kind(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    api.create(maps, config_map("a"))

    events = await api.events(maps, until=bool)

    assert (events[0]["object"]["kind"], events[0]["object"]["apiVersion"]) == ("ConfigMap", "v1")


async def test_objects_enter_and_leave_a_selection(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    since = api.server.resource_version
    api.create(maps, config_map("a"))
    api.merge(f"{maps}/a", {"metadata": {"labels": {"app": "x"}}})
    api.merge(f"{maps}/a", {"data": {"v": "1"}})
    api.merge(f"{maps}/a", {"metadata": {"labels": {"app": "y"}}})
    left_at = api.server.resource_version

    events = await api.events(
        maps,
        resourceVersion=since,
        labelSelector="app=x",
        until=lambda event: event["type"] == "DELETED",
    )

    assert summary(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    gone = events[-1]["object"]["metadata"]
    assert gone["labels"] == {"app": "x"}, "as it was when it was still selected"
    assert gone["resourceVersion"] == left_at


async def test_a_streaming_list_ends_with_a_marked_bookmark(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a"))

    events = await api.events(
        maps, sendInitialEvents="true", allowWatchBookmarks="true", resourceVersionMatch="NotOlderThan",
        until=lambda event: event["type"] == "BOOKMARK",
    )  # fmt: skip

    assert summary(events) == [("ADDED", "a"), ("BOOKMARK", "")]
    metadata = events[-1]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert metadata["resourceVersion"] == api.server.resource_version


def test_a_streaming_list_must_say_how_old_it_may_be(
    server: ApiServer, api: Api, maps: str
) -> None:
    stream = server.watch(
        Request("watch", "GET", maps, (("watch", "1"), ("sendInitialEvents", "true")))
    )

    assert stream.status == 422


async def test_forgotten_history_is_gone(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    since = api.server.resource_version
    api.create(maps, config_map("a"))
    api.server.trim_history()

    events = await api.events(maps, resourceVersion=since)

    assert [event["type"] for event in events] == ["ERROR"]
    assert events[0]["object"]["code"] == 410
    assert events[0]["object"]["reason"] == "Expired"
    assert events[0]["object"]["message"].startswith(f"too old resource version: {since} (")


async def test_a_reader_that_fell_behind_is_told(
    server: ApiServer, api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    query = (("watch", "1"), ("resourceVersion", server.resource_version))
    stream = server.watch(Request("watch", "GET", maps, query))
    api.create(maps, config_map("a"))
    server.trim_history()

    chunks = [chunk async for chunk in stream.chunks()]

    assert json.loads(chunks[0])["object"]["code"] == 410
    assert len(chunks) == 1


async def test_trimming_does_not_hurt_who_is_up_to_date(
    server: ApiServer, api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    query = (("watch", "1"), ("resourceVersion", server.resource_version), ("timeoutSeconds", "1"))
    stream = server.watch(Request("watch", "GET", maps, query))
    server.trim_history()
    api.create(maps, config_map("a"))

    async for chunk in stream.chunks():
        assert json.loads(chunk)["type"] == "ADDED"
        return
    pytest.fail("the watch ended without an event")


def test_bookmarks_come_every_minute_and_before_the_end(
    virtual: Callable[..., Any], api: Api, maps: str
) -> None:
    async def main() -> list[JsonObject]:
        return await api.events(
            maps,
            resourceVersion=api.server.resource_version,
            allowWatchBookmarks="1",
            timeoutSeconds=150,
        )

    events = virtual(main)

    assert [event["type"] for event in events] == ["BOOKMARK"] * 3, "at 60, 120 and 148 seconds"


def test_bookmarks_are_only_for_who_asked(virtual: Callable[..., Any], api: Api, maps: str) -> None:
    async def main() -> list[Any]:
        return await api.events(
            maps, resourceVersion=api.server.resource_version, timeoutSeconds=150
        )

    assert virtual(main) == []


def test_a_watch_does_not_last_for_ever(virtual: Callable[..., Any], api: Api, maps: str) -> None:
    async def main() -> float:
        await api.events(maps, resourceVersion=api.server.resource_version)
        return asyncio.get_running_loop().time()

    assert 1800 <= virtual(main) <= 3600


async def test_metadata_alone(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    api.create(maps, config_map("a", {"v": "1"}))
    accept = ("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")

    events = await api.events(maps, headers=[accept], until=bool)

    assert events[0]["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in events[0]["object"]


async def test_one_object_can_be_watched(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    since = api.server.resource_version
    api.create(maps, config_map("other"))
    api.create(maps, config_map("a"))

    events = await api.events(
        maps, fieldSelector="metadata.name=a", resourceVersion=since, until=bool
    )

    assert summary(events) == [("ADDED", "a")]


async def test_only_the_namespace_asked_for_is_watched(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    since = api.server.resource_version
    api.create("/api/v1/namespaces/kube-system/configmaps", config_map("elsewhere"))
    api.create(maps, config_map("here"))

    events = await api.events(maps, resourceVersion=since, until=bool)

    assert summary(events) == [("ADDED", "here")]
