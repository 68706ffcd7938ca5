"""Words: one name for one thing, docstrings that start with what is done, no riddles."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.architecture.conftest import Module

TWICE = {
    # name: why two public classes have it
    "Bundle": "what an issuer returns, and a version of cert-manager: upstream's word for both",
    "Cluster": "what the engine needs of a cluster, and the cluster of a test: both public",
    "Request": "of HTTP in the client, of a certificate for authors of issuers: both public",
}
RIDDLE = re.compile(r"\b(nobody|somebody|whoever|anybody)\b(?!@)", re.IGNORECASE)
NO_VERB = re.compile(
    r"""
    (a |all |an |and |any |as |at |available |by |called |each |every |everything |he |if
    |in |is |issued |it |its |limits |looked |no |not |nothing |objects |of |on |once |one
    |other |rolled |rules |running |say |several |some |somebody |something |tell |that |the
    |their |there |these |they |this |those |to |two |what |when |where |whether |which |who
    |whose |with |without |word)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def test_public_classes_have_names_of_their_own(modules: list[Module]) -> None:
    places = defaultdict(list)
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.where)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    new = [f"{name}: {', '.join(where)}" for name, where in twice.items() if name not in TWICE]
    assert not new, "\n".join(new)
    assert twice.keys() == TWICE.keys(), "take the others from the list"
    assert len(TWICE) <= 5


def test_messages_name_who_is_meant(modules: list[Module]) -> None:
    riddles = [
        f"{module.where}:{node.lineno}: {node.value!r}"
        for module in modules
        for node in texts(module)
        if RIDDLE.search(str(node.value))
    ]
    assert not riddles, "\n".join(riddles)


def texts(module: Module) -> Iterator[Any]:
    """Yield the string literals that are not docstrings."""
    prose = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
    for node in module.nodes:
        literal = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if literal and id(node) not in prose:
            yield node


def test_docstrings_of_functions_start_with_a_verb(modules: list[Module]) -> None:
    wrong = [
        f"{module.where}:{function.lineno} {function.name}: {docstring.splitlines()[0]}"
        for module in modules
        for function in public_functions(module.tree)
        if (docstring := ast.get_docstring(function)) and NO_VERB.match(docstring)
    ]
    assert not wrong, "\n".join(wrong)


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield functions and methods; not properties and fixtures, which are things."""
    for parent in ast.walk(tree):
        if not isinstance(parent, ast.Module | ast.ClassDef):
            continue
        for node in parent.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                if node.name[0] != "_" and not re.search("property|fixture|setter", decorators):
                    yield node


def test_words_of_the_glossary_are_words_of_the_code(root: Path, modules: list[Module]) -> None:
    page = (root / "docs/concepts/glossary.md").read_text("utf-8")
    words = [
        word
        for cell in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
        for word in cell.split(", ")
        if cell not in {"word", "---"}
    ]
    assert len(words) > 60
    twice = sorted({word for word in words if words.count(word) > 1})
    assert not twice, f"explained twice: {twice}"
    code = "\n".join(module.path.read_text("utf-8") for module in modules)
    unknown = [
        word for word in words if not re.search(re.sub("[ -]", "[ _-]?", word), code, re.IGNORECASE)
    ]
    assert not unknown, f"no code speaks of {unknown}; correct docs/concepts/glossary.md"
