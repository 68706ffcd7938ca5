"""The JSONPath subset of printer columns: ``.a.b[0]['c'].d[?(@.type=="Ready")].status``."""

import re
from typing import Any

_STEP = re.compile(
    r"""
      \.(?P<name>(?:\\.|[^.\[\\])+)                       # .name, with \. for a dot in it
    | \[(?P<index>-?\d+)\]                                # [0]
    | \[(?P<all>\*)\]                                     # [*]
    | \[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]        # ['name']
    | \[\?\(\s*@\.(?P<field>[\w.]+)\s*==\s*(?P<value>'[^']*'|"[^"]*"|[^)]+?)\s*\)\]
    """,
    re.VERBOSE,
)


def find(obj: Any, path: str) -> list[Any]:
    """Return every value at a path; none when the path leads nowhere."""
    found, position = [obj], 0
    path = path.strip().removeprefix("{").removesuffix("}")
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            return []
        found = [result for value in found for result in _follow(value, step)]
        position = step.end()
    return found


def _follow(value: Any, step: re.Match[str]) -> list[Any]:
    name = step["quoted"] if step["quote"] else step["name"]
    if name is not None:
        name = re.sub(r"\\(.)", r"\1", name)
        return [value[name]] if isinstance(value, dict) and name in value else []
    if not isinstance(value, list):
        return []
    if step["index"] is not None:
        index = int(step["index"])
        return [value[index]] if -len(value) <= index < len(value) else []
    if step["all"]:
        return list(value)
    wanted = step["value"].strip("'\"")
    return [item for item in value if wanted in _texts(item, step["field"])]


def _texts(item: Any, field: str) -> list[str]:
    found = find(item, f".{field}")
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in found]
