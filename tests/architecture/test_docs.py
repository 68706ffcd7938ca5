"""Documentation that cannot rot unnoticed: links lead somewhere, quoted files are quoted as they are."""

import re

import pytest

from certwright import client, kube
from certwright.issuer.conformance import Feature
from certwright.runtime import Metrics

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")
QUOTE = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def pages(root):
    found = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")]
    assert len(found) >= 5
    return found


def test_links_lead_to_files(root, pages):
    dead = [
        f"{page.relative_to(root)}: {target}"
        for page in pages
        for target, _anchor in LINK.findall(page.read_text("utf-8"))
        if "://" not in target
        and not target.startswith("mailto:")
        and not (page.parent / target).exists()
    ]
    assert not dead, "\n".join(dead)


def test_quoted_files_are_quoted_as_they_are(root, pages):
    quotes = [
        (page, name, text)
        for page in pages
        for name, text in QUOTE.findall(page.read_text("utf-8"))
    ]
    assert quotes, "the README quotes its example"
    for page, name, text in quotes:
        assert text == (root / name).read_text("utf-8"), f"{page.relative_to(root)}: {name}"


def test_every_make_target_named_in_the_docs_exists(root, pages):
    makefile = (root / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in pages:
        for name in re.findall(r"`make ([a-z-]+)", page.read_text("utf-8")):
            assert name in targets, f"{page.relative_to(root)}: make {name}"


def test_every_metric_is_in_the_reference(root):
    page = (root / "docs/reference/metrics.md").read_text("utf-8")
    names = [
        family.name + ("_total" if family.type == "counter" else "")
        for family in Metrics().registry.collect()
    ]
    assert len(names) > 10
    missing = [name for name in names if f"`{name}`" not in page]
    assert not missing, missing


def test_the_conformance_reference_is_complete(root):
    page = (root / "docs/reference/conformance.md").read_text("utf-8")
    missing = [one for one in Feature if f"| `{one}` | {one.meaning} |" not in page]
    sources = [*root.glob("src/certwright/issuer/conformance/*.py")]
    sources.append(root / "src/certwright/pki/matching.py")
    raised = re.findall(r'Violation\(\s*"(\w+)"', "".join(p.read_text("utf-8") for p in sources))
    assert len(set(raised)) > 30
    missing += [name for name in sorted(set(raised)) if f"`{name}`" not in page]
    assert not missing, missing


def test_every_name_in_the_error_reference_exists(root):
    page = (root / "docs/reference/errors.md").read_text("utf-8")
    named = re.findall(r"^\| ((?:`[A-Z]\w+`(?:, )?)+) \|", page, re.MULTILINE)
    names = [name for cell in named for name in re.findall(r"`(\w+)`", cell)]
    assert len(names) > 15
    missing = [name for name in names if not hasattr(kube, name) and not hasattr(client, name)]
    assert not missing, missing
