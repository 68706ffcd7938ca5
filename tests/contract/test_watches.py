"""Watches: from where they start, what they tell, and when they end."""

import asyncio
from typing import Any

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    GADGETS,
    PODS,
    config_map,
    gadget,
    install_gadgets,
    pod,
)
from tests.support.contract.transcript import Conversation, contract
from tests.support.waits import until

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
MARKED = "labelSelector=marked"
STREAM = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def marked(name: str, **rest: object) -> dict[str, object]:
    return config_map(name, {"labels": {"marked": "yes"}}, **rest)


async def change_things(api: Conversation) -> str:
    """Create, change and delete; return the version before."""
    before = await api.get(CONFIG_MAPS, recorded=False)
    await api.post(CONFIG_MAPS, marked("a"), recorded=False)
    await api.post(CONFIG_MAPS, marked("b"), recorded=False)
    await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}}, recorded=False)
    await api.delete(f"{CONFIG_MAPS}/b", recorded=False)
    return before.version


@contract
async def test_from_a_version(api: Conversation) -> None:
    version = await change_things(api)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={version}", 4)


@contract
async def test_from_each_version(api: Conversation) -> None:
    version = await change_things(api)
    events = await api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={version}", 4)
    for number, event in enumerate(events[:-1], 1):
        then = event["object"]["metadata"]["resourceVersion"]
        await api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={then}", 4 - number)


@pytest.mark.parametrize("query", ["", "&resourceVersion=0", "&resourceVersion="])
@contract
async def test_from_what_there_is(api: Conversation, query: str) -> None:
    await change_things(api)
    await api.get(CONFIG_MAPS, recorded=False)  # brings the cache up to date
    await api.watch(f"{CONFIG_MAPS}?{MARKED}{query}", 1)


@contract
async def test_of_custom_resources(api: Conversation) -> None:
    await install_gadgets(api)
    before = await api.get(GADGETS, recorded=False)
    await api.post(GADGETS, gadget("a", spec={"size": 1}), recorded=False)
    await api.merge(f"{GADGETS}/a", {"spec": {"size": 2}}, recorded=False)
    await api.merge(f"{GADGETS}/a/status", {"status": {"phase": "x"}}, recorded=False)
    await api.delete(f"{GADGETS}/a", recorded=False)
    await api.watch(f"{GADGETS}?resourceVersion={before.version}", 4)


@contract
async def test_one_object_by_path(api: Conversation) -> None:
    version = await change_things(api)
    await api.watch(f"{CONFIG_MAPS}/a?resourceVersion={version}", 2)
    await api.watch(f"{CONFIG_MAPS}/a", 1)


@contract
async def test_one_object_by_name(api: Conversation) -> None:
    version = await change_things(api)
    await api.watch(f"{CONFIG_MAPS}?fieldSelector=metadata.name=b&resourceVersion={version}", 2)


@contract
async def test_selectors_turn_changes_into_arrivals_and_departures(api: Conversation) -> None:
    before = await api.get(CONFIG_MAPS, recorded=False)
    await api.post(CONFIG_MAPS, config_map("a", {"labels": {"x": "1"}}), recorded=False)
    for value in ("2", "1", "2", "1"):
        await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"x": value}}}, recorded=False)
    await api.delete(f"{CONFIG_MAPS}/a", recorded=False)
    await api.watch(f"{CONFIG_MAPS}?labelSelector=x=1&resourceVersion={before.version}", 6)


@contract
async def test_field_selectors_turn_changes(api: Conversation) -> None:
    await install_gadgets(api)
    before = await api.get(GADGETS, recorded=False)
    await api.post(GADGETS, gadget("a"), recorded=False)
    for mode in ("Fancy", "Plain"):
        await api.merge(f"{GADGETS}/a", {"spec": {"mode": mode}}, recorded=False)
    query = f"fieldSelector=spec.mode=Fancy&resourceVersion={before.version}"
    await api.watch(f"{GADGETS}?{query}", 2)


@contract
async def test_live_changes(api: Conversation) -> None:
    before = await api.get(CONFIG_MAPS, recorded=False)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={before.version}", 3))
        await api.post(CONFIG_MAPS, marked("a"), recorded=False)
        await api.put(f"{CONFIG_MAPS}/a", marked("a", data={"x": "y"}), recorded=False)
        await api.delete(f"{CONFIG_MAPS}/a", recorded=False)


@contract
async def test_streamed_lists(api: Conversation) -> None:
    await change_things(api)
    await api.post(CONFIG_MAPS, marked("c"), recorded=False)
    await api.get(CONFIG_MAPS, recorded=False)  # brings the cache up to date
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&{STREAM}", 3)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&{STREAM}&resourceVersion=0", 3)


@contract
async def test_streamed_lists_of_nothing(api: Conversation) -> None:
    await install_gadgets(api)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&{STREAM}", 1)
    await api.watch(f"{GADGETS}?{STREAM}", 1)


@contract
async def test_streamed_lists_of_custom_resources(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a"), recorded=False)
    await api.watch(f"{GADGETS}?{STREAM}", 2)


@contract
async def test_streamed_lists_go_on(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, marked("a"), recorded=False)
    told: list[dict[str, Any]] = []

    async def is_listed() -> bool:
        return len(told) == 2

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(api.watch(f"{CONFIG_MAPS}?{MARKED}&{STREAM}", 3, into=told))
        await until("the list and its end are streamed", is_listed)
        await api.post(CONFIG_MAPS, marked("b"), recorded=False)


@contract
async def test_without_initial_events(api: Conversation) -> None:
    version = await change_things(api)
    no = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&{no}&resourceVersion={version}", 4)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&{no}&timeoutSeconds=1", 1)


@pytest.mark.parametrize(
    "query",
    [
        "sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=Exact",
        "sendInitialEvents=false",
        "sendInitialEvents=maybe",
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=NotOlderThan&resourceVersion=1",
        "resourceVersionMatch=nonsense",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=x",
        "resourceVersion=x",
        "resourceVersion=-1",
        "fieldSelector=data.x=y",
        "timeoutSeconds=x",
        "allowWatchBookmarks=x",
        "continue=x",
    ],
)
@contract
async def test_options_that_make_no_sense(api: Conversation, query: str) -> None:
    await api.watch(f"{CONFIG_MAPS}?{query}&timeoutSeconds=1", 1)


@contract
async def test_limits_do_not_matter(api: Conversation) -> None:
    version = await change_things(api)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&limit=1&resourceVersion={version}", 4)


@contract
async def test_time_limits(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, marked("a"), recorded=False)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&timeoutSeconds=3", 5)


@pytest.mark.parametrize("accept", [METADATA, TABLE])
@contract
async def test_other_forms(api: Conversation, accept: str) -> None:
    await install_gadgets(api)
    version = await change_things(api)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={version}", 4, accept=accept)
    await api.post(GADGETS, gadget("a"), recorded=False)
    await api.get(GADGETS, recorded=False)  # brings the cache up to date
    await api.watch(f"{GADGETS}?resourceVersion=0", 1, accept=accept)
    await api.watch(f"{GADGETS}?{STREAM}", 2, accept=accept)


@contract
async def test_media_types_nobody_writes(api: Conversation) -> None:
    await api.watch(f"{CONFIG_MAPS}?timeoutSeconds=1", 1, accept="text/html")


@contract
async def test_finalizers_delay_departures(api: Conversation) -> None:
    before = await api.get(CONFIG_MAPS, recorded=False)
    body = config_map("a", {"labels": {"marked": "x"}, "finalizers": ["example.com/x"]})
    await api.post(CONFIG_MAPS, body, recorded=False)
    await api.delete(f"{CONFIG_MAPS}/a", recorded=False)
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}}, recorded=False)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={before.version}", 3)


@contract
async def test_pods_leave_in_steps(api: Conversation) -> None:
    before = await api.get(PODS, recorded=False)
    await api.post(PODS, pod("a"), recorded=False)
    await api.delete(f"{PODS}/a", recorded=False)
    await api.watch(f"{PODS}?resourceVersion={before.version}", 3)


@contract
async def test_deleted_collections(api: Conversation) -> None:
    version = await change_things(api)
    await api.post(CONFIG_MAPS, marked("c"), recorded=False)
    await api.delete(f"{CONFIG_MAPS}?{MARKED}", recorded=False)
    events = await api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={version}", 7)
    api.note([[event["type"], event["object"]["metadata"]["name"]] for event in events])


@contract
async def test_dry_runs_are_not_seen(api: Conversation) -> None:
    before = await api.get(CONFIG_MAPS, recorded=False)
    await api.post(f"{CONFIG_MAPS}?dryRun=All", marked("a"), recorded=False)
    await api.post(CONFIG_MAPS, marked("b"), recorded=False)
    await api.delete(f"{CONFIG_MAPS}/b?dryRun=All", recorded=False)
    await api.merge(f"{CONFIG_MAPS}/b", {"data": {"x": "1"}}, recorded=False)
    await api.watch(f"{CONFIG_MAPS}?{MARKED}&resourceVersion={before.version}", 2)


@contract
async def test_watches_over_all_namespaces(api: Conversation) -> None:
    before = await api.get(CONFIG_MAPS, recorded=False)
    await api.post(CONFIG_MAPS, config_map("a", {"labels": {"everywhere": api.namespace}}))
    query = f"labelSelector=everywhere={api.namespace}&resourceVersion={before.version}"
    await api.watch(f"/api/v1/configmaps?{query}", 1)
