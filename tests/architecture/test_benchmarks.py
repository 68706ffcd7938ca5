"""Benchmarks find what they import, though they run seldom and the type checker leaves them out."""

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path


def names_of(tree: ast.Module) -> set[str]:
    """Return what a module defines or imports at its top level."""
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Import() | ast.ImportFrom():
                found |= {one.asname or one.name.partition(".")[0] for one in node.names}
            case _:
                stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
                found |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    return found


def wrong_imports(folder: Path) -> Iterator[str]:
    """Yield the imports of benchmarks that lead nowhere."""
    trees = {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts): ast.parse(path.read_text())
        for path in folder.rglob("*.py")
    }
    packages = {name.removesuffix(".__init__"): tree for name, tree in trees.items()}
    for user, tree in packages.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                if node.module.split(".")[0] == folder.name:
                    there = packages.get(node.module)
                    known = whole in packages or bool(there and one.name in names_of(there))
                elif node.module.split(".")[0] == "certwright":
                    module = importlib.import_module(node.module)
                    inside = hasattr(module, "__path__") and importlib.util.find_spec(whole)
                    known = hasattr(module, one.name) or bool(inside)
                else:
                    continue
                if not known:
                    yield f"{user} imports {whole}"


def test_what_benchmarks_import_exists(root: Path) -> None:
    assert list(wrong_imports(root / "bench")) == []


def test_an_import_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    folder.mkdir()
    (folder / "a.py").write_text("from bench.b import X, Y\nfrom certwright.clock import Z\n")
    (folder / "b.py").write_text("X: int = 1\n")
    assert list(wrong_imports(folder)) == [
        "bench.a imports bench.b.Y",
        "bench.a imports certwright.clock.Z",
    ]
