"""What ``kubectl get`` prints about built-in kinds, read from ``columns.table``."""

import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any, Final

from certwright.apiserver.builtins import cells
from certwright.apiserver.builtins.cells import dig
from certwright.apiserver.kinds.kind import PrinterColumn
from certwright.kube.objects import JsonObject

Cell = Callable[[JsonObject], Any]
_COLUMN: Final = re.compile(
    r"(?P<wide>\* )?(?P<name>.+?)(?:  +(?P<cell>.+?)(?: : (?P<type>\w+))?)?"
)
_PATH: Final = re.compile(r"\.(?P<path>\S+)(?: (?P<if>=|~|or) (?P<else>.+))?")


def _read(text: str) -> Iterator[tuple[str, tuple[PrinterColumn, ...]]]:
    """Yield the columns of each kind."""
    for block in text.split("\n["):
        head, *lines = block.strip().splitlines()
        columns = tuple(_column(line) for line in lines if not head.startswith("#"))
        for kind in head.rstrip("]").split() if columns else ():
            yield kind, columns


def _column(line: str) -> PrinterColumn:
    found = _COLUMN.fullmatch(line)
    assert found is not None
    name, priority = found["name"], 1 if found["wide"] else 0
    if found["cell"] is None and name == "Age":
        return PrinterColumn(name, ".metadata.creationTimestamp", type="date")
    if found["cell"] is None:
        return PrinterColumn(name, ".metadata.name", format="name", priority=priority)
    kind = found["type"] or "string"
    return PrinterColumn(name, type=kind, priority=priority, value=_cell(found["cell"]))


def _cell(text: str) -> Cell:
    if path := _PATH.fullmatch(text.removeprefix("count ")):
        if text.startswith("count "):
            return lambda obj: len(dig(obj, path["path"]) or ())
        if path["if"] == "or":
            return lambda obj: dig(obj, path["path"]) or path["else"]
        if path["if"] == "~":
            return lambda obj: str(dig(obj, path["path"], path["else"]))
        default = _value(path["else"] or "")
        return lambda obj: dig(obj, path["path"], default)
    function, _, argument = text.partition(" ")
    computed: Callable[..., Any] = getattr(cells, function)
    return (lambda obj: computed(obj, argument)) if argument else computed


def _value(text: str) -> Any:
    return {"0": 0, "false": False}.get(text, text)


COLUMNS: Final = dict(_read(files(__package__).joinpath("columns.table").read_text("utf-8")))
"""Columns by resource; what is not here prints its name and when it was created."""
