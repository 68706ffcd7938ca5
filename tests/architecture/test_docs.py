"""Documentation that cannot rot unnoticed: links lead somewhere, quoted files are quoted as they are."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from certwright import client, kube
from certwright.issuer.conformance import Feature

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
ANCHORED = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(#[^)\s]+)\)")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUOTE = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def pages(root: Path) -> list[Path]:
    found = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")]
    assert len(found) >= 5
    return found


def test_links_lead_to_files(root: Path, pages: list[Path]) -> None:
    dead = [
        f"{page.relative_to(root)}: {target}"
        for page in pages
        for target, _anchor in LINK.findall(page.read_text("utf-8"))
        if "://" not in target
        and not target.startswith("mailto:")
        and not (page.parent / target).exists()
    ]
    assert not dead, "\n".join(dead)


def test_anchors_lead_to_headings(root: Path, pages: list[Path]) -> None:
    dead = [
        f"{page.relative_to(root)}: {target}{anchor}"
        for page in pages
        for target, anchor in ANCHORED.findall(page.read_text("utf-8"))
        if "://" not in target
        and anchor[1:] not in headings(page.parent / target if target else page)
    ]
    assert not dead, "\n".join(dead)


def headings(page: Path) -> set[str]:
    """The anchors of a page, as forges make them of its headings."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_code_compiles_and_imports_what_exists(root: Path, pages: list[Path]) -> None:
    blocks = [(page, code) for page in pages for code in PYTHON.findall(page.read_text("utf-8"))]
    assert len(blocks) > 10
    for page, code in blocks:
        where = f"{page.relative_to(root)}: {code[:60]!r}"
        tree = compile(code, where, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("certwright"):
                module = importlib.import_module(str(node.module))
                absent = [one.name for one in node.names if not hasattr(module, one.name)]
                assert not absent, f"{where}: {absent}"


def test_quoted_files_are_quoted_as_they_are(root: Path, pages: list[Path]) -> None:
    quotes = [
        (page, name, text)
        for page in pages
        for name, text in QUOTE.findall(page.read_text("utf-8"))
    ]
    assert quotes, "the README quotes its example"
    for page, name, text in quotes:
        assert text == (root / name).read_text("utf-8"), f"{page.relative_to(root)}: {name}"


def test_every_make_target_named_in_the_docs_exists(root: Path, pages: list[Path]) -> None:
    makefile = (root / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in pages:
        for name in re.findall(r"`make ([a-z-]+)", page.read_text("utf-8")):
            assert name in targets, f"{page.relative_to(root)}: make {name}"


def test_the_conformance_reference_is_complete(root: Path) -> None:
    page = (root / "docs/reference/conformance.md").read_text("utf-8")
    missing = [one for one in Feature if f"| `{one}` | {one.meaning} |" not in page]
    sources = [*root.glob("src/certwright/issuer/conformance/*.py")]
    sources.append(root / "src/certwright/pki/matches.py")
    raised = re.findall(r'Violation\(\s*"(\w+)"', "".join(p.read_text("utf-8") for p in sources))
    assert len(set(raised)) > 30
    missing += [name for name in sorted(set(raised)) if f"`{name}`" not in page]
    assert not missing, missing


def test_every_name_in_the_error_reference_exists(root: Path) -> None:
    page = (root / "docs/reference/errors.md").read_text("utf-8")
    named = re.findall(r"^\| ((?:`[A-Z]\w+`(?:, )?)+) \|", page, re.MULTILINE)
    names = [name for cell in named for name in re.findall(r"`(\w+)`", cell)]
    assert len(names) > 15
    missing = [name for name in names if not hasattr(kube, name) and not hasattr(client, name)]
    assert not missing, missing


def test_paths_that_pages_name_exist(root: Path, pages: list[Path]) -> None:
    named = [
        (page, path)
        for page in pages
        if page.name != "CHANGELOG.md"
        for path in re.findall(
            r"`((?:src|tests|docs|examples|bench)/[\w./-]+)`", page.read_text("utf-8")
        )
    ]
    assert len(named) > 20
    gone = [
        f"{page.relative_to(root)}: {path}" for page, path in named if not (root / path).exists()
    ]
    assert not gone, "\n".join(gone)


def test_modules_that_the_architecture_names_exist(root: Path) -> None:
    page = (root / "docs/concepts/architecture.md").read_text("utf-8")
    named = re.findall(r"`(\w+(?:/\w+)*\.py)`", page)
    assert len(named) > 4
    assert not [path for path in named if not (root / "src/certwright" / path).exists()]
