"""Rules that came after the code: each layer has as many offences as are listed, or fewer."""

from collections import defaultdict
from collections.abc import Iterable

from tests.architecture.conftest import Module


class Offences:
    """How many offences against a rule are left per layer; a layer not named has none.

    The numbers only go down. Whoever mends some lowers them, in the same commit.
    """

    def __init__(self, **left: int) -> None:
        self._left = left

    def check(self, found: Iterable[tuple[Module, str]]) -> None:
        """Fail if a layer has more offences than are left to it."""
        by_layer: dict[str, list[str]] = defaultdict(list)
        for module, offence in found:
            by_layer[module.layer].append(offence)
        new = [
            f"{layer} has {len(offences)}, {self._left.get(layer, 0)} are known:\n  "
            + "\n  ".join(offences)
            for layer, offences in by_layer.items()
            if len(offences) > self._left.get(layer, 0)
        ]
        assert not new, "\n".join(new)
