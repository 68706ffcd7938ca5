"""Built-in kinds: what the server adds to objects, and what it refuses."""

import copy
from typing import Any

import pytest
from tests.support.contract.manifests import (
    ACCESS,
    CHANGES,
    CONFIG,
    OTHERS,
    PODS,
    SERVICES,
    WORKLOADS,
)
from tests.support.contract.transcript import Answer, Conversation, contract

from certwright.kube.kinds import BUILT_IN

Json = dict[str, Any]

RESOURCES = {(resource.api_version, resource.kind): resource for resource in BUILT_IN}


def collection(manifest: Json) -> str:
    resource = RESOURCES[manifest["apiVersion"], manifest["kind"]]
    path = resource.path("ns" if resource.namespaced else "")
    return path.replace("/namespaces/ns/", "/namespaces/{ns}/")


def observed(answer: Answer) -> Json:
    """Return what counts of an answer: the object, or the causes in any order."""
    if answer.status >= 400:
        causes = (answer.body.get("details") or {}).get("causes")
        if not causes:
            return {"status": answer.status, "message": answer.body["message"]}
        return {"status": answer.status, "causes": sorted(causes, key=str)}
    body = copy.deepcopy(answer.body)
    spec = body.get("spec") or {}
    if spec.get("clusterIP") not in {None, "", "None"}:  # allocated by chance
        spec |= {"clusterIP": "<address>", "clusterIPs": ["<address>"]}
    if body["kind"] == "Service":
        for port in spec.get("ports") or ():
            if "nodePort" in port:
                port["nodePort"] = "<port>"
    return {"status": answer.status, "body": body}


async def try_all(api: Conversation, manifests: list[Json]) -> None:
    for manifest in manifests:
        path = f"{collection(manifest)}?dryRun=All"
        answer = await api.post(path, manifest, recorded=False)
        api.note({"asked": f"{manifest['kind']} {manifest['metadata']['name']}"} | observed(answer))


@contract
async def test_config(api: Conversation) -> None:
    await try_all(api, CONFIG)


@contract
async def test_services(api: Conversation) -> None:
    await try_all(api, SERVICES)


@contract
async def test_pods(api: Conversation) -> None:
    await try_all(api, PODS)


@contract
async def test_workloads(api: Conversation) -> None:
    await try_all(api, WORKLOADS)


@contract
async def test_access(api: Conversation) -> None:
    await try_all(api, ACCESS)


@contract
async def test_other_kinds(api: Conversation) -> None:
    await try_all(api, OTHERS)


def change(manifest: Json, changes: dict[str, Any]) -> Json:
    changed = copy.deepcopy(manifest)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = changed
        for name in parents:
            place = place[name]
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return changed


@pytest.mark.parametrize(("manifest", "changes"), CHANGES)
@pytest.mark.real
async def test_updates(
    embedded: Conversation, real: Conversation, manifest: Json, changes: dict[str, Any]
) -> None:
    heard = []
    for api in (embedded, real):
        path = collection(manifest)
        made = await api.post(path, manifest, recorded=False)
        assert made.status == 201, made.body
        changed = change(made.body, changes)
        del changed["metadata"]["resourceVersion"]
        if manifest["kind"] == "Lease":
            changed["metadata"]["resourceVersion"] = made.version
        answer = await api.put(f"{path}/u?dryRun=All", changed, recorded=False)
        api.note(observed(answer))
        heard.append(api.heard[-1])

    assert heard[0] == heard[1]
