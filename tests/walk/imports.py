"""Which file imports which, directly or through others."""

import ast
from functools import cache

from tests.walk.tracer import ROOT


@cache
def reachable(file: str) -> frozenset[str]:
    """Return the files that *file* imports, and those that they import."""
    found: set[str] = set()
    pending = [file]
    while pending:
        for other in _imported(pending.pop()) - found:
            found.add(other)
            pending.append(other)
    return frozenset(found)


@cache
def _imported(file: str) -> frozenset[str]:
    names = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(file for name in names if (file := _file(name)))


def _file(name: str) -> str:
    path = name.partition("certwright.")[2].replace(".", "/") if "certwright" in name else ""
    found = (one for one in (f"{path}.py", f"{path}/__init__.py") if path and (ROOT / one).exists())
    return next(found, "")
