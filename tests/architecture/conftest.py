"""The source tree as parsed modules, once per run."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Module:
    path: Path
    name: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All that the module is made of; dozens of tests look through it."""
        return list(ast.walk(self.tree))

    @property
    def layer(self) -> str:
        """The package directly below certwright, or the module itself: ``kube``, ``clock``."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    @property
    def where(self) -> str:
        return str(self.path.relative_to(ROOT))

    def imports(self) -> list[tuple[str, int]]:
        """Every imported module, absolute, with its line."""
        found: list[tuple[str, int]] = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [(alias.name, node.lineno) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.where}:{node.lineno}: relative import"
                found.append((node.module or "", node.lineno))
        return found


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def modules() -> list[Module]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        dotted = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
        tree = ast.parse(path.read_text("utf-8"))
        found.append(Module(path, dotted.removesuffix(".__init__"), tree))
    assert len(found) > 20, "the walk finds no sources: the other tests would pass on nothing"
    return found
