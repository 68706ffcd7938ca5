"""What a user can meet is in the reference: metrics, annotations, reasons, fields, options.

Names are taken from the code, so that a new one fails here until somebody has written it down.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from tests.architecture.conftest import Module
from typer.core import TyperCommand

import certwright.api
import certwright.apply
import certwright.issuer
import certwright.managed
import certwright.operators
import certwright.testkit.actors
from certwright.cli.main import app
from certwright.issuer.run.metrics import IssuerMetrics
from certwright.kube import crd_manifest
from certwright.operators.garbagecollector import GarbageMetrics
from certwright.operators.managedresource.health import ResourceMetrics
from certwright.runtime import Metrics

KEY = re.compile(r"([a-z-]+\.)*(certwright\.dev|gardener\.cloud|cert-manager\.io)/[A-Za-z-]+")
REASON = re.compile(r"([A-Z][a-z]+){1,6}")
NO_REASONS = {"Normal", "Warning", "True", "False", "Unknown", "Progressing", "Synced"}
NO_REASONS |= {"SyncFailed", "Ready", "Kind", "Name"}
SHIPPED = ("ca", "selfsigned", "acme", "cfssl", "vault", "pkcs11")


@pytest.fixture(scope="module")
def page(root: Path) -> Callable[..., Any]:
    return lambda *names: "\n".join((root / "docs" / name).read_text("utf-8") for name in names)


@pytest.fixture(scope="module")
def docs(root: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(root.glob("docs/**/*.md")))


def test_every_metric_is_in_the_reference(root: Path, page: Callable[..., Any]) -> None:
    metrics = Metrics()
    ResourceMetrics(metrics), GarbageMetrics(metrics), IssuerMetrics(metrics)
    names = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in metrics.registry.collect()
    }
    sources = "".join(path.read_text("utf-8") for path in root.glob("src/certwright/**/*.py"))
    names |= set(re.findall(r'"(certwright_[a-z_]+[a-z])"', sources))
    assert len(names) > 35
    text = page("reference/metrics.md")
    missing = sorted(name for name in names if f"`{name}`" not in text)
    assert not missing, missing


def test_every_annotation_and_label_is_documented(docs: str) -> None:
    packages = (
        certwright.api,
        certwright.apply,
        certwright.issuer,
        certwright.managed,
        certwright.operators,
        certwright.testkit.actors,
    )
    keys = {key for package in packages for key in keys_of(package)}
    assert len(keys) > 30
    missing = sorted(
        key for key in keys if key not in docs and f"`…/{key.partition('/')[2]}`" not in docs
    )
    assert not missing, missing


def keys_of(package: ModuleType) -> Iterator[str]:
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not info.name.endswith("__main__"):
            module = importlib.import_module(info.name)
            texts = (value for name, value in vars(module).items() if name.isupper())
            for text in texts:
                if isinstance(text, str) and KEY.fullmatch(text):
                    yield text


@pytest.mark.parametrize(
    ("package", "names"),
    [
        (
            "certwright.operators.managedresource",
            ["reference/managed-resources.md", "how-to/immutable-configuration.md"],
        ),
        ("certwright.issuer", ["reference/issuer.md"]),
    ],
)
def test_every_reason_is_documented(
    modules: list[Module], page: Callable[..., Any], package: str, names: list[str]
) -> None:
    ours = [m for m in modules if m.name.startswith(package) and ".conformance" not in m.name]
    found = {reason for module in ours for reason in reasons_in(module.tree)}
    assert len(found) > 10
    text = page(*names)
    missing = sorted(reason for reason in found if f"`{reason}`" not in text)
    assert not missing, missing


def reasons_in(tree: ast.Module) -> Iterator[str]:
    """Words in calls that make a condition or an event, or are given as a reason."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
        said = (
            node.args
            if name in {"ConditionUpdate", "StatusEvent", "WaitReason", "event", "_event"}
            else []
        )
        said = [*said, *(word.value for word in node.keywords if word.arg == "reason")]
        for one in said:
            text = one.value if isinstance(one, ast.Constant) else None
            if isinstance(text, str) and REASON.fullmatch(text) and text not in NO_REASONS:
                yield text


@pytest.mark.parametrize("name", SHIPPED)
def test_every_field_of_a_shipped_issuer_is_in_the_reference(
    page: Callable[..., Any], name: str
) -> None:
    shipped = importlib.import_module(f"certwright.issuers.{name}").app.namespaced_kind
    _, _, rest = page("reference/issuers.md").partition(f"\n## {name}\n")
    section = rest.partition("\n## ")[0]
    assert section
    schema = crd_manifest(shipped)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = schema["properties"]["spec"].get("properties", {})
    missing = [field for field in fields if f"`{field}`" not in section]
    assert not missing, missing


def commands(command: Any, *words: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(words), command
    for name, one in (inner or {}).items():
        yield from commands(one, *words, name)


@pytest.mark.parametrize(
    ("name", "command"),
    [pytest.param(n, c, id=n) for n, c in commands(typer.main.get_command(app))],
)
def test_every_option_of_a_command_is_in_the_reference(
    page: Callable[..., Any], name: str, command: TyperCommand
) -> None:
    text = page("reference/cli.md", "reference/conformance.md", "reference/managed-resources.md")
    assert re.search(rf"certwright [a-z|\\]*\b{name.split(maxsplit=1)[0]}\b", text), name
    options = [one.opts for one in command.params if one.param_type_name == "option"]
    missing = [names for names in options if not any(mentioned(name, text) for name in names)]
    assert not missing, missing


def mentioned(option: str, text: str) -> re.Match[str] | None:
    return re.search(rf"[` ]{option}\b", text)
