"""The public names of each façade are pinned: adding or removing one is a decision, not an accident."""

import importlib
import re
from pathlib import Path

import pytest

FACADES = (
    "certwright.kube",
    "certwright.client",
    "certwright.pki",
    "certwright.runtime",
    "certwright.apply",
    "certwright.apply.health",
    "certwright.keep",
    "certwright.webhook",
    "certwright.managed",
    "certwright.issuer",
    "certwright.issuer.conformance",
    "certwright.operators.managedresource",
    "certwright.operators.tokenrequestor",
    "certwright.testkit",
    "certwright.testkit.actors",
    "certwright.apiserver",
    "certwright.testkit.certmanager",
    "certwright.testkit.controlplane",
    "certwright.testkit.node",
)

MOST_NAMES = 350


def pinned(root: Path, facade: str) -> list[str]:
    text = (root / "tests/architecture/public_names.txt").read_text("utf-8")
    sections = dict(part.split("\n", 1) for part in text.strip().split("\n\n"))
    return sections[f"[{facade}]"].split()


@pytest.mark.parametrize("facade", FACADES)
def test_public_names_are_as_pinned(root: Path, facade: str) -> None:
    names = sorted(importlib.import_module(facade).__all__)
    assert names == pinned(root, facade), (
        f"the public names of {facade} changed; if that is wanted, change"
        " tests/architecture/public_names.txt and say so in CHANGELOG.md"
    )


@pytest.mark.parametrize("facade", FACADES)
def test_public_names_exist_and_are_documented(facade: str) -> None:
    module = importlib.import_module(facade)
    promised = {name: getattr(module, name) for name in module.__all__}
    undocumented = [
        name
        for name, value in promised.items()
        if callable(value)
        and getattr(value, "__module__", "").startswith("certwright")
        and not (value.__doc__ or "").strip()
    ]
    assert not undocumented, f"{facade}: {undocumented}"


def test_public_names_are_few(root: Path) -> None:
    names = [name for facade in FACADES for name in pinned(root, facade)]
    assert len(names) <= MOST_NAMES


@pytest.mark.parametrize("facade", FACADES)
def test_public_names_are_in_the_reference(root: Path, facade: str) -> None:
    pages = "\n".join(page.read_text("utf-8") for page in root.glob("docs/reference/*.md"))
    missing = [name for name in pinned(root, facade) if not re.search(rf"\b{name}\b", pages)]
    assert not missing, f"describe in docs/reference: {missing}"
