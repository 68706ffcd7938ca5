"""Where the Envoy of this machine is.

The package that brings it shares the file ``envoy/__init__.py`` with the package of Envoy's
messages, so it is installed into a folder of its own: ``make envoy``.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from certwright.testkit.controlplane.errors import AssetsMissing

VARIABLE: Final = "CERTWRIGHT_ENVOY"
_INSTALLED: Final = Path("envoy", "envoy", "_bin", "envoy")
"""Below the virtual environment, where ``make envoy`` installs it."""


class EnvoyMissing(AssetsMissing):
    """There is no Envoy on this machine."""


def find_envoy(environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix) -> Path:
    """Return the binary: the one the environment names, or the one ``make envoy`` installed.

    Raises:
        EnvoyMissing: there is none, or what the environment names cannot be run.
    """
    named = environ.get(VARIABLE, "")
    path = Path(named) if named else Path(prefix) / _INSTALLED
    if os.access(path, os.X_OK) and path.is_file():
        return path
    if named:
        raise EnvoyMissing(f"{VARIABLE} names {named}, which is not a program that can be run")
    raise EnvoyMissing(f"there is no Envoy; install it with make envoy, or set {VARIABLE}")
