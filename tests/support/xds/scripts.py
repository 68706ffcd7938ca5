"""Random scripts of requests, sent to two servers; what their clients learn is compared.

Servers may differ in how often they say the same. So each response is reduced to what is news for
its client: what it has not got, and did not reject before. What is left out is counted by the reason
why, and only reasons that are declared are allowed.
"""

import asyncio
import base64
import hashlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tests.support.xds.client import ADS, DELTA, Client, Served, connected, request

from certwright.tls.certificates import TlsFiles
from certwright.xds.messages import (
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
    DiscoveryResponse,
)
from certwright.xds.snapshot import NodeKey, NodeSnapshot, ResourceSet, resource
from certwright.xds.typeurls import CLUSTER, FULL_STATE, LISTENER, ROUTES, SECRET
from certwright.xds.wire import text_field, wrapped

NAMES = ("a", "b", "c")
VALUES = ("1", "2", "3", "bad1", "bad2")
TYPES = (CLUSTER, LISTENER, SECRET, ROUTES)
STEPS = 12
LATE_SECONDS = 60.0
"""So long a server may take for what the other has sent."""
BETWEEN_SECONDS = 0.1
"""So long is waited between looks for it: a server may take frequent pings for an attack."""
GRACE_SECONDS = 0.02
"""So long is waited for what the other has not sent. What comes later fails the next step."""

AGAIN = "the client has it already"
REJECTED = "the client rejected it before, on this stream"
TOGETHER = "the client rejected it before, on this stream, with others"
NOTHING = "it has no resource, and of this type that says nothing"
NEVER = "it removes what the client has not got"

Contents = dict[str, bytes]


class News(NamedTuple):
    """What a response tells its client: resources that come, good or bad, and that go."""

    came: tuple[tuple[str, bytes], ...]
    went: tuple[str, ...] = ()


def encoded(type_url: str, name: str, value: str) -> bytes:
    """Return a message of a type, as small as one with a name and a value can be."""
    match type_url.rpartition(".")[2]:
        case "Secret":
            content = wrapped(4, wrapped(1, text_field(3, value)))
        case "RouteConfiguration":
            content = text_field(5, value)
        case _:
            content = text_field(28, value)
    return text_field(1, name) + content


def name_of(message: bytes) -> str:
    """Return the name that such a message begins with."""
    return message[2 : 2 + message[1]].decode()


class ComparedServer(Protocol):
    """A server that scripts are sent to."""

    name: str

    async def publish(self, node: str, type_url: str, contents: Contents) -> None:
        """Have it serve what a node shall have of a type."""
        ...

    def connect(self) -> Any:
        """Return a context with a client of it."""
        ...

    async def rest(self, client: Client, /) -> None:
        """Return when it has probably handled what the client sent."""
        ...


def version_of(contents: Contents) -> str:
    return hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:12]


class OurServer:
    """The discovery server of this package."""

    def __init__(self, served: Served, name: str = "ours") -> None:
        self.name = name
        self._served = served
        self._files = served.ca.client("shop")

    async def publish(self, node: str, type_url: str, contents: Contents) -> None:
        resources = [resource(type_url, name, body) for name, body in contents.items()]
        made = ResourceSet(type_url, resources, version_of(contents))
        self._served.snapshots.put(NodeKey("shop", node), NodeSnapshot([made]))

    def connect(self) -> Any:
        return self._served.client(self._files)

    async def rest(self, client: Client, /) -> None:
        # The answer to the first ping may overtake responses; the second is sent after them.
        await client.ping()
        await client.ping()


class GoControlPlane:
    """go-control-plane, which is told on its standard input what to serve."""

    name = "go-control-plane"

    def __init__(
        self, process: asyncio.subprocess.Process, files: TlsFiles, authority: bytes
    ) -> None:
        self._process = process
        self._files = files
        self._authority = authority
        self._turn = asyncio.Lock()
        self.port = 0

    async def line(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(await self._process.stdout.readline())

    async def publish(self, node: str, type_url: str, contents: Contents) -> None:
        found = {name: base64.b64encode(body).decode() for name, body in contents.items()}
        group = {"version": version_of(contents), "resources": found}
        async with self._turn:
            assert self._process.stdin is not None
            line = json.dumps({"node": node, "types": {type_url: group}})
            self._process.stdin.write(f"{line}\n".encode())
            assert (await self.line())["served"]

    def connect(self) -> Any:
        return connected(self.port, self._files, self._authority)

    async def rest(self, _client: Client, /) -> None:
        # A ping would say nothing of its streams, and after a few it ends the connection.
        await asyncio.sleep(GRACE_SECONDS)


@asynccontextmanager
async def go_control_plane_server(
    binary: Path, served: Served, folder: Path
) -> AsyncIterator[GoControlPlane]:
    """Run go-control-plane with certificates of the authority of a server of ours."""
    pair = served.ca.server()
    files = {
        "server/tls.crt": pair.certificate, "server/tls.key": pair.key, "ca/tls.crt": served.ca.pem,
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    process = await asyncio.create_subprocess_exec(
        binary, "0", folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        found = GoControlPlane(process, served.ca.client("shop"), served.ca.pem)
        found.port = (await found.line())["port"]
        yield found
    finally:
        process.kill()
        await process.wait()


class ScriptClient:
    """A client as Envoy is one: takes what is good, and rejects a response that has bad parts."""

    def __init__(self, server: ComparedServer, node: str, type_url: str, *, delta: bool) -> None:
        self.server = server
        self.left_out: Counter[str] = Counter()
        """Why something in a response was no news."""
        self.names: frozenset[str] = frozenset()
        self.have: Contents = {}
        self._complete = False
        """Whether a response of a type that is sent whole has come."""
        self._node = node
        self._type_url = type_url
        self._delta = delta
        self._versions: dict[str, str] = {}
        self._version = self._nonce = ""
        self._rejected: set[object] = set()
        self._alone: set[tuple[str, bytes]] = set()
        """What was rejected with nothing that could have been the cause instead."""
        self._accepted: Contents = {}
        """What it has of responses that were accepted."""
        self._withheld = False
        self._stack = AsyncExitStack()

    async def begin(self, names: frozenset[str]) -> None:
        """Connect, and ask for names; none are asked for of types that are sent whole."""
        await self._stack.aclose()
        self._client: Client = await self._stack.enter_async_context(self.server.connect())
        self._call = self._client.call(DELTA if self._delta else ADS)
        self.names, self._nonce = names, ""
        self._rejected.clear()
        self._alone.clear()
        self._accepted.clear()
        self._withheld = False
        self.have = {name: body for name, body in self.have.items() if not names or name in names}
        if self._delta:
            held = {name: self._versions[name] for name in self.have}
            self._send_delta(subscribe=names, held=held)
        else:
            self._send_state()

    async def close(self) -> None:
        await self._stack.aclose()

    def rename(self, names: frozenset[str]) -> None:
        """Ask for other names from now on."""
        new, gone = names - self.names, self.names - names
        self.names = names
        self.have = {name: body for name, body in self.have.items() if name in names}
        self._accepted = {n: body for n, body in self._accepted.items() if n in names}
        if self._delta:
            self._send_delta(subscribe=new, unsubscribe=gone)
        else:  # without the error it would accept what it has not answered
            self._send_state("still bad" if self._withheld else None)
            self._withheld = False

    def insist(self) -> None:
        """Say what was withheld: a server that repeats itself would do so without end."""
        if self._withheld:
            self._withheld = False
            self._answer("still bad")

    async def news(self) -> list[News]:
        """Return what was learned since, when nothing more comes."""
        found: list[News] = []
        while True:
            await self.server.rest(self._client)
            arrived = self._client.arrived(self._call)
            if not arrived:
                return found
            found += [news for each in arrived if (news := self._take(each)) is not None]

    # Requests

    def _send_state(self, error: str | None = None) -> None:
        fields = {"version_info": self._version, "response_nonce": self._nonce, "error": error}
        names = sorted(self.names)
        self._client.send(self._call, request(self._type_url, self._node, *names, **fields))

    def _send_delta(
        self,
        *,
        subscribe: frozenset[str] = frozenset(),
        unsubscribe: frozenset[str] = frozenset(),
        held: dict[str, str] | None = None,
        nonce: str = "",
        error: str | None = None,
    ) -> None:
        message = DeltaDiscoveryRequest(
            type_url=self._type_url,
            resource_names_subscribe=sorted(subscribe),
            resource_names_unsubscribe=sorted(unsubscribe),
            response_nonce=nonce,
        )
        message.node.id = self._node
        message.initial_resource_versions.update(held or {})
        if error is not None:
            message.error_detail.message = error
        self._client.send(self._call, message)

    def _answer(self, error: str | None) -> None:
        if self._delta:
            self._send_delta(nonce=self._nonce, error=error)
        else:
            self._send_state(error)

    # Responses

    def _take(self, message: bytes) -> News | None:
        if self._delta:
            return self._take_delta(message)
        response = DiscoveryResponse.FromString(message)
        self._nonce = response.nonce
        found = {name_of(one.value): bytes(one.value) for one in response.resources}
        take = self._take_whole if self._type_url in FULL_STATE else self._take_named
        return take(found, response.version_info)

    def _take_whole(self, found: Contents, version: str) -> News | None:
        content = frozenset(found.items())
        if any(b"bad" in body for body in found.values()):
            if not self._reject({content}):
                self.left_out[REJECTED] += 1
                return None
            return News(tuple(sorted(found.items())))
        again = self._complete and found == self.have
        self.have, self._version, self._complete = found, version, True
        self._answer(None)
        if again:
            self.left_out[AGAIN] += 1
            return None
        return News(tuple(sorted(found.items())))

    def _take_named(self, found: Contents, version: str) -> News | None:
        if not found:
            self.left_out[NOTHING] += 1
        fresh = self._fresh(found)
        bad = self._keep(found)
        if bad:
            self._reject(bad)
        else:
            self._version = version
            self._answer(None)
        return News(tuple(sorted(fresh.items()))) if fresh else None

    def _take_delta(self, message: bytes) -> News | None:
        response = DeltaDiscoveryResponse.FromString(message)
        self._nonce = response.nonce
        found = {one.name: bytes(one.resource.value) for one in response.resources}
        gone = [name for name in response.removed_resources if name in self.have]
        if len(gone) < len(response.removed_resources):
            self.left_out[NEVER] += 1
        if not found and not response.removed_resources:
            self.left_out[NOTHING] += 1
        fresh = self._fresh(found)
        bad = self._keep(found)
        kept = [one for one in response.resources if (one.name, found[one.name]) not in bad]
        self._versions.update({one.name: one.version for one in kept})
        for name in gone:
            del self.have[name]
            self._accepted.pop(name, None)
        if bad:
            self._reject(bad)
        else:
            self._answer(None)
        if not fresh and not gone:
            return None
        return News(tuple(sorted(fresh.items())), tuple(sorted(gone)))

    def _keep(self, found: Contents) -> set[tuple[str, bytes]]:
        """Take the good parts; return the bad ones."""
        bad = {(name, body) for name, body in found.items() if b"bad" in body}
        self.have.update({name: body for name, body in found.items() if b"bad" not in body})
        unsure = {one for one in found.items() if self._accepted.get(one[0]) != one[1]}
        if not bad:
            self._accepted.update(found)
            return bad
        for name, _ in unsure:
            self._accepted.pop(name, None)
        if len(unsure) == 1 and not bad <= self._rejected:
            self._alone |= bad
        return bad

    def _fresh(self, found: Contents) -> Contents:
        """Return the resources that are news; count the others."""
        fresh = {}
        for name, body in found.items():
            if self.have.get(name) == body:
                self.left_out[AGAIN] += 1
            elif (name, body) in self._rejected:
                self.left_out[REJECTED if (name, body) in self._alone else TOGETHER] += 1
            else:
                fresh[name] = body
        return fresh

    def _reject(self, bad: set[Any]) -> bool:
        """Reject; return False if all of it was rejected before, so that nothing is said yet."""
        if bad <= self._rejected:
            self._withheld = True
            return False
        self._rejected |= bad
        self._answer(f"cannot use {len(bad)}")
        return True


class Script:
    """One random script, played to two servers at once."""

    def __init__(self, seed: int, servers: tuple[ComparedServer, ComparedServer]) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - seeded
        self._type_url = self._rng.choice(TYPES)
        self.delta = self._rng.random() < 0.5
        self.log = [f"seed {seed}: {self._type_url}, {'delta' if self.delta else 'whole states'}"]
        self.clients = [
            ScriptClient(server, f"node-{seed}", self._type_url, delta=self.delta)
            for server in servers
        ]
        self._node = f"node-{seed}"

    async def play(self) -> None:
        """Play it; fail at the first step after which the clients know different things."""
        try:
            if self._rng.random() < 0.7:
                await self._publish()
            await self._begin()
            await self._compare()
            for _ in range(STEPS):
                await self._step()
                await self._compare()
        finally:
            for client in self.clients:
                await client.close()

    async def _step(self) -> None:
        action = self._rng.choice(["publish", "publish", "publish", "names", "again"])
        if action == "names" and self.clients[0].names:
            names = self._names()
            self.log.append(f"names {sorted(names)}")
            for client in self.clients:
                client.rename(names)
        elif action == "again" and self._rng.random() < 0.5:
            await self._begin()
        else:
            await self._publish()

    async def _begin(self) -> None:
        names = self.clients[0].names or self._names()
        self.log.append(f"connect for {sorted(names)}")
        for client in self.clients:
            await client.begin(names)

    def _names(self) -> frozenset[str]:
        if self._type_url in FULL_STATE:
            return frozenset()
        return frozenset(self._rng.sample(NAMES, self._rng.randint(1, len(NAMES))))

    async def _publish(self) -> None:
        chosen = self._rng.sample(NAMES, self._rng.randint(0, len(NAMES)))
        values = {name: self._rng.choice(VALUES) for name in sorted(chosen)}
        self.log.append(f"publish {values}")
        contents = {name: encoded(self._type_url, name, value) for name, value in values.items()}
        for client in self.clients:
            await client.server.publish(self._node, self._type_url, contents)
            client.insist()

    async def _compare(self) -> None:
        one, other = self.clients
        wanted, found = await one.news(), await other.news()
        loop = asyncio.get_running_loop()
        until = loop.time() + LATE_SECONDS
        while found != wanted and loop.time() < until:
            await asyncio.sleep(BETWEEN_SECONDS)
            for client in self.clients:
                client.insist()  # what was repeated may have come after the publication
            found += await other.news()
            wanted += await one.news()
        log = "\n".join(self.log)
        assert found == wanted, f"{log}\n{one.server.name}: {wanted}\n{other.server.name}: {found}"
        assert one.have == other.have, log
        self.log.append(f"  {wanted}")
