"""The least Python can do with aiohttp and orjson: pages, then a watch, into a dict of dicts."""

import asyncio
import gc
from typing import Any

import aiohttp
import orjson

from bench import meter

Objects = dict[tuple[str, str], dict[str, Any]]


async def main(task: meter.Task) -> None:
    objects: Objects = {}
    if not task.collect:
        gc.disable()
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        url = f"{task.server}/apis/apps/v1/deployments"
        meter.start()
        version = await fill(session, url, objects)
        meter.mark("listed", release=task.events, tidy=True)
        await follow(session, url, version, objects, task.last_version)
        meter.mark("done", tidy=True, gc_ms=meter.full_collection_ms(), count=len(objects))


async def fill(session: aiohttp.ClientSession, url: str, objects: Objects) -> str:
    query = {"limit": "500"}
    while True:
        async with session.get(url, params=query) as answer:
            page = orjson.loads(await answer.read())
        for obj in page["items"]:
            meta = obj["metadata"]
            objects[meta["namespace"], meta["name"]] = obj
        if not page["metadata"].get("continue"):
            return page["metadata"]["resourceVersion"]
        query["continue"] = page["metadata"]["continue"]


async def follow(
    session: aiohttp.ClientSession, url: str, version: str, objects: Objects, last: int
) -> None:
    query = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
    held = b""
    async with session.get(url, params=query, timeout=aiohttp.ClientTimeout()) as answer:
        async for chunk in answer.content.iter_any():
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                obj = orjson.loads(line)["object"]
                meta = obj["metadata"]
                objects[meta["namespace"], meta["name"]] = obj
                if int(meta["resourceVersion"]) >= last:
                    return


if __name__ == "__main__":
    asyncio.run(main(meter.task()))
