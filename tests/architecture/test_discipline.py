"""Calls that are allowed in few places, and sizes that keep files readable."""

import ast
from collections.abc import Iterator
from typing import Any

import pytest
from tests.architecture.conftest import Module

LONGEST_FILE = 400

CLOCK_MODULES = {"certwright.clock"}
RANDOM_MODULES = {"certwright.runtime.queue.backoff"}
BROAD_EXCEPT = {
    # the boundaries at which the code of users must not end the process
    "certwright.runtime.queue.workers",
    "certwright.runtime.cache.entries",
    "certwright.runtime.cache.decode",
    "certwright.runtime.cache.store",
    # one watch must not end the others
    "certwright.runtime.cache.watch",
    # one pod must not end the others
    "certwright.testkit.node.node",
    "certwright.issuer.check.controller",
    "certwright.issuer.requests.controller",
    "certwright.issuer.run.lifetime",
    "certwright.issuer.sign.sign",
    "certwright.webhook.endpoints",
}


def calls(module: Module) -> Iterator[tuple[str, int]]:
    for node in module.nodes:
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def test_files_are_short(modules: list[Module]) -> None:
    long = [
        f"{module.where}: {lines} lines"
        for module in modules
        if (lines := len(module.path.read_text("utf-8").splitlines())) > LONGEST_FILE
    ]
    assert not long, "\n".join(long)


def test_only_the_clock_knows_the_time(modules: list[Module]) -> None:
    banned = {
        "datetime.now", "datetime.utcnow", "datetime.today", "date.today",
        "time.time", "time.monotonic", "time.perf_counter", "time.sleep",
    }  # fmt: skip
    wrong = [
        f"{module.where}:{line}: {name}()"
        for module in modules
        if module.name not in CLOCK_MODULES
        for name, line in calls(module)
        if name in banned
    ]
    assert not wrong, "\n".join(wrong)


def test_randomness_is_injected(modules: list[Module]) -> None:
    wrong = [
        f"{module.where}:{line}: imports {name}"
        for module in modules
        if module.layer not in {"apiserver", "testkit"} and module.name not in RANDOM_MODULES
        for name, line in module.imports()
        if name == "random"
    ]
    assert not wrong, "\n".join(wrong)


def test_every_task_has_a_parent(modules: list[Module]) -> None:
    wrong = [
        f"{module.where}:{line}: {name}()"
        for module in modules
        for name, line in calls(module)
        if name in {"asyncio.create_task", "asyncio.ensure_future"} or name == "loop.create_task"
    ]
    assert not wrong, "\n".join(wrong)


def named(node: Any) -> Any:
    """Return the names in an expression: of classes, and of tuples of them."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def broad_names(modules: Any) -> Any:
    """Return what catches everything: the two classes, and constants that contain one of them."""
    constants = {
        target.id: named(node.value)
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    broad = {"Exception", "BaseException"}
    while grown := {name for name, parts in constants.items() if parts & broad} - broad:
        broad |= grown
    return broad


def broad_catches(tree: Any, broad: Any) -> Iterator[Any]:
    """Yield the line of each handler or ``suppress`` that keeps any exception to itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            everything = node.type is None or named(node.type) & broad
            if everything and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
                yield node.lineno
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("suppress")
            and any(named(argument) & broad for argument in node.args)
        ):
            yield node.lineno


def test_broad_excepts_stand_at_the_boundaries_only(modules: list[Module]) -> None:
    broad = broad_names(modules)
    wrong = [
        f"{module.where}:{line}: catches every exception"
        for module in modules
        if module.name not in BROAD_EXCEPT
        for line in broad_catches(module.tree, broad)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_boundaries_are_where_broad_excepts_stand(modules: list[Module]) -> None:
    broad = broad_names(modules)
    found = {module.name for module in modules if any(broad_catches(module.tree, broad))}
    assert not BROAD_EXCEPT - found, "these catch nothing broad; take them off the list"


@pytest.mark.parametrize(
    "code",
    [
        "try: f()\nexcept: pass",
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept (KeyError, Exception): pass",
        "try: f()\nexcept (*CRASHES, KeyError): pass",
        "try: f()\nexcept* BaseException: pass",
        "with suppress(Exception): f()",
    ],
)
def test_every_way_to_catch_everything_is_found(code: Any) -> None:
    assert list(broad_catches(ast.parse(code), {"Exception", "BaseException", "CRASHES"}))


def test_no_star_imports(modules: list[Module]) -> None:
    wrong = [
        f"{module.where}:{node.lineno}"
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert not wrong, "\n".join(wrong)
