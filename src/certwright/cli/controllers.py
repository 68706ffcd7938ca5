"""Controllers by the names that people type: a file, a module, or a name in a module."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType

from certwright.cli.errors import UsageError
from certwright.client import Client, Config, HttpTransport
from certwright.kube import Object, Resource
from certwright.runtime import Controller, Declared, Manager, Operator


def load_controllers(
    targets: Sequence[str],
    *,
    issuers: bool = False,
    named: Mapping[str, Callable[[], list[Declared]]] = MappingProxyType({}),
) -> list[Declared]:
    """Return the controllers and operators named by *targets*, each once.

    With *issuers*, those of `IssuerApp` objects too; without, these have a command of their own.
    *named* are operators of this package, by the names that they have instead of a place.

    A target is ``path/to/file.py``, ``package.module``, or either of them with ``:name`` for one of
    them; without a name all that the module has are meant. As Python does for what it runs, the
    folder of a file and the current folder are searched for what is imported. Raises `UsageError`
    if a target does not lead to a controller; the message says why.
    """
    found: list[Declared] = []
    modules: dict[str, ModuleType] = {}
    for target in targets:
        if target in named:
            found += named[target]()
            continue
        place, _, name = target.partition(":")
        if place not in modules:
            modules[place] = _load(place)
        for controller in _controllers(modules[place], place, name, issuers=issuers):
            if controller not in found:
                found.append(controller)
    return found


def _controllers(module: ModuleType, place: str, name: str, *, issuers: bool) -> list[Declared]:
    named: dict[str, Declared] = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, Controller | Operator)
    }
    apps = _issuers(module)
    if issuers:
        named |= apps
    elif apps and not named:
        start = f"python {place}" if place.endswith(".py") else f"python -m {place}"
        raise UsageError(
            f"{place} has an issuer, not a controller; run it with: {start} run (or crds, rbac)"
        )
    if not named:
        raise UsageError(
            f"{place} has no Controller at module level; add one: controller = Controller(...)"
        )
    if name and name not in named:
        raise UsageError(f"{place} has no Controller called {name}; it has {', '.join(named)}")
    return [named[name]] if name else list(named.values())


def _issuers(module: ModuleType) -> dict[str, Declared]:
    """Return the operators of issuers; a module with one has imported their library."""
    if "certwright.issuer" not in sys.modules:
        return {}
    from certwright.issuer import IssuerApp
    from certwright.issuer.declaration import IncompleteApp

    apps = {key: value for key, value in vars(module).items() if isinstance(value, IssuerApp)}
    try:
        return {key: app.operator for key, app in apps.items()}
    except IncompleteApp as error:
        raise UsageError(f"{module.__file__}: {error}") from error


def _load(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix == ".py":
        return _load_file(path)
    if path.is_dir() and not (path / "__init__.py").exists():
        raise UsageError(f"{place} is a folder; name a file in it, such as {path / 'file.py'}")
    if path.is_file() or "/" in place:
        raise UsageError(f"{place} is not a Python file; name a file.py or an importable module")
    return _load_module(place)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    taken = path.stem in sys.modules or path.stem in sys.stdlib_module_names
    name = f"controllers_{path.stem}" if taken else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, as import does: types of the module refer to it by name.
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{path} cannot be loaded: {_blame(error)}") from error
    return module


def _load_module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                f"there is no module {name}, neither installed nor here;"
                " for a file write path/to/file.py"
            ) from error
        raise UsageError(f"{name} cannot be loaded: {_blame(error)}") from error
    except Exception as error:
        raise UsageError(f"{name} cannot be loaded: {_blame(error)}") from error


def _blame(error: Exception) -> str:
    """Return the error in one line, with the place in the user's code."""
    what = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {what}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
    return f"{own[-1].filename}, line {own[-1].lineno}: {what}" if own else what


def custom_kinds(declared: Iterable[Declared]) -> list[type[Object]]:
    """Return the typed kinds that controllers watch and that have a CRD of ours, once each."""
    found: dict[type[Object], None] = {}
    for one in declared:
        kinds = one.kinds if isinstance(one, Operator) else [w.kind for w in one.watched]
        for kind in kinds:
            if not isinstance(kind, Resource) and hasattr(kind, "definition"):
                found.setdefault(kind)
    return list(found)


def built_controllers(declared: Iterable[Declared]) -> list[Controller]:
    """Return the controllers, those of operators as they would be built for a process."""
    nowhere = Client(HttpTransport(Config(server="https://nowhere.invalid")))
    site = Manager(nowhere)
    found: list[Controller] = []
    for one in declared:
        parts = one.build(site) if isinstance(one, Operator) else [one]
        found += [part for part in parts if isinstance(part, Controller)]
    return found
