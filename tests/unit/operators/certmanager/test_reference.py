"""The reference page names every field, condition, reason and event there is."""

import re
from pathlib import Path

import msgspec
import pytest

from certwright.api import certmanagerdeployments as api
from certwright.bundles import errors
from certwright.operators.certmanager.engine.claim import NEXT
from certwright.operators.certmanager.engine.gates import GateReason
from certwright.operators.certmanager.engine.observed import VERSION_ANNOTATION
from certwright.operators.certmanager.engine.preflight import Hindrance
from certwright.operators.certmanager.redhat import messages, status
from certwright.operators.certmanager.request import Reason


def text(name: str) -> str:
    root = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
    return (root / "docs/reference" / name).read_text("utf-8")


@pytest.fixture(scope="module")
def page() -> str:
    return text("cert-manager-deployments.md")


def names(kind: type[msgspec.Struct]) -> list[str]:
    return [one.encode_name for one in msgspec.structs.fields(kind)]


def test_every_field_of_the_spec(page: str) -> None:
    both = page + text("cert-manager-settings.md")
    missing = [name for name in names(api.CertManagerDeploymentSpec) if name not in both]
    assert missing == []
    nested = [
        *(f"upgrade.{name}" for name in names(api.UpgradeSpec)),
        *(f"deletionPolicy.{name}" for name in names(api.DeletionPolicySpec)),
    ]
    assert [name for name in nested if f"`{name}`" not in page] == []


def test_every_field_of_the_status(page: str) -> None:
    fields = [*names(api.CertManagerDeploymentStatus), *names(api.StepStatus)]
    assert [name for name in fields if f"`{name}`" not in page] == []


def test_every_condition_and_reason(page: str) -> None:
    source = Path(str(status.__file__)).read_text("utf-8")
    written = set(re.findall(r'"([A-Z][a-z]+(?:[A-Z][A-Za-z]+)?)"', source))
    written -= {"True", "False", "Unknown", "AllDeploymentsHealthy", "AllCRDsHealthy"}
    assert {"StepTimedOut", "Available", "RemovalBlocked"} <= written
    reasons = {*map(str, GateReason), *map(str, Hindrance), *map(str, Reason)} - {"Passed"}
    reasons |= {errors.MISSING, errors.CORRUPT}
    assert [name for name in sorted(written | reasons) if f"`{name}`" not in page] == []


def test_every_event(page: str) -> None:
    source = Path(str(messages.__file__)).read_text("utf-8")
    written = set(re.findall(r'"([A-Z][a-z]+[A-Z][A-Za-z]+)"', source))
    events = {name for name in written if not name.endswith(("Definition", "Configuration"))}
    assert {"DriftCorrected", "UpgradeStarted"} <= events
    known = {"CertManagerDeployment"}
    assert [name for name in sorted(events - known) if f"`{name}`" not in page] == []
    verbs = set(re.findall(r'f"([A-Z][a-z]+)\{word\}"', source))
    assert [verb for verb in sorted(verbs) if f"`{verb}<Kind>`" not in page] == []


def test_every_mark(page: str) -> None:
    marks = [VERSION_ANNOTATION, NEXT, *(f"{api.GROUP}/{x}" for x in ("owner", "origin", "digest"))]
    assert [name for name in marks if f"`{name}`" not in page] == []
