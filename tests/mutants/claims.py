"""Which tests claim which scenario."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("unit", "component", "integration/issuers")
"""Where tests need nothing but this process, or authorities that ``make test-tools`` installs."""


def claims(root: Path) -> dict[str, list[str]]:
    """Return the tests that claim each scenario, as pytest names them."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((root / "tests" / folder).rglob("test_*.py")):
            text = path.read_text("utf-8")
            if "mark.scenario(" not in text:
                continue
            where = str(path.relative_to(root))
            for name, scenario in _claims_in(ast.parse(text)):
                test = f"{where}::{name}" if name else where
                if where not in found[scenario]:
                    found[scenario].append(test)
    return dict(found)


def _claims_in(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield test and scenario for each claim, also those of classes and of whole modules."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            for scenario in _scenarios(node.value):
                yield prefix.removesuffix("::"), scenario
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        name = f"{prefix}{node.name}"
        for decorator in node.decorator_list:
            for scenario in _scenarios(decorator):
                yield name, scenario
        if isinstance(node, ast.ClassDef):
            yield from _claims_in(node, f"{name}::")


def _scenarios(expression: ast.expr) -> Iterator[str]:
    """Yield the scenarios in a mark, or in a list of marks."""
    for call in ast.walk(expression):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("mark.scenario"):
            for argument in call.args:
                yield str(ast.literal_eval(argument))


def number_of(scenario: str) -> tuple[str, int]:
    """Return what scenarios are sorted by: their spec and number."""
    spec, _, number = scenario.rpartition("-")
    return spec, int(number)
