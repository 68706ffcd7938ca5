"""Removes an issuer's credentials from the messages of its author's code. Pure.

Libraries quote what they were given: a header that is not allowed, a URL with its user. What
``check`` and ``sign`` raise becomes a status that many may read, so the values that came out
of Secrets are removed from it.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace as replace_struct

from certwright.issuer.sign.result import SignResult
from certwright.issuer.spec import SecretData, SecretKey

HIDDEN = "[redacted]"
SHORTEST = 6
"""Characters; a shorter value is hardly a credential, and removing it would spoil words."""
SHORTEST_LINE = 16


def redact_spec(text: str, spec: object) -> str:
    """Return *text* without what a resolved spec took from Secrets."""
    for secret in sorted(set(_texts(spec)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def redact_result(result: SignResult, spec: object) -> SignResult:
    """Return a result without what a resolved spec took from Secrets."""
    condition = result.condition
    if condition is not None:
        condition = replace_struct(condition, message=redact_spec(condition.message, spec))
    return dataclasses.replace(result, text=redact_spec(result.text, spec), condition=condition)


def _texts(value: Any) -> Iterator[str]:
    """Yield the values of Secrets in a spec, and the lines of those that have several."""
    match value:
        case SecretKey():
            yield from _parts(str(value))
        case SecretData():
            for data in value.values():
                yield from _parts(data.decode(errors="ignore"))
        case Struct():
            for name in value.__struct_fields__:
                yield from _texts(getattr(value, name))
        case dict():
            for one in value.values():
                yield from _texts(one)
        case list() | tuple() | set() | frozenset():
            for one in value:
                yield from _texts(one)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                yield from _texts(getattr(value, field.name))


def _parts(text: str) -> Iterator[str]:
    whole = text.strip()
    if len(whole) >= SHORTEST:
        yield whole
    yield from (line for line in map(str.strip, whole.splitlines()) if len(line) >= SHORTEST_LINE)
