"""Bounded waits for what others do in their own time; a failure names what did not happen."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from certwright.client import Client
from certwright.kube import JsonObject

PATIENCE_SECONDS = 60.0
"""How long others get: much more than they need, for machines are busy at times."""


async def until(
    what: str, holds: Callable[[], Awaitable[object]], seconds: float = PATIENCE_SECONDS
) -> None:
    """Return as soon as something holds; `AssertionError` with *what* was awaited if never."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"it did not happen within {seconds:g} s: {what}") from None


async def until_allowed(
    client: Client, user: str, namespace: str, rules: Iterable[JsonObject]
) -> None:
    """Return when the server lets a user do what rules say.

    A real server decides by what its caches hold, which is a moment behind what is stored.
    """
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or [""]:
                        await _until_granted(client, user, namespace, (verb, group, resource, name))


async def _until_granted(
    client: Client, user: str, namespace: str, asked: tuple[str, str, str, str]
) -> None:
    verb, group, resource, name = asked
    plural, _, subresource = resource.partition("/")
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": group,
        "resource": plural,
        "subresource": subresource,
        "name": name,
    }
    review: JsonObject = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }

    async def granted() -> bool:
        answer: JsonObject = await client.create(review)
        return answer["status"]["allowed"] is True

    await until(f"{user} may {verb} {resource} in {namespace or 'all namespaces'}", granted)
