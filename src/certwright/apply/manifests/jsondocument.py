"""JSON documents, one after the other, in the same terms as YAML ones."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from certwright.apply.manifests.limits import Budget
from certwright.apply.manifests.scalars import json_number
from certwright.apply.manifests.yamldocument import DocumentError, Duplicate

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_LONGEST_INTEGER: Final = 20


def read_json(
    text: str, position: int, line: int, budget: Budget
) -> tuple[Any, list[Duplicate], int]:
    """Read the value at *position*, on *line*; return it, its duplicate keys, and its end.

    Of two equal keys the last one counts; their line is that of the document, which is all a
    JSON parser tells.

    Raises:
        DocumentError: there is no JSON value at this place, or it is too much.
    """
    duplicates: list[Duplicate] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            duplicates.extend(Duplicate(key, line) for key, count in counts.items() if count > 1)
        return built

    decoder = json.JSONDecoder(
        object_pairs_hook=build, parse_int=_integer, parse_float=_float, parse_constant=_refuse
    )
    try:
        value, end = decoder.raw_decode(text, position)
        _measure(value, budget, 1)
    except json.JSONDecodeError as error:
        at = line + text.count("\n", position, error.pos)
        raise DocumentError(f"not JSON: {error.msg}", at) from error
    except RecursionError as error:
        raise DocumentError(f"nested more than {budget.limits.depth} levels deep", line) from error
    except ValueError as error:  # LimitExceeded is one
        raise DocumentError(str(error), line) from error
    if _ESCAPED_SURROGATE.search(text, position, end):
        value = _mended(value)
    return value, duplicates, end


def skip_space(text: str, position: int) -> int:
    """Return where the next value may begin."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _integer(text: str) -> int | float:
    return json_number(int(text)) if len(text) <= _LONGEST_INTEGER else _float(text)


def _float(text: str) -> int | float:
    return json_number(float(text))


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number that JSON has")


def _measure(value: Any, budget: Budget, depth: int) -> None:
    """Count a value against the budget, level by level."""
    budget.check_depth(depth)
    budget.take_nodes()
    for part in _parts(value):
        _measure(part, budget, depth + 1)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _mended(value: Any) -> Any:
    """Replace halves of surrogate pairs, which no UTF-8 can carry."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(key): _mended(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_mended(part) for part in value]
    return value
