"""Bundles of real releases for tests, or a skip that says what brings them."""

from functools import cache

import pytest

from certwright.bundles.bundle import Bundle
from certwright.bundles.errors import ModuleUnavailable, ToolMissing
from certwright.testkit.certmanager.released import released_bundle


@cache
def released(version: str) -> Bundle:
    """Return the bundle of a release; skip the test if it cannot be built here."""
    try:
        return released_bundle(version, progress=lambda _: None)
    except (ToolMissing, ModuleUnavailable) as error:
        pytest.skip(f"{error}; or run: make go helm")
