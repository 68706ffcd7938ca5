"""Definitions to try things on."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

Json = dict[str, Any]


def _crd(schema: Json, **version: Any) -> Json:
    return {
        "metadata": {"name": "widgets.x.dev"},
        "spec": {
            "group": "x.dev",
            "scope": "Namespaced",
            "names": {
                "plural": "widgets",
                "singular": "widget",
                "kind": "Widget",
                "listKind": "WidgetList",
                "shortNames": ["wd"],
                "categories": ["all"],
            },
            "conversion": {"strategy": "None"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": copy.deepcopy(schema)},
                    **version,
                }
            ],
        },
        "status": {"storedVersions": ["v1"]},
    }


@pytest.fixture
def crd() -> Callable[..., Json]:
    """Return a definition of Widgets with a schema, and other parts of its only version."""
    return _crd
