"""Keeps an issuer's credentials out of what its author's code says about them. Pure.

Libraries quote what they were given: a header that is not allowed, a URL with its user. What
``check`` and ``sign`` raise becomes a status that many may read, so the values that came out
of Secrets are taken out of it.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from certwright.issuer.secrets import SecretData, SecretKey
from certwright.issuer.sign.verdicts import Verdict

HIDDEN = "[redacted]"
SHORTEST = 6
"""Characters; what is shorter is no credential, and hiding it would spoil words."""
SHORTEST_LINE = 16


def discreet(text: str, spec: object) -> str:
    """Return *text* without what a resolved spec took from Secrets."""
    for secret in sorted(set(_texts(spec)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def discreet_verdict(verdict: Verdict, spec: object) -> Verdict:
    """Return a verdict whose words give nothing away."""
    condition = verdict.condition
    if condition is not None:
        condition = dataclasses.replace(condition, message=discreet(condition.message, spec))
    return dataclasses.replace(verdict, text=discreet(verdict.text, spec), condition=condition)


def _texts(value: Any) -> Iterator[str]:
    """Yield what must not be told: values, and lines of those that have several."""
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
