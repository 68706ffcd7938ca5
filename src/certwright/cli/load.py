"""Find controllers by the names people type: a file, a module, or a name in a module."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from certwright.cli.errors import UsageError
from certwright.runtime import Controller


def load_controllers(targets: Sequence[str]) -> list[Controller]:
    """Return the controllers named by *targets*.

    A target is ``path/to/file.py``, ``package.module``, or either of them with ``:name`` for one
    controller; without a name all controllers of the module are meant.

    Raises:
        UsageError: a target does not lead to a controller; the message says why.
    """
    found: list[Controller] = []
    for target in targets:
        for controller in _controllers(target):
            if controller not in found:
                found.append(controller)
    return found


def _controllers(target: str) -> list[Controller]:
    place, _, name = target.partition(":")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    if not name:
        found = [value for value in vars(module).values() if isinstance(value, Controller)]
        if not found:
            raise UsageError(f"{place} defines no Controller at module level")
        return found
    value = getattr(module, name, None)
    if not isinstance(value, Controller):
        raise UsageError(f"{place} has no Controller called {name}")
    return [value]


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, as import does: types of the module refer to it by name.
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"cannot import {name}: {error}; give a file (path/to/file.py) or an installed module"
        ) from error
