"""What a test class declares wrongly fails when tests are collected, and not in each case."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from certwright.issuer import IssuerApp
from certwright.issuer.conformance import Feature, IssuerConformance
from certwright.issuer.conformance.cases.features import read_unsupported


@dataclass(frozen=True)
class Spec:
    """Nothing to say."""


async def sign(_request: Any, _issuer: Any) -> Any:
    """Do nothing."""


def app(*, signs: bool) -> IssuerApp[Spec]:
    made = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=Spec)
    if signs:
        made.sign(sign)
    return made


def collect(**declared: Any) -> list[Any]:
    """Return the cases that become tests of a class."""
    made: list[Any] = []
    metafunc = SimpleNamespace(
        fixturenames=["conformance_item"],
        parametrize=lambda _name, items, ids: made.extend(zip(items, ids, strict=True)),
    )
    kind: Any = type("Declared", (IssuerConformance,), declared)
    kind().pytest_generate_tests(metafunc)
    return made


def test_every_case_becomes_a_test() -> None:
    cases = collect(app=app(signs=True), unsupported={"Duration": "the authority decides"})
    assert len(cases) > 60
    assert collect() == cases, "a fixture may bring the app later"


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"app": app(signs=False)}, r"no function is registered with @app\.sign: write"),
        ({"unsupported": {"SaveCA": "x"}}, "'SaveCA' is not a feature; choose from ACMEUseARI, "),
        ({"unsupported": [Feature.DURATION]}, r"write unsupported = \{Feature\.DURATION: "),
    ],
)
def test_mistakes_are_told_once(declared: dict[str, Any], complaint: str) -> None:
    with pytest.raises((TypeError, ValueError), match=complaint):
        collect(**declared)


def test_features_are_declared_by_themselves_or_by_name() -> None:
    assert read_unsupported({Feature.DURATION: "a", "OnlySAN": "b"}) == {
        Feature.DURATION: "a",
        Feature.ONLY_SAN: "b",
    }
