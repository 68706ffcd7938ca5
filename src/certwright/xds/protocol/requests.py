"""Requests of discovery streams as values, read from their bytes and bounded."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from certwright.xds.messages import DeltaDiscoveryRequest, DiscoveryRequest, Undecodable, decode

WILDCARD: Final = "*"
LONGEST_NAME: Final = 4096
LONGEST_MESSAGE: Final = 2048
"""Of an error that a client reports: what is over it is cut off."""
_LONGEST_ID: Final = 253


class NodeInfo(NamedTuple):
    """What a client says of itself. Only the id matters, and only with its certificate."""

    id: str
    cluster: str = ""
    user_agent: str = ""


class StateRequest(NamedTuple):
    """A request of a state-of-the-world stream: all names that it wants, and its verdict."""

    type_url: str
    names: frozenset[str] = frozenset()
    nonce: str = ""
    version: str = ""
    error: str | None = None
    """Why the response with this nonce was rejected; None if it was not."""
    node: NodeInfo | None = None


class DeltaRequest(NamedTuple):
    """A request of a delta stream: names that come and go, what is held at first, its verdict."""

    type_url: str
    subscribe: frozenset[str] = frozenset()
    unsubscribe: frozenset[str] = frozenset()
    held: Mapping[str, str] = {}
    """Version by name of what the client has from an earlier stream."""
    nonce: str = ""
    error: str | None = None
    node: NodeInfo | None = None


def read_state_request(data: bytes) -> StateRequest:
    """Return the request that is encoded; `Undecodable` if none is."""
    found = decode(DiscoveryRequest, data)
    return StateRequest(
        type_url=_bounded(found.type_url),
        names=frozenset(map(_bounded, found.resource_names)),
        nonce=found.response_nonce,
        version=found.version_info,
        error=_error(found),
        node=_node(found),
    )


def read_delta_request(data: bytes) -> DeltaRequest:
    """Return the request that is encoded; `Undecodable` if none is."""
    found = decode(DeltaDiscoveryRequest, data)
    return DeltaRequest(
        type_url=_bounded(found.type_url),
        subscribe=frozenset(map(_bounded, found.resource_names_subscribe)),
        unsubscribe=frozenset(map(_bounded, found.resource_names_unsubscribe)),
        held=dict(found.initial_resource_versions),
        nonce=found.response_nonce,
        error=_error(found),
        node=_node(found),
    )


def _error(found: Any) -> str | None:
    if not found.HasField("error_detail"):
        return None
    text = found.error_detail.message or f"code {found.error_detail.code}"
    return str(text)[:LONGEST_MESSAGE]


def _node(found: Any) -> NodeInfo | None:
    if not found.HasField("node"):
        return None
    node = found.node
    if len(node.id) > _LONGEST_ID:
        raise Undecodable(f"a node-id of {len(node.id)} characters, at most {_LONGEST_ID} may be")
    version = node.user_agent_version
    if node.HasField("user_agent_build_version"):
        number = node.user_agent_build_version.version
        version = f"{number.major_number}.{number.minor_number}.{number.patch}"
    agent = f"{node.user_agent_name} {version}".strip()
    return NodeInfo(node.id, node.cluster[:_LONGEST_ID], agent[:_LONGEST_ID])


def _bounded(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise Undecodable(f"a name has {len(name)} characters, at most {LONGEST_NAME} may be")
    return name
