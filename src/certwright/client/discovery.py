"""The kinds that a server serves: read once, remembered, read again for an unknown kind.

Aggregated discovery takes two requests; from servers without it (before 1.27) it is read group
by group. A group whose own server is down is left out instead of failing all.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from math import inf
from typing import TypeVar

import msgspec

from certwright.client import request as requests
from certwright.client.errors import BadResponse
from certwright.client.transport import Request, Response
from certwright.clock import Clock
from certwright.kube import ApiError, GroupVersionKind, NotFound, Resource, ServiceUnavailable
from certwright.kube.kinds import BUILT_IN

_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)

_KNOWN = {resource.gvk: resource for resource in BUILT_IN}

MOST_READS = 10
"""How often unknown kinds make everything be read again within the time that one rests."""

S = TypeVar("S", bound=msgspec.Struct)
Send = Callable[[Request], Awaitable[Response]]


class Discovery:
    """Maps kinds to resources.

    Built-in kinds cost no request. An unknown kind refreshes the cache, so that a CRD installed a
    moment ago is found. A kind that was not found is not looked for again within *patience*, nor
    are more than a few unknown kinds, so that misspelt ones do not become a flood.
    """

    def __init__(
        self, send: Send, clock: Clock, *, patience: timedelta = timedelta(seconds=5)
    ) -> None:
        self._send = send
        self._clock = clock
        self._patience = patience.total_seconds()
        self._served: dict[GroupVersionKind, Resource] = {}
        self._silent: set[str] = set()  # versions of groups whose server is down
        self._missing: dict[GroupVersionKind, float] = {}  # when they were looked for in vain
        self._refreshed_at = -inf  # since then, all kinds that are not served count as such
        self._read_at: deque[float] = deque(maxlen=MOST_READS)
        self._begun = self._done = 0  # numbers of the last read that was begun, and that succeeded
        self._refreshing = asyncio.Lock()

    def known(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of a kind if no request is needed to know it."""
        return _KNOWN.get(gvk) or self._served.get(gvk)

    async def resource_for(self, gvk: GroupVersionKind) -> Resource:
        """Return the resource that serves a kind.

        Raises:
            NotFound: the server does not serve the kind (yet).
            ServiceUnavailable: the server of its group is down, so the kind may exist or not.
        """
        if (found := self.known(gvk)) is not None:
            return found
        before = self._begun
        await self._refresh(
            unless=lambda: gvk in self._served or self._done > before or self._rests(gvk)
        )
        if (found := self.known(gvk)) is None:
            self._missing.setdefault(gvk, self._clock.monotonic())
            if gvk.api_version in self._silent:
                raise ServiceUnavailable(
                    f"the server of {gvk.api_version} does not answer, so it is unknown whether "
                    f"there is a kind {gvk.kind}; check its APIService"
                )
            raise NotFound(
                f"the server has no kind {gvk.kind} in {gvk.api_version}; "
                "install its CustomResourceDefinition, or correct apiVersion and kind"
            )
        return found

    async def resources(self) -> tuple[Resource, ...]:
        """Return everything the server serves that is an object, in the server's order."""
        await self._refresh(unless=lambda: bool(self._read_at))
        return tuple(self._served.values())

    async def refresh(self) -> None:
        """Read anew what the server serves; until then, what is remembered stays."""
        await self._refresh(unless=lambda: False)
        self._refreshed_at = self._clock.monotonic()

    def invalidate(self) -> None:
        """Forget what is remembered; the next use reads it from the server."""
        self._served = {}
        self._missing.clear()
        self._refreshed_at = -inf
        self._read_at.clear()

    def _rests(self, gvk: GroupVersionKind) -> bool:
        """Return whether a kind was looked for in vain a moment ago, or many kinds were."""
        since = self._clock.monotonic() - self._patience
        many = len(self._read_at) == MOST_READS and self._read_at[0] > since
        return many or self._missing.get(gvk, self._refreshed_at) > since

    async def _refresh(self, *, unless: Callable[[], bool]) -> None:
        """Read from the server, once for all that wait; *unless* another task did so meanwhile."""
        async with self._refreshing:
            if unless():
                return
            self._begun += 1
            served: dict[GroupVersionKind, Resource] = {}
            silent: set[str] = set()
            for root in ("/api", "/apis"):
                for resource in await self._list(root, silent):
                    served.setdefault(resource.gvk, resource)
            self._served, self._silent = served, silent
            self._done = self._begun
            now = self._clock.monotonic()
            self._read_at.append(now)
            self._missing = {
                gvk: at for gvk, at in self._missing.items() if at > now - self._patience
            }

    async def _list(self, root: str, silent: set[str]) -> list[Resource]:
        """Return what is served below a path; add groups without an answer to *silent*."""
        document = await self._get(root, _Document, accept=_AGGREGATED)
        if document.kind == "APIGroupDiscoveryList":
            silent.update(
                f"{group.metadata.name}/{version.version}"
                for group in document.items
                for version in group.versions
                if version.freshness == "Stale"  # its own server did not answer the API server
            )
            return list(_aggregated(document))
        resources: list[Resource] = []
        for group_version in _group_versions(document):
            try:
                listed = await self._get(f"{root}/{group_version}", _ResourceList)
            except NotFound:
                continue
            except ApiError:
                silent.add(group_version)  # its server is down; the others still count
                continue
            resources += _listed(group_version, listed)
        return resources

    async def _get(self, path: str, shape: type[S], accept: str = requests.JSON) -> S:
        request = requests.raw(path, accept)
        body = (await self._send(request)).body
        try:
            return msgspec.json.decode(body, type=shape)
        except msgspec.DecodeError as error:
            raise BadResponse(
                f"GET {path}: the response is not a discovery document: {error}; "
                "is a Kubernetes API server behind this address?"
            ) from error


class _Version(msgspec.Struct, rename="camel"):
    """A version of a group; the aggregated form also lists what it serves."""

    version: str = ""
    group_version: str = ""
    freshness: str = ""
    resources: list["_Served"] = []


class _Kind(msgspec.Struct):
    kind: str = ""


class _Served(msgspec.Struct, rename="camel"):
    resource: str
    scope: str = ""
    response_kind: _Kind | None = None


class _Name(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct, rename="camel"):
    metadata: _Name = msgspec.field(default_factory=_Name)
    versions: list[_Version] = []
    preferred_version: _Version | None = None


class _Document(msgspec.Struct):
    """What ``/api`` and ``/apis`` return: one of three kinds, distinguished by `kind`."""

    kind: str
    items: list[_Group] = []
    groups: list[_Group] = []
    versions: list[str] = []


class _Listed(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool


class _ResourceList(msgspec.Struct):
    resources: list[_Listed] | None = None


def _aggregated(document: _Document) -> Iterator[Resource]:
    for group in document.items:
        for version in group.versions:
            for entry in version.resources:
                if entry.response_kind is not None and entry.response_kind.kind:
                    yield Resource(
                        group.metadata.name,
                        version.version,
                        entry.response_kind.kind,
                        entry.resource,
                        namespaced=entry.scope == "Namespaced",
                    )


def _group_versions(document: _Document) -> Iterator[str]:
    """Yield the versions of the core group, or of every other one, preferred ones first."""
    yield from document.versions
    for group in document.groups:
        preferred = group.preferred_version.group_version if group.preferred_version else ""
        names = (version.group_version for version in group.versions)
        yield from sorted(names, key=lambda name: name != preferred)


def _listed(group_version: str, document: _ResourceList) -> Iterator[Resource]:
    group, _, version = group_version.rpartition("/")
    for entry in document.resources or ():
        if "/" not in entry.name:  # those are subresources
            yield Resource(group, version, entry.kind, entry.name, namespaced=entry.namespaced)
