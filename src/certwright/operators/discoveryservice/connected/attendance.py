"""Who is connected, who left a moment ago, and who of them is late; pure.

An Envoy that leaves one pod connects to another within moments. Until that one has reported it, the
first must not say that all have shown their certificate. So an Envoy that left is remembered for a
while, and a process that has just begun does not say that it knows all.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from certwright.xds.observations import ShownCertificate
from certwright.xds.snapshot import NodeKey

HOLD_SECONDS: Final = 60.0
"""For how long an Envoy that left still counts: it tries to connect again within 30 seconds."""


class EnvoyId(NamedTuple):
    """An Envoy, whichever connection it has: its node, and the address it comes from."""

    node: NodeKey
    host: str


class Attendance:
    """The Envoys of one process since it *began*, in seconds that never go backwards."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._present: dict[EnvoyId, frozenset[str]] = {}
        self._left: dict[EnvoyId, tuple[frozenset[str], float]] = {}

    def look(self, shown: Iterable[ShownCertificate], now: float) -> None:
        """Take note of who is connected now."""
        present: dict[EnvoyId, frozenset[str]] = {}
        for one in shown:
            envoy = EnvoyId(one.node, one.peer.rpartition(":")[0] or one.peer)
            present[envoy] = present.get(envoy, frozenset()) | {one.serial}
        for envoy, serials in self._present.items():
            self._left[envoy] = (serials, now)
        self._left = {
            envoy: (serials, at)
            for envoy, (serials, at) in self._left.items()
            if envoy not in present and now - at < HOLD_SECONDS
        }
        self._present = present

    def late(self, asked: Mapping[str, str], *, connected: bool = False) -> list[EnvoyId]:
        """Return who has not shown what is asked for in its namespace, or something else besides.

        With *connected*, only those who are connected now.
        """
        known = dict(self._present)
        if not connected:
            known |= {envoy: serials for envoy, (serials, _) in self._left.items()}
        return sorted(
            envoy
            for envoy, serials in known.items()
            if (serial := asked.get(envoy.node.namespace)) and serials != {serial}
        )

    def is_settled(self, now: float) -> bool:
        """Return whether all who were connected before the process began had time to come back."""
        return now - self._began >= HOLD_SECONDS

    def sleep(self, now: float) -> float | None:
        """Return after how many seconds the time alone changes something; None if it does not."""
        times = [at for _, at in self._left.values()]
        if not self.is_settled(now):
            times.append(self._began)
        return max(min(times) + HOLD_SECONDS - now, 0.0) if times else None
