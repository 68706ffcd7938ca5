"""The reference page cannot rot: its example runs, its names exist."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from certwright import pki
from certwright.pki import errors as errors_module


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(__file__).parents[3] / "docs/reference/pki.md").read_text("utf-8")


def test_the_example_runs(page: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[Any, Any] = {}
    exec(code, names)  # noqa: S102 - the example is ours
    assert names["path"] == (names["certificate"], names["root"].certificate)
    start = datetime(2029, 12, 31, 23, 55, tzinfo=UTC)
    assert names["due"] == start + timedelta(days=20)


def test_every_name_in_the_overview_exists(page: str) -> None:
    overview = page.split("## What is there")[1].split("##", maxsplit=1)[0]
    names = re.findall(r"`([A-Za-z_]+)`", overview)
    assert len(names) > 40
    missing = [name for name in names if not hasattr(pki, name) and name != "literalSubject"]
    assert not missing


def test_every_error_is_on_the_page(page: str) -> None:
    errors = page.split("## Errors")[1].split("## Slow work", maxsplit=1)[0]
    tree = [
        name
        for name, value in vars(errors_module).items()
        if isinstance(value, type) and issubclass(value, pki.PkiError)
    ]
    bases = {"PkiError", "MalformedInput", "Refused"}
    missing = [name for name in tree if name not in bases and f"`{name}`" not in errors]
    assert not missing
    assert len(tree) == 17


def test_every_violation_is_on_the_page(page: str) -> None:
    source = Path(pki.__file__).parent
    named = {
        name
        for path in source.glob("*.py")
        for name in re.findall(r'(?:Violation|_note)\(\s*"(\w+)"', path.read_text("utf-8"))
    }
    assert len(named) > 25
    assert not [name for name in sorted(named) if f"`{name}`" not in page]
