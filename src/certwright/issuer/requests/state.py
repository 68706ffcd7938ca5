"""What an author carries from one attempt to the next, kept in a condition of the request.

There it survives a restart, needs no permission beyond the status, and is written together
with the rest: an order that was placed is never half remembered.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from certwright.issuer.conditions import STATE
from certwright.kube import Condition, JsonObject

LIMIT = 8192
"""Bytes of JSON; the API server keeps every request in memory, so this is no place for data."""


def carried_condition(state: Mapping[str, Any]) -> Condition:
    """Return the condition that holds *state*."""
    text = orjson.dumps(dict(state), option=orjson.OPT_SORT_KEYS).decode()
    return Condition(type=STATE, status="True", reason="Carried", message=text)


def check_carried(state: Mapping[str, Any]) -> None:
    """Refuse what cannot be kept.

    Raises:
        ValueError: it is no JSON, or too large.
    """
    try:
        size = len(orjson.dumps(dict(state)))
    except TypeError as error:
        raise ValueError(f"the state of Pending is not JSON: {error}") from error
    if size > LIMIT:
        raise ValueError(f"the state of Pending has {size} bytes, more than {LIMIT}")


def carried(text: str) -> JsonObject:
    """Return what a condition holds; nothing if somebody wrote something else there."""
    try:
        state = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return state if isinstance(state, dict) else {}
