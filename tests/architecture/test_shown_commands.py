"""Commands that are shown to users: pages, help texts and messages name those that exist, with options they have."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from certwright.cli.errors import UsageError
from certwright.cli.main import app
from certwright.cli.manager import flags as manager
from certwright.cli.resourcemanager import flags as resourcemanager
from certwright.cli.rollout import flags as rollout

CONSOLE = re.compile(r"^ *```console\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`certwright ([^`]+)`")
IN_TEXT = re.compile(r"\bcertwright ([a-z0-9-]+)(?: ([a-z-]+))?")
OWN_FLAGS: dict[str, Any] = {
    "manager": manager.parse,
    "resource-manager": resourcemanager.parse,
    "rollout run": lambda words: rollout.parse(words, {}),
}
"""Commands that read their flags themselves."""


@pytest.fixture(scope="module")
def command() -> Any:
    return typer.main.get_command(app)


@pytest.fixture(scope="module")
def pages(root: Path) -> list[Path]:
    return [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")]


def test_commands_on_pages_can_be_typed(root: Path, pages: list[Path], command: Any) -> None:
    shown = [
        (page, line)
        for page in pages
        for block in CONSOLE.findall(page.read_text("utf-8"))
        for line in re.findall(r"^ *\$ (.+)$", block.replace("\\\n", " "), re.MULTILINE)
        if "certwright " in line
    ]
    assert len(shown) > 80
    faults = [
        (str(page.relative_to(root)), *one)
        for page, line in shown
        for one in refused(command, line)
    ]
    assert not faults


def test_examples_of_help_texts_can_be_typed(command: Any) -> None:
    faults = [
        one
        for _, leaf in leaves(command)
        for line in example_lines(leaf)
        for one in refused(command, line)
    ]
    assert not faults


def test_every_help_text_has_an_example(command: Any) -> None:
    own = {*OWN_FLAGS, "marin3r"}  # whose parsers print them
    assert {name for name, leaf in leaves(command) if not example_lines(leaf)} <= own


def test_the_reference_begins_with_a_table_of_all_commands(root: Path, command: Any) -> None:
    page = (root / "docs/reference/cli.md").read_text("utf-8")
    shown = [text.replace("\\|", "|") for text in INLINE.findall(page.partition("\n## ")[0])]
    listed = {name for text in shown for name in text.split()[0].split("|")}
    assert set(command.commands) <= listed


def test_commands_within_sentences_exist(root: Path, pages: list[Path], command: Any) -> None:
    faults = []
    for page in pages:
        if page.name == "CHANGELOG.md":
            continue  # tells what was, too
        for text in INLINE.findall(FENCED.sub("", page.read_text("utf-8"))):
            words = text.replace("\n", " ").split()
            name, leaf, rest = found(
                command, words[0].replace("\\|", "|").split("|")[:1] + words[1:]
            )
            known = (
                set()
                if name in OWN_FLAGS
                else {option for one in leaf.params for option in one.opts}
            )
            given = {
                word.partition("=")[0].rstrip(".,")
                for word in rest
                if word.startswith("-") and len(word) > 1
            }
            if not name or (known and given - known):
                faults.append((str(page.relative_to(root)), text))
    assert not faults


def test_commands_that_messages_name_exist(root: Path, command: Any) -> None:
    groups = {name for name, one in command.commands.items() if hasattr(one, "commands")}
    faults = []
    for path in (root / "src").glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            for first, second in IN_TEXT.findall(node.value):
                if first in groups and second and second not in command.commands[first].commands:
                    faults.append((str(path.relative_to(root)), f"{first} {second}"))
    assert not faults


def refused(command: Any, line: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a line that could not be typed as it is, and why."""
    for words in simple_commands(line):
        if words[0] != "certwright":
            continue
        name, leaf, rest = found(command, words[1:])
        try:
            if name in OWN_FLAGS:
                OWN_FLAGS[name](rest)
            else:
                leaf.make_context(name, rest)
        except typer.Exit:
            pass  # --help
        except (TyperException, UsageError, SystemExit) as error:
            yield line, f"{name}: {error}"


def simple_commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each command of a shell line, without assignments and redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word[0] in "|&;" and words:
            yield words[: words.index(">")] if ">" in words else words
        if word[0] in "|&;":
            words = []
        elif words or "=" not in word:
            words.append(word)


def found(command: Any, words: list[str]) -> tuple[str, Any, list[str]]:
    """Return the command that words lead to, with its name, and the words that are left for it."""
    path, rest = [], list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        path.append(rest.pop(0))
        command = command.commands[path[-1]]
    return " ".join(path), command, rest


def leaves(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for word, one in command.commands.items():
        path = f"{name} {word}".strip()
        if hasattr(one, "commands"):
            yield from leaves(one, path)
        else:
            yield path, one


def example_lines(leaf: Any) -> list[str]:
    _, _, lines = (leaf.epilog or "").partition("Examples:\n")
    return [line.strip() for line in lines.replace("\\\n", " ").splitlines() if line.strip()]
