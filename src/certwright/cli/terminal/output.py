"""Results as people and programs read them: tables, JSON and YAML."""

import re
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from typing import Any, Final

import orjson
import yaml

from certwright.cli.options import Output
from certwright.kube.text import printable

_GAP: Final = "   "
_NOTHING: Final = "-"
_NARROWEST: Final = 120
"""Less room says nothing; then lines are wrapped."""
_PIPED_WIDTH: Final = 500
"""Of lines that no terminal bounds."""
_NAMING: Final = re.compile(r'^(error during apply of object "[^"]*"|\w+ "[^"]*" is \w+): ')
"""How messages begin that name their object."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows under heads, the columns aligned; an empty cell is a dash.

    What is not printable is escaped: cells come from others.
    """
    cells = [[printable(cell) or _NOTHING for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    return "\n".join(
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def terminal_width() -> int:
    """Return how many characters a line may have."""
    return get_terminal_size((_PIPED_WIDTH, 0)).columns


def fitted(lines: str, width: int) -> str:
    """Return lines that are cut where so many characters end, unless that is too few."""
    longest = max(width, _NARROWEST)
    return "\n".join(
        line if len(line) <= longest else f"{line[: longest - 1]}…" for line in lines.splitlines()
    )


def unnamed(message: str) -> str:
    """Return a message without the name of its object, for where that stands already."""
    return _NAMING.sub("", message)


def document(value: Any, output: Output) -> str:
    """Return a value as JSON or as YAML."""
    if output is Output.YAML:
        return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).rstrip("\n")
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def documents(values: Sequence[Any], output: Output) -> str:
    """Return several manifests: as a stream of YAML, or as a JSON list object."""
    if output is Output.JSON:
        return document({"apiVersion": "v1", "kind": "List", "items": list(values)}, output)
    return yaml.safe_dump_all(values, sort_keys=False, allow_unicode=True).rstrip("\n")


def shortened(name: str, longest: int) -> str:
    """Return a name that is cut in the middle if it is long: what names differ in is at an end."""
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}…{name[-end:]}"


def one_line(text: str, longest: int = 100) -> str:
    """Return a text without line breaks, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
