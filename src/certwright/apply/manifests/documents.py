"""A stream of manifests as documents: where each begins, what it holds, what is wrong with it.

Documents are separated by lines that begin with ``---``. A document that begins with ``{`` is
read as JSON, of which several may follow each other without a separator; if it is none after
all, as YAML. One bad document does not spoil the others.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from certwright.apply.manifests.jsondocument import read_json, skip_space
from certwright.apply.manifests.limits import Budget, LimitExceeded
from certwright.apply.manifests.yamldocument import DocumentError, Duplicate, read_yaml

_SEPARATOR: Final = re.compile(r"^---(.*)$", re.MULTILINE)
_REMARK: Final = re.compile(r"\s*(#.*)?")
_STATEMENT: Final = re.compile(r"^[ \t\r]*[^\s#]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a stream: its place, and its value or the problem with it."""

    index: int
    line: int
    value: Any = None
    problem: str = ""
    duplicates: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The text of a document and the line it begins at."""

    text: str
    line: int
    separator: str = ""
    """What follows the dashes and should not."""


def read_documents(text: str, budget: Budget) -> list[Document]:
    """Read all documents, good and bad. When a limit is hit, the last document says so."""
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
        problem = f"invalid document separator: ---{chunk.separator[:64]}"
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
    moved = tuple(Duplicate(twice.key, _line(chunk, before + twice.line)) for twice in duplicates)
    return Document(index, _line(chunk, before + _first_line(text)), value, duplicates=moved)


def _first_line(text: str) -> int:
    """Return the line on which a document says something, past comments and blank lines."""
    match = _STATEMENT.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def _may_be_json(text: str, budget: Budget) -> bool:
    """Return whether a document is worth a try as JSON.

    A JSON parser counts nothing before everything is built. What has more brackets than values
    are allowed is left to the one for YAML, which counts as it goes.
    """
    return text.count("[") + text.count("{") <= budget.limits.nodes


def _line(chunk: _Chunk, line: int) -> int:
    return chunk.line + line - 1
