import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from certwright.cli.controllers import built_controllers, load_controllers
from certwright.cli.errors import UsageError
from certwright.issuer import IssuerApp

TWO = """
from certwright.kube.kinds import ConfigMap, Secret
from certwright.runtime import DONE, Controller

async def reconcile(ctx, key):
    return DONE

maps = Controller(ConfigMap, reconcile, name="maps")
secrets = Controller(Secret, reconcile, name="secrets")
"""


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is loaded by a test is forgotten after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return str(path)

    return write


def names(*targets: str) -> list[str]:
    return [controller.name for controller in load_controllers(targets)]


def test_all_controllers_of_a_file(write: Callable[..., Any]) -> None:
    assert names(write("operator_a.py", TWO)) == ["maps", "secrets"]


def test_one_controller_of_a_file(write: Callable[..., Any]) -> None:
    assert names(write("operator_a.py", TWO) + ":secrets") == ["secrets"]


def test_a_file_named_twice_is_run_once(write: Callable[..., Any]) -> None:
    path = write("operator_a.py", TWO)
    assert names(f"{path}:maps", f"{path}:secrets", path) == ["maps", "secrets"]


def test_a_file_may_import_its_neighbour(write: Callable[..., Any]) -> None:
    write("lib/neighbour_a.py", TWO)
    path = write("lib/operator_a.py", "from neighbour_a import maps\n")
    assert names(path) == ["maps"]


def test_a_file_may_have_the_name_of_a_module_that_everybody_needs(
    write: Callable[..., Any],
) -> None:
    path = write("json.py", TWO)
    assert names(path) == ["maps", "secrets"]
    assert sys.modules["json"].__file__ != path


def test_a_module_of_the_current_folder(write: Callable[..., Any]) -> None:
    write("package_a/__init__.py", "")
    write("package_a/main.py", TWO)
    assert names("package_a.main:maps") == ["maps"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere.py", "there is no file nowhere.py"),
        ("folder", "folder is a folder; name a file in it, such as folder/file.py"),
        ("folder/notes.txt", "folder/notes.txt is not a Python file; name a file.py or an importable module"),
        ("no_such_module", "there is no module no_such_module, neither installed nor here; for a file write path/to/file.py"),
        ("no_such.module", "there is no module no_such.module, neither installed nor here; for a file write path/to/file.py"),
        ("empty_a.py", "empty_a.py has no Controller at module level; add one: controller = Controller(...)"),
        ("two_a.py:nothing", "two_a.py has no Controller called nothing; it has maps, secrets"),
    ],
)  # fmt: skip
def test_what_leads_nowhere_says_what_to_write(
    write: Callable[..., Any], target: str, message: str
) -> None:
    write("folder/notes.txt", "")
    write("empty_a.py", "")
    write("two_a.py", TWO)
    with pytest.raises(UsageError) as caught:
        load_controllers([target])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "blame"),
    [
        ("import os\nimport nothing_like_it\n", "line 2: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("x = 1\ndef f(:\n", "line 2: SyntaxError: invalid syntax"),
        ("\n\n1 / 0\n", "line 3: ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_what_breaks_while_it_is_loaded_is_blamed_on_its_line(
    write: Callable[..., Any], text: str, blame: str
) -> None:
    path = write("broken_a.py", text)
    with pytest.raises(UsageError) as caught:
        load_controllers([path])
    assert str(caught.value) == f"{path} cannot be loaded: {path}, {blame}"


def test_a_module_that_lacks_a_dependency_is_not_called_missing(write: Callable[..., Any]) -> None:
    path = write("lacking_a.py", "import nothing_like_it\n")
    with pytest.raises(UsageError, match="lacking_a cannot be loaded") as caught:
        load_controllers(["lacking_a"])
    assert f"{path}, line 1: ModuleNotFoundError" in str(caught.value)


def test_operators_are_found_beside_controllers(tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(
        "from certwright.kube.kinds import ConfigMap\n"
        "from certwright.runtime import Controller, Operator\n"
        "async def reconcile(ctx, key): ...\n"
        "controller = Controller(ConfigMap, reconcile)\n"
        "operator = Operator('several', lambda site: [controller])\n",
        "utf-8",
    )
    found = load_controllers([str(tmp_path / "both.py")])
    assert [one.name for one in found] == ["config-map", "several"]
    assert [one.name for one in built_controllers(found[1:])] == ["config-map"]


ISSUER = """
from dataclasses import dataclass
from certwright.issuer import IssuerApp

@dataclass(frozen=True)
class Spec:
    pass

app = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=Spec)

@app.sign
async def sign(request, issuer):
    raise NotImplementedError
"""


def test_an_issuer_is_loaded_where_that_makes_sense(write: Callable[..., Any]) -> None:
    path = write("my_issuer.py", ISSUER)
    [operator] = load_controllers([path], issuers=True)
    assert isinstance(sys.modules["my_issuer"].app, IssuerApp)
    assert operator is sys.modules["my_issuer"].app.operator
    with pytest.raises(UsageError, match=r"python .*my_issuer\.py run \(or crds, rbac\)"):
        load_controllers([path])


def test_an_issuer_that_cannot_sign_is_refused_with_the_line_to_write(
    write: Callable[..., Any],
) -> None:
    path = write("half_issuer.py", ISSUER.partition("@app.sign")[0])
    with pytest.raises(UsageError) as caught:
        load_controllers([path], issuers=True)
    told = str(caught.value)
    assert told.startswith(f"{path}: DemoIssuer: no function is registered with @app.sign")
    assert "async def sign(request: Request" in told
