"""What an author's code raised, for the log: type, message, causes, and the author's own lines.

A status has room for a sentence; what its author needs to mend the code is in the log, once for
each cause. An issuer that fails does so for every request and at every attempt, so repeats are
counted, and told by the hour.
"""

import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from certwright.issuer.sign.redaction import redact_spec
from certwright.issuer.sign.result import text_of

MAX_CAUSES = 8
MAX_LINES = 8
MAX_MESSAGES = 5
"""How many messages of the same type from the same line are logged; the rest is counted."""
MAX_FAULTS = 256
"""How many causes are remembered in a process."""
REMIND_SECONDS = 3600.0
"""After how long a cause that goes on is logged once more, with the number of its repeats."""

_LIBRARY, _SHIPPED = "certwright", "certwright.issuers"
_PLACES = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
_INSTALLED = tuple({f"{place}/" for one in _PLACES for place in (one, one.resolve())})


@dataclass(frozen=True, slots=True)
class AuthorFault:
    """One exception of an author's code, without the values of Secrets."""

    type: str
    message: str
    causes: tuple[str, ...] = ()
    """What led to it, the nearest first, each with its type."""
    lines: tuple[str, ...] = ()
    """The author's own lines on the way to it, the innermost last."""

    @property
    def place(self) -> str:
        """Where in the author's code it happened; empty if it was outside."""
        return self.lines[-1] if self.lines else ""


def fault_of(
    error: BaseException, function: Callable[..., Any] | None, spec: object
) -> AuthorFault:
    """Describe what a function of an author raised; *spec* says which values are secret."""
    chain = list(_chain(error))
    lines = next((found for one in chain if (found := _own_lines(one, function))), [])
    return AuthorFault(
        type(error).__name__,
        redact_spec(text_of(error, names_types=False), spec),
        tuple(redact_spec(_named(one), spec) for one in chain[1 : MAX_CAUSES + 1]),
        tuple(redact_spec(line, spec) for line in lines[-MAX_LINES:]),
    )


def _named(error: BaseException) -> str:
    name, text = type(error).__name__, text_of(error, names_types=False)
    return text if text.startswith(name) else f"{name}: {text}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and what Python would show as its causes; of a group, its members too."""
    rest, known = [error], set[int]()
    while rest and len(known) <= MAX_CAUSES * 2:
        one = rest.pop(0)
        if id(one) in known:
            continue
        known.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            rest.extend(one.exceptions)
        if one.__cause__ is not None:
            rest.append(one.__cause__)
        elif one.__context__ is not None and not one.__suppress_context__:
            rest.append(one.__context__)


def _own_lines(error: BaseException, function: Callable[..., Any] | None) -> list[str]:
    """Return the lines of an exception's traceback that are the author's."""
    package = getattr(function, "__module__", "") or ""
    shown = []
    for frame, number in traceback.walk_tb(error.__traceback__):
        if _is_authors(frame, package):
            code = frame.f_code
            [summary] = traceback.StackSummary.extract([(frame, number)], capture_locals=False)
            line = f": {summary.line}" if summary.line else ""
            shown.append(f"{Path(code.co_filename).name}:{number} in {code.co_name}{line}")
    return shown


def _is_authors(frame: FrameType, package: str) -> bool:
    """Return whether a frame is the author's code: theirs wherever it is, no library's.

    An issuer that is installed as a package is known by the name of its function's package.
    """
    module = str(frame.f_globals.get("__name__", ""))
    if _is_in(module, _LIBRARY):
        return _is_in(module, _SHIPPED)
    if package and _is_in(module, package.partition(".")[0]):
        return True
    file = frame.f_code.co_filename
    return not file.startswith((*_INSTALLED, "<frozen"))


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@dataclass(slots=True)
class _Known:
    repeats: int = 0
    told: float = 0.0


class FaultLog:
    """Decides which faults are told: each cause once, and again after an hour of repeats."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], _Known] = {}
        self._messages: dict[tuple[str, ...], set[str]] = {}

    def repeats(self, function: str, issuer: str, fault: AuthorFault, now: float) -> int | None:
        """Count a fault; return how often it was held back since it was told, None to be silent.

        *now* is by the monotonic clock. Messages that differ each time, because they hold a number
        or a date, count as one after the first few.
        """
        spot = (function, issuer, fault.type, fault.place)
        messages = self._messages.setdefault(spot, set())
        if fault.message not in messages and len(messages) < MAX_MESSAGES:
            messages.add(fault.message)
        message = fault.message if fault.message in messages else ""
        known = self._known.pop((*spot, message), None)
        is_due = known is None or now - known.told >= REMIND_SECONDS
        held = known.repeats if known is not None else 0
        self._known[*spot, message] = (
            _Known(0, now) if is_due else _Known(held + 1, known.told if known else now)
        )
        if len(self._known) > MAX_FAULTS:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._messages.pop(oldest[:-1], None)
        return held if is_due else None
