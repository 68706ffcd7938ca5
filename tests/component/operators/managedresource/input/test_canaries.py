"""What a Secret holds is told to no one: not in conditions, events, statuses, logs or output."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, CoreEvent, Event, Secret
from certwright.kube.redaction import LAST_APPLIED

CANARY = "canary-4711"
VALUE = f'p&w"<{CANARY}>\n'

Keeping = Any


def secret(**parts: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "inner"}, **parts}


def manifest(obj: JsonObject) -> Callable[[Keeping], str]:
    return lambda keeping: keeping.json(obj)


def copied() -> JsonObject:
    copy = json.dumps(secret(stringData={"password": VALUE}))
    return {"name": "inner", "annotations": {LAST_APPLIED: copy}}


PATHS: dict[str, Callable[[Keeping], str]] = {
    "a map instead of a text": manifest(secret(stringData={"password": {"x": VALUE}})),
    "a list instead of a map": manifest(secret(stringData=[VALUE])),
    "a text instead of a map": manifest(secret(data=VALUE)),
    "no base64": manifest(secret(data={"password": VALUE})),
    "a key that is none": manifest(secret(stringData={"pass word": VALUE})),
    "no label": manifest(
        secret(metadata={**copied(), "labels": {"a b": "c"}}, stringData={"password": VALUE})
    ),
    "a scalar with a wrong tag": lambda _: f"stringData:\n  password: !!int {CANARY}\n",
    "a scalar that is no number": lambda _: f"stringData: {{a: !!float '{CANARY}'}}\n",
    "a separator inside": lambda _: f"stringData:\n  key: |\n---{CANARY}\n",
    "a quote that never ends": lambda _: f'stringData: {{a: "{CANARY}\n',
    "a tab": lambda _: f"stringData:\n\tpassword: {CANARY}\n",
    "an alias": lambda _: f"stringData: *{CANARY}\n",
    "no object": lambda _: f"- {CANARY}\n",
    "a text": lambda _: f"{CANARY}\n",
    "JSON that is none": lambda _: f'{{"stringData": {{"a": "{CANARY}"}} {CANARY}\n',
}


def spelt() -> list[str]:
    """Return what must not be seen: the canary itself, and how base64 begins."""
    return [CANARY, base64.b64encode(VALUE.encode()).decode()[:16]]


async def shown(keeping: Keeping, capfd: pytest.CaptureFixture[str]) -> str:
    """Return everything that others can read: objects other than Secrets, and the log."""
    cluster = keeping.cluster
    found = [await keeping.get("app")]
    for kind in (ConfigMap, Event, CoreEvent):
        found += await cluster.list(kind)
    return json.dumps(found) + "".join(capfd.readouterr())


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
async def test_refused_input_quotes_no_value(
    keeping: Keeping, path: Callable[[Keeping], str], capfd: pytest.CaptureFixture[str]
) -> None:
    await keeping.declare("app", path(keeping))
    await keeping.settle()
    told = await shown(keeping, capfd)
    assert (await keeping.conditions("app"))["Applied"].startswith("False/")
    assert [one for one in spelt() if one in told] == [], told


async def test_values_that_others_change_are_not_shown(
    keeping: Keeping, capfd: pytest.CaptureFixture[str]
) -> None:
    await keeping.declare("app", secret(stringData={"password": VALUE}))
    await keeping.settle()
    copy = json.dumps(secret(stringData={"password": f"{CANARY}-before"}))
    changed = base64.b64encode(f"{CANARY}-now".encode()).decode()
    change = {"metadata": {"annotations": {LAST_APPLIED: copy}}, "data": {"password": changed}}
    await keeping.cluster.patch(Secret, "inner", change)
    await keeping.settle()
    told = await shown(keeping, capfd)
    assert [one for one in (*spelt(), changed) if one in told] == []
