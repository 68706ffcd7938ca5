"""Which kinds a server serves: asked once, remembered, asked again when a kind is unknown.

Aggregated discovery answers in two requests; servers that do not know it (before 1.27) are
asked group by group. A group whose own server is down is left out rather than failing all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

from certwright.client import answers, request
from certwright.client.transport import Request, Response
from certwright.clock import Clock
from certwright.kube.errors import ApiError, NotFound
from certwright.kube.identity import GroupVersionKind, Resource
from certwright.kube.kinds import BUILT_IN
from certwright.kube.objects import JsonObject

_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)

_KNOWN = {resource.gvk: resource for resource in BUILT_IN}

Send = Callable[[Request], Awaitable[Response]]


class Discovery:
    """Maps kinds to resources.

    Built-in kinds cost no request. An unknown kind refreshes the cache, at most once per
    *patience*, so that a CRD installed a moment ago is found and a misspelt kind does not
    become a flood.
    """

    def __init__(
        self, send: Send, clock: Clock, *, patience: timedelta = timedelta(seconds=5)
    ) -> None:
        self._send = send
        self._clock = clock
        self._patience = patience.total_seconds()
        self._served: dict[GroupVersionKind, Resource] = {}
        self._asked_at: float | None = None
        self._refreshing = asyncio.Lock()

    def known(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of a kind if no request is needed to know it."""
        return _KNOWN.get(gvk) or self._served.get(gvk)

    async def resource_for(self, gvk: GroupVersionKind) -> Resource:
        """Return the resource that serves a kind.

        Raises:
            NotFound: the server does not serve the kind (yet).
        """
        if (found := self.known(gvk)) is not None:
            return found
        await self._refresh(unless=lambda: gvk in self._served or self._is_fresh())
        if (found := self.known(gvk)) is None:
            raise NotFound(
                f"the server has no kind {gvk.kind} in {gvk.api_version}; "
                "install its CustomResourceDefinition, or correct apiVersion and kind"
            )
        return found

    async def resources(self) -> tuple[Resource, ...]:
        """Return everything the server serves that is an object, in the server's order."""
        await self._refresh(unless=lambda: self._asked_at is not None)
        return tuple(self._served.values())

    def invalidate(self) -> None:
        """Forget what was learnt; the next question asks the server."""
        self._served = {}
        self._asked_at = None

    def _is_fresh(self) -> bool:
        asked_at = self._asked_at
        return asked_at is not None and self._clock.monotonic() - asked_at < self._patience

    async def _refresh(self, *, unless: Callable[[], bool]) -> None:
        """Ask the server, once for all who wait; *unless* an earlier one got the answer."""
        async with self._refreshing:
            if unless():
                return
            served: dict[GroupVersionKind, Resource] = {}
            for root in ("/api", "/apis"):
                for resource in await self._list(root):
                    served.setdefault(resource.gvk, resource)
            self._served = served
            self._asked_at = self._clock.monotonic()

    async def _list(self, root: str) -> list[Resource]:
        answer = await self._get(root, accept=_AGGREGATED)
        if answer.get("kind") == "APIGroupDiscoveryList":
            return list(aggregated(answer))
        resources: list[Resource] = []
        for group_version in group_versions(answer):
            path = f"{root}/{group_version}"
            try:
                resources += legacy(group_version, await self._get(path))
            except ApiError:
                continue  # the server behind this group is down; the others still count
        return resources

    async def _get(self, path: str, accept: str = request.JSON) -> JsonObject:
        asked = request.raw(path, accept)
        return answers.to_dict(asked, (await self._send(asked)).body)


def aggregated(document: JsonObject) -> Iterator[Resource]:
    """Read an ``APIGroupDiscoveryList``."""
    for group in document.get("items") or ():
        name = (group.get("metadata") or {}).get("name") or ""
        for version in group.get("versions") or ():
            for entry in version.get("resources") or ():
                kind = entry.get("responseKind") or {}
                if kind.get("kind"):
                    yield Resource(
                        name,
                        version["version"],
                        kind["kind"],
                        entry["resource"],
                        namespaced=entry.get("scope") == "Namespaced",
                    )


def group_versions(document: JsonObject) -> Iterator[str]:
    """Read an ``APIVersions`` or ``APIGroupList``: every version, preferred ones first."""
    yield from document.get("versions") or ()
    for group in document.get("groups") or ():
        preferred: dict[str, Any] = group.get("preferredVersion") or {}
        names = [version["groupVersion"] for version in group.get("versions") or ()]
        yield from sorted(names, key=lambda name: name != preferred.get("groupVersion"))


def legacy(group_version: str, document: JsonObject) -> Iterator[Resource]:
    """Read an ``APIResourceList``; entries with a slash are subresources."""
    group, _, version = group_version.rpartition("/")
    for entry in document.get("resources") or ():
        if "/" not in entry["name"]:
            yield Resource(
                group, version, entry["kind"], entry["name"], namespaced=bool(entry["namespaced"])
            )
