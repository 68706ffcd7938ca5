"""Rooms: folders that can be read at a glance, whose names say what happens in them."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.architecture.conftest import Module

LARGEST_FOLDER = 15
LARGER: dict[str, int] = {}
"""Folders below certwright that may hold more modules, each with the reason it is not divided."""

NOUNS = {"ordering", "monitoring"}
"""Modules whose names end in -ing and are nouns."""
SHORTEST_INTRODUCTION = 100


def test_folders_are_small(modules: list[Module]) -> None:
    folders = defaultdict(list)
    for module in modules:
        if module.path.name != "__init__.py":
            folders[module.path.parent].append(module.path.stem)
    wide = [
        f"{folder}: {len(names)} modules; make rooms in it: {', '.join(names)}"
        for folder, names in folders.items()
        if len(names) > LARGER.get(below_certwright(folder), LARGEST_FOLDER)
    ]
    assert not wide, "\n".join(wide)


def test_exceptions_stay_few() -> None:
    assert len(LARGER) <= 3
    assert all(size <= 20 for size in LARGER.values())


def below_certwright(folder: Path) -> str:
    return folder.as_posix().partition("/certwright/")[2]


def test_modules_are_named_by_nouns(modules: list[Module]) -> None:
    wrong = [
        f"{module.where}: name it by what it holds, not by what happens"
        for module in modules
        if (name := module.name.rpartition(".")[2]).endswith("ing") and name not in NOUNS
    ]
    assert not wrong, "\n".join(wrong)
    assert len(NOUNS) <= 5


def test_packages_say_what_enters_and_what_leaves(modules: list[Module]) -> None:
    brief = [
        f"{module.where}: write a paragraph: what enters, what leaves"
        for module in modules
        if module.path.name == "__init__.py"
        and module.layer
        and len(ast.get_docstring(module.tree) or "") < SHORTEST_INTRODUCTION
    ]
    assert not brief, "\n".join(brief)
