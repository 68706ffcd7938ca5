"""The reference page names every key, reason, setting and flag there is."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResourceSpec, ManagedResourceStatus
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.configuration import FLAGS, Controllers


@pytest.fixture(scope="module")
def page() -> str:
    root = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
    return (root / "docs/reference/managed-resources.md").read_text("utf-8")


def test_every_field(page: str) -> None:
    types = (ManagedResourceSpec, ManagedResourceStatus)
    names = [f.encode_name for kind in types for f in msgspec.structs.fields(kind)]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_annotation_label_and_finalizer(page: str) -> None:
    names = [
        value
        for name, value in vars(keys).items()
        if name.isupper() and isinstance(value, str) and "/" in value
    ]
    assert len(names) > 15
    assert [name for name in names if f"`{name}" not in page] == []


def test_every_reason(page: str) -> None:
    source = Path(str(messages.__file__)).read_text("utf-8")
    reasons = set(re.findall(r'"([A-Z][a-z]+[A-Z][A-Za-z]+|Suspended)"', source))
    assert {"ApplyFailed", "Suspended", "DependencyCycle"} <= reasons
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in page] == []


def settings(kind: Any) -> list[str]:
    found = []
    for item in msgspec.structs.fields(kind):
        found.append(item.encode_name)
        found += settings(item.type) if msgspec.inspect.is_struct_type(item.type) else []
    return found


def test_every_setting_of_the_controllers(page: str) -> None:
    assert [name for name in settings(Controllers) if not re.search(rf"\b{name}`", page)] == []


def test_every_flag(page: str) -> None:
    assert [flag.name for flag in FLAGS if f"| `{flag.name}` |" not in page] == []
