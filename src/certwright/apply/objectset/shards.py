"""Dividing an inventory over objects of the API, each of which ends at about a megabyte."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

SHARD_BYTES: Final = 700_000
"""How much of an inventory one object holds; the server's limit is 1.5 MiB with everything."""

T = TypeVar("T")


def fill(
    shards: Iterable[Sequence[T]],
    items: Iterable[T],
    size_of: Callable[[T], int],
    *,
    shard_bytes: int = SHARD_BYTES,
    first_bytes: int | None = None,
) -> list[list[T]]:
    """Return shards with items added in their order: first where there is room, then further ones.

    What is in a shard stays there. *first_bytes* is the room in the first one, if it differs.
    An item that is too large for any has one for itself.
    """
    rest = deque(items)
    filled: list[list[T]] = []
    for shard in shards:
        room = shard_bytes if filled or first_bytes is None else first_bytes
        filled.append(_filled(list(shard), rest, size_of, room))
    while rest:
        filled.append(_filled([], rest, size_of, shard_bytes))
    return filled


def _filled(
    shard: list[T], rest: deque[T], size_of: Callable[[T], int], shard_bytes: int
) -> list[T]:
    room = shard_bytes - sum(map(size_of, shard))
    while rest and ((room := room - size_of(rest[0])) >= 0 or not shard):
        shard.append(rest.popleft())
    return shard
