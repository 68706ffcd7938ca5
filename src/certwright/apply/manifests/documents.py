"""A stream of manifests as documents: where each begins, what it holds, what is wrong with it.

Documents are separated by lines that begin with ``---``. A document that begins with ``{`` is
read as JSON, of which several may follow each other without a separator; if it is not JSON after
all, as YAML. A bad document does not affect the others.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from certwright.apply.manifests.limits import Budget, LimitExceeded
from certwright.apply.manifests.scalars import json_number
from certwright.apply.manifests.yamldocument import DocumentError, DuplicateKey, read_yaml

_SEPARATOR: Final = re.compile(r"^---(.*)$", re.MULTILINE)
_REMARK: Final = re.compile(r"\s*(#.*)?")
_STATEMENT: Final = re.compile(r"^[ \t\r]*[^\s#]", re.MULTILINE)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_LONGEST_INTEGER: Final = 20


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a stream: its position, and its value or the problem with it."""

    index: int
    line: int
    value: Any = None
    problem: str = ""
    duplicates: tuple[DuplicateKey, ...] = ()


class _Chunk(NamedTuple):
    """The text of a document and the line it begins at."""

    text: str
    line: int
    separator: str = ""
    """What follows the dashes and should not."""


def read_documents(text: str, budget: Budget) -> list[Document]:
    """Read all documents, good and bad. An exceeded limit is the problem of the last one."""
    documents: list[Document] = []
    try:
        for chunk in _chunks(text):
            for document in _documents(chunk, len(documents), budget):
                budget.take_document()
                documents.append(document)
    except LimitExceeded as error:
        line = documents[-1].line if documents else 1
        documents.append(Document(len(documents), line, problem=str(error)))
    return documents


def _chunks(text: str) -> Iterator[_Chunk]:
    """Split a stream as kubectl does.

    A separator with nothing before it belongs to the document it begins. So one at the very
    beginning, or two in a row, make no empty document, yet three do, and count.
    """
    start, line, separator, begun = 0, 1, "", False
    for match in _SEPARATOR.finditer(text):
        before = text[start : match.start()]
        if before or separator or begun:
            yield _Chunk(before, line, separator)
            begun = False
        else:
            begun = True
        line += before.count("\n") + 1
        start = min(match.end() + 1, len(text))
        separator = "" if _REMARK.fullmatch(match[1]) else match[1].strip()
    if start < len(text) or separator or begun:
        yield _Chunk(text[start:], line, separator)


def _documents(chunk: _Chunk, index: int, budget: Budget) -> Iterator[Document]:
    if chunk.separator:
        # What follows is not quoted: it may be part of a Secret, cut off by mistake.
        problem = "invalid document separator: more than --- on its line"
        yield Document(index, max(chunk.line - 1, 1), problem=problem)
        return
    position = skip_space(chunk.text, 0)
    line = chunk.line + chunk.text.count("\n", 0, position)
    objects = 0
    try_json = chunk.text.startswith("{", position) and _may_be_json(chunk.text, budget)
    while try_json and chunk.text.startswith("{", position):
        try:
            value, duplicates, end = read_json(chunk.text, position, line, budget)
        except DocumentError as error:
            if objects < 2:
                break  # a flow mapping that only looks like JSON
            yield Document(index + objects, error.line, problem=error.problem)
            return
        yield Document(index + objects, line, value, duplicates=tuple(duplicates))
        objects += 1
        end = skip_space(chunk.text, end)
        line += chunk.text.count("\n", position, end)
        position = end
        if position == len(chunk.text):
            return
    yield _yaml_document(chunk, index + objects, position if objects else 0, budget)


def _yaml_document(chunk: _Chunk, index: int, position: int, budget: Budget) -> Document:
    before = chunk.text.count("\n", 0, position)
    text = chunk.text[position:]
    try:
        value, duplicates = read_yaml(text, budget)
    except DocumentError as error:
        return Document(index, _line(chunk, before + error.line), problem=error.problem)
    moved = tuple(
        DuplicateKey(twice.key, _line(chunk, before + twice.line)) for twice in duplicates
    )
    return Document(index, _line(chunk, before + _first_line(text)), value, duplicates=moved)


def _first_line(text: str) -> int:
    """Return the first line of a document that is neither blank nor a comment."""
    match = _STATEMENT.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def _may_be_json(text: str, budget: Budget) -> bool:
    """Return whether a document is worth a try as JSON.

    A JSON parser counts nothing before everything is built. A text with more brackets than values
    are allowed is left to the YAML parser, which counts while it builds.
    """
    return text.count("[") + text.count("{") <= budget.limits.nodes


def _line(chunk: _Chunk, line: int) -> int:
    return chunk.line + line - 1


# JSON, in the same terms as YAML


def read_json(
    text: str, position: int, line: int, budget: Budget
) -> tuple[Any, list[DuplicateKey], int]:
    """Read the value at *position*, on *line*; return it, its duplicate keys, and its end.

    Of two equal keys the last one counts; their line is that of the document, since a JSON parser
    gives no other. Raises `DocumentError` if this is not JSON, or exceeds a limit.
    """
    duplicates: list[DuplicateKey] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            duplicates.extend(DuplicateKey(key, line) for key, count in counts.items() if count > 1)
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
    raise ValueError(f"{text} is not a number in JSON")


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
