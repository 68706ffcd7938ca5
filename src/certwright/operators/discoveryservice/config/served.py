"""What a replica serves for a node, and what it served before."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from certwright.operators.discoveryservice.config.assembly import SourceProblem
from certwright.xds.schema.errors import FieldProblem

_REMEMBERED: Final = 20
_PAIRS: Final = 400


@dataclass(frozen=True, slots=True)
class ServedConfig:
    """What is served for one node."""

    version: str
    """Of the revision."""
    types: Mapping[str, str]
    """The version of each type of resources."""
    generated: frozenset[str] = frozenset()
    """Types of which some resources are made of other objects, and change without the revision."""
    missing: tuple[SourceProblem, ...] = ()
    """Objects of which no resource could be made; Envoys keep what they had of them."""
    refused_version: str = ""
    """Of the revision that is published but cannot be served; empty if it is served."""
    refused: tuple[FieldProblem, ...] = ()
    """Why it cannot."""

    @property
    def written(self) -> Mapping[str, str]:
        """The versions of types that the revision alone decides about."""
        return {url: one for url, one in self.types.items() if url not in self.generated}


@dataclass(slots=True)
class ServedHistory:
    """Which versions of types were served for which revision: Envoys may still hold them."""

    _versions: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)

    def note(self, served: ServedConfig) -> None:
        """Take note of what is served now."""
        pairs = self._versions.pop(served.version, {})
        pairs.update(dict.fromkeys(served.types.items()))
        while len(pairs) > _PAIRS:
            del pairs[next(iter(pairs))]
        self._versions[served.version] = pairs
        while len(self._versions) > _REMEMBERED:
            del self._versions[next(iter(self._versions))]

    @property
    def pairs(self) -> Mapping[str, Collection[tuple[str, str]]]:
        """What was served, by version; the newest last."""
        return self._versions
