"""The record: an annotation of a workload with the digests of what its pods consume.

::

    {"key": "Xy3kPq0a", "sources": {"Secret/web-tls": {"*": "0Fb…", "@": "4711"}}}

By source it has the digest of all its contents (``*``), or one for each key that is consumed, and
the resourceVersion at which they were taken (``@``). Sources of another namespace are
``ConfigMap/namespace/name``. Annotations can be edited by everyone who may edit the workload, so
whatever cannot be read counts as no record: contents are then recorded anew, without a restart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson

from certwright.operators.rollout.workload import SourceRef

WHOLE: Final = "*"
VERSION: Final = "@"
ABSENT: Final = "-"
"""The only member of the part of a source that did not exist."""
LONGEST: Final = 64 * 1024
"""What is longer is not read; the API allows 256 KiB for all annotations together."""

Part: TypeAlias = Mapping[str, str]
"""Digests of one source by key, with its resourceVersion."""


@dataclass(frozen=True, slots=True)
class ContentRecord:
    """What the pods of a workload consume, as digests."""

    key: str
    """Which key the digests were made with."""
    sources: Mapping[str, Part] = field(default_factory=dict)

    def write(self) -> str:
        """Return the text of the annotation."""
        record = {
            "key": self.key,
            "sources": {name: dict(part) for name, part in self.sources.items()},
        }
        return orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode()

    def digests(self) -> list[tuple[str, str]]:
        """Return what each digest is of, and the digest."""
        return [
            (f"{source}:{key}", digest)
            for source, part in self.sources.items()
            for key, digest in part.items()
            if key != VERSION
        ]


def read_record(text: str | None) -> ContentRecord | None:
    """Read the annotation of a workload; None if there is none that can be read."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    match found:
        case {"key": str(key), "sources": dict(sources)} if all(map(_is_part, sources.values())):
            return ContentRecord(key, sources)
    return None


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(digest, str) for digest in value.values())


def source_name(ref: SourceRef, namespace: str) -> str:
    """Return how a record of a workload in a namespace names a source."""
    return f"{ref.kind}/{ref.name}" if ref.namespace == namespace else f"{ref.kind}/{ref.key}"
