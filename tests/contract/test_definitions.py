"""CustomResourceDefinitions and the objects they allow."""

from typing import Any

import pytest
from tests.support.contract.definitions import (
    RULED,
    RULED_BEFORE,
    RULED_CHANGES,
    RULED_SPECS,
    SCHEMAS,
    STRUCTURAL,
    STRUCTURAL_SPECS,
    TEXT,
    VERSIONS,
    Json,
    crd,
    with_spec,
)
from tests.support.contract.transcript import Answer, Conversation, contract

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def observed(answer: Answer) -> Json:
    """Return what counts of an answer: the object, or the causes in any order."""
    if answer.status < 400:
        return {"status": answer.status, "body": answer.body}
    causes = (answer.body.get("details") or {}).get("causes")
    if not causes:
        return {"status": answer.status, "message": answer.body["message"]}
    return {"status": answer.status, "causes": sorted(causes, key=str)}


@contract
async def test_schemas(api: Conversation) -> None:
    for number, schema in enumerate(SCHEMAS):
        definition = crd(f"w{number}s", schema)
        answer = await api.post(f"{DEFINITIONS}?dryRun=All", definition, recorded=False)
        api.note({"asked": f"schema {number}"} | observed(answer))


@contract
async def test_versions(api: Conversation) -> None:
    for number, part in enumerate(VERSIONS):
        definition = crd(f"w{number}s", with_spec(TEXT), **part)
        answer = await api.post(f"{DEFINITIONS}?dryRun=All", definition, recorded=False)
        api.note({"asked": f"version {number}"} | observed(answer))


async def define(api: Conversation, schema: Json) -> str:
    """Create a definition of the test's own and return where its objects are."""
    group = f"{api.namespace}.example.com"
    await api.post(DEFINITIONS, crd("widgets", schema, group), recorded=False)
    path = f"/apis/{group}/v1/namespaces/{{ns}}/widgets"
    await api.until(path, lambda answer: answer.status == 200)
    api.start()
    return path


def widget(api: Conversation, name: str, spec: object) -> Json:
    kind = {"apiVersion": f"{api.namespace}.example.com/v1", "kind": "Widget"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("schema", "specs"), [(STRUCTURAL, STRUCTURAL_SPECS), (RULED, RULED_SPECS)]
)
@pytest.mark.real
async def test_objects(
    embedded: Conversation, real: Conversation, schema: Json, specs: list[Any]
) -> None:
    for api in (embedded, real):
        path = await define(api, schema)
        for number, spec in enumerate(specs):
            body = widget(api, f"w{number}", spec)
            answer = await api.post(f"{path}?dryRun=All", body, recorded=False)
            api.note({"asked": spec} | observed(answer))

    for ours, theirs in zip(embedded.heard, real.heard, strict=True):
        assert ours == theirs


@contract
async def test_rules_about_changes(api: Conversation) -> None:
    path = await define(api, RULED)
    for number, changes in enumerate(RULED_CHANGES):
        made = await api.post(path, widget(api, f"w{number}", RULED_BEFORE), recorded=False)
        spec = {k: v for k, v in {**made.body["spec"], **changes}.items() if v is not None}
        answer = await api.put(f"{path}/w{number}", {**made.body, "spec": spec}, recorded=False)
        api.note({"asked": changes} | observed(answer))
