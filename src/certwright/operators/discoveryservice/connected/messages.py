"""How those are named who have not shown their certificate."""

from typing import Final

from certwright.operators.discoveryservice.connected.attendance import EnvoyId

_LONGEST: Final = 100


def late_envoy(envoy: EnvoyId) -> str:
    """Return the name of an Envoy; a node-id is as long as its owner likes."""
    name = f"Envoy {envoy.node}"
    shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return f"{shown} at {envoy.host}"


def other_envoys(number: int, namespace: str, pod: str) -> str:
    """Return a name for the Envoys of a namespace that a report does not name."""
    return f"{number} other Envoys of namespace {namespace} at Pod {pod}"


def envoys_of(namespace: str, pod: str) -> str:
    """Return a name for all Envoys of a namespace that are connected to a pod."""
    return f"Envoys of namespace {namespace} at Pod {pod}"


def server_of(pod: str) -> str:
    """Return a name for the discovery server in a pod."""
    return f"Pod {pod}"
