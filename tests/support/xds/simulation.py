"""Random scripts: a model client and the protocol, with messages of both under way at once.

What must hold whatever happens: a stream never sends what its client rejected by itself, it falls
silent, and once the configuration is good the client has exactly what it shall have, whether or not
it took the good parts of what it rejected.
"""

import random
from collections import deque
from collections.abc import Mapping
from typing import Any

from tests.support.xds.models import NOW, DeltaClient, StateClient, contents_of, delta_of, snapshot

from certwright.xds.protocol.delta import DeltaStream
from certwright.xds.protocol.observation import StreamResponse
from certwright.xds.protocol.stateoftheworld import StateStream
from certwright.xds.snapshot import NodeSnapshot
from certwright.xds.typeurls import CLUSTER, FULL_STATE, LISTENER, ROUTES, SECRET

NAMES = ("a", "b", "c", "d")


def judge(found: Mapping[str, str]) -> str | None:
    bad = [name for name, value in found.items() if "bad" in value]
    return f"cannot use {bad}" if bad else None


class World:
    """A stream, a client, and what is under way between them."""

    def __init__(self, rng: random.Random, *, delta: bool) -> None:
        self.rng = rng
        self.delta = delta
        self.type_url = rng.choice([CLUSTER, LISTENER, SECRET, ROUTES])
        named = self.type_url not in FULL_STATE
        self.names = self.some_names() if named else frozenset[str]()
        kind: Any = DeltaClient if delta else StateClient
        self.client = kind(self.type_url, self.names, judge, partial=rng.random() < 0.5)
        self.snapshot: NodeSnapshot | None = None
        self.changes = 0
        self.log: list[str] = []
        self.connect()

    def some_names(self) -> frozenset[str]:
        return frozenset(self.rng.sample(NAMES, self.rng.randint(1, 3)))

    def connect(self) -> None:
        self.log.append("connect")
        self.stream: Any = DeltaStream() if self.delta else StateStream()
        self.stream.update(self.snapshot)
        self.to_server: deque[Any] = deque()
        self.to_client: deque[StreamResponse] = deque()
        self.rejected: set[tuple[str, str]] = set()
        self.sent = 0
        self.changes_here = 1
        first = self.client.connect() if self.delta else self.client.reconnect()
        self.to_server.append(first)

    def publish(self, values: Mapping[str, str]) -> None:
        self.log.append(f"publish {values}")
        # The content says the name, so that a client can tell what it was sent.
        contents = {n: v if self.delta else f"{n}={v}" for n, v in values.items()}
        self.snapshot = snapshot(self.type_url, **contents)
        if not values:
            self.snapshot = snapshot("other", x="1")
        self.stream.update(self.snapshot)
        self.changes_here += 1

    def step(self) -> None:
        action = self.rng.choice(
            [
                "publish",
                "poll",
                "poll",
                "server",
                "server",
                "client",
                "client",
                "names",
                "reconnect",
            ]
        )
        if action == "publish":
            chosen = self.rng.sample(NAMES, self.rng.randint(0, 4))
            self.publish({n: self.rng.choice(["1", "2", "3", "bad1", "bad2"]) for n in chosen})
        elif action == "names" and self.names:
            self.names = self.some_names()
            self.log.append(f"names {sorted(self.names)}")
            change = self.client.change if self.delta else self.client.rename
            self.to_server.append(change(self.names))
            self.changes_here += 1
        elif action == "reconnect" and self.rng.random() < 0.2:
            self.connect()
        else:
            self.move(action)

    def move(self, action: str) -> bool:
        """Move one message; return whether one moved."""
        if action == "poll":
            response = self.stream.next_response(NOW)
            if response is not None:
                self.check(response)
                self.to_client.append(response)
                return True
        if action == "server" and self.to_server:
            self.stream.receive(self.to_server.popleft(), NOW)
            return True
        if action == "client" and self.to_client:
            response = self.to_client.popleft()
            verdict = self.client.take(response)
            self.log.append(f"client {self.contents(response)}: {verdict.error}")
            if verdict.error is not None:
                self.rejected |= self.keys(response) if len(self.keys(response)) == 1 else set()
            self.to_server.append(verdict)
            return True
        return False

    def contents(self, response: StreamResponse) -> dict[str, str]:
        if self.delta:
            return delta_of(response)[0]
        return dict(text.split("=", 1) for text in contents_of(response))

    def keys(self, response: StreamResponse) -> set[tuple[str, str]]:
        contents = self.contents(response)
        if self.delta or self.type_url not in FULL_STATE:
            return set(contents.items())
        return {("", repr(sorted(contents.items())))}

    def check(self, response: StreamResponse) -> None:
        assert not self.keys(response) & self.rejected, "\n".join(self.log)
        self.sent += 1
        # Each change of either side brings one response at most, and a rejection one more.
        assert self.sent <= 2 * self.changes_here, "\n".join(self.log)

    def settle(self) -> None:
        for _ in range(1000):
            moved = [self.move(action) for action in ("server", "poll", "client")]
            if not any(moved):
                return
        raise AssertionError("it does not end:\n" + "\n".join(self.log))


def converge(seed: int, kind: str) -> None:
    """Play a random script, then publish what is good; fail unless the client comes to have it."""
    world = World(random.Random(seed), delta=kind == "delta")  # noqa: S311 - seeded
    for _ in range(60):
        world.step()
    world.settle()
    # Some of it is new, some was perhaps seen before: also beside what was rejected.
    final = {name: world.rng.choice(["1", "2", "good"]) for name in world.rng.sample(NAMES, 3)}
    world.publish(final)
    world.settle()
    wanted = {n: v for n, v in final.items() if not world.names or n in world.names}
    have = world.client.have
    if not world.delta and world.names:  # that a named resource is gone cannot be said
        have = {name: value for name, value in have.items() if name in wanted}
    log = "\n".join([f"seed {seed}", *world.log])
    assert have == wanted, log
    [seen] = world.stream.observe()
    assert seen.in_sync or not wanted, (seen, log)
