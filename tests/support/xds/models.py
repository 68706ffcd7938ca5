"""Clients as plain models of what Envoy does with responses, for simulations of the protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from certwright.xds.messages import DeltaDiscoveryResponse, DiscoveryResponse
from certwright.xds.protocol.observation import StreamResponse
from certwright.xds.protocol.requests import DeltaRequest, StateRequest
from certwright.xds.snapshot import NodeSnapshot, XdsResource, resource
from certwright.xds.typeurls import FULL_STATE

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a(type_url: str, name: str, content: str) -> XdsResource:
    """Return a resource whose version is its content, for tests that read."""
    return resource(type_url, name, content.encode(), version=content)


def snapshot(type_url: str, version: str = "", **contents: str) -> NodeSnapshot:
    found = [a(type_url, name, content) for name, content in contents.items()]
    return NodeSnapshot.of(found, {type_url: version} if version else None)


def contents_of(response: StreamResponse) -> list[str]:
    """Return the contents in a state-of-the-world response, read as a client reads them."""
    message = DiscoveryResponse.FromString(response.body + response.ending)
    assert message.nonce == response.nonce
    assert message.type_url == response.type_url
    assert message.version_info == response.version
    assert all(one.type_url == response.type_url for one in message.resources)
    return [one.value.decode() for one in message.resources]


def delta_of(response: StreamResponse) -> tuple[dict[str, str], list[str]]:
    """Return what a delta response brings and removes."""
    message = DeltaDiscoveryResponse.FromString(response.body + response.ending)
    assert message.nonce == response.nonce
    assert message.type_url == response.type_url
    for one in message.resources:
        assert one.resource.type_url == response.type_url
        assert one.resource.value.decode() == one.version
    return {one.name: one.version for one in message.resources}, list(message.removed_resources)


Judge = Callable[[Mapping[str, str]], str | None]
"""Why a client rejects resources, given version by name; None if it does not."""


def good_parts(found: Mapping[str, str], judge: Judge) -> dict[str, str]:
    return {name: value for name, value in found.items() if judge({name: value}) is None}


@dataclass
class StateClient:
    """A state-of-the-world client of one type; the contents of resources are ``name=value``."""

    type_url: str
    names: frozenset[str]
    judge: Judge
    version: str = ""
    nonce: str = ""
    have: dict[str, str] = field(default_factory=dict)
    partial: bool = False
    """Whether it takes the good parts of what it rejects."""

    def request(self, error: str | None = None) -> StateRequest:
        return StateRequest(self.type_url, self.names, self.nonce, self.version, error)

    def take(self, response: StreamResponse) -> StateRequest:
        """Apply a response as Envoy does, and return the verdict."""
        found = dict(text.split("=", 1) for text in contents_of(response))
        self.nonce = response.nonce
        error = self.judge(found)
        if error is not None:
            if self.partial:
                good = good_parts(found, self.judge)
                self.have.update(
                    {n: v for n, v in good.items() if not self.names or n in self.names}
                )
            return self.request(error)
        self.version = response.version
        if self.type_url in FULL_STATE:
            self.have = found
        else:
            self.have.update({name: value for name, value in found.items() if name in self.names})
        return self.request()

    def rename(self, names: frozenset[str]) -> StateRequest:
        self.names = names
        if self.type_url not in FULL_STATE:
            self.have = {name: value for name, value in self.have.items() if name in names}
        return self.request()

    def reconnect(self) -> StateRequest:
        """Begin a new stream: the version is kept, the nonce is not."""
        self.nonce = ""
        return self.request()


@dataclass
class DeltaClient:
    """A delta client of one type."""

    type_url: str
    names: frozenset[str]
    judge: Judge
    have: dict[str, str] = field(default_factory=dict)
    partial: bool = False

    def connect(self) -> DeltaRequest:
        return DeltaRequest(self.type_url, self.names, held=dict(self.have))

    def take(self, response: StreamResponse) -> DeltaRequest:
        added, removed = delta_of(response)
        error = self.judge(added)
        if error is None or self.partial:
            for name, value in good_parts(added, self.judge).items():
                if not self.names or name in self.names:
                    self.have[name] = value
            for name in removed:
                self.have.pop(name, None)
        return DeltaRequest(self.type_url, nonce=response.nonce, error=error)

    def change(self, names: frozenset[str]) -> DeltaRequest:
        gone, new = self.names - names, names - self.names
        self.names = names
        self.have = {name: value for name, value in self.have.items() if name not in gone}
        return DeltaRequest(self.type_url, new, gone)
