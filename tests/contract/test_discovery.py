"""Discovery: what a server says it serves, for the kinds both have."""

from typing import Any

import orjson
import pytest
from tests.support.contract.samples import DEFINITION, install_gadgets
from tests.support.contract.transcript import Conversation, contract

from certwright.apiserver import ApiServer
from certwright.client import Request

Json = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GROUPS = [
    "apps",
    "batch",
    "rbac.authorization.k8s.io",
    "coordination.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "policy",
    "autoscaling",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "authorization.k8s.io",
    "authentication.k8s.io",
    "certificates.k8s.io",
    "discovery.k8s.io",
    "storage.k8s.io",
    "scheduling.k8s.io",
]


def served(path: str) -> set[str]:
    """Return the resources the embedded server serves under a path."""
    answer = ApiServer().handle(Request("get", "GET", path))
    return {entry["name"] for entry in orjson.loads(answer.body)["resources"]}


def common(found: Json, names: set[str]) -> list[Json]:
    """Return the entries about what both servers have; hashes of storage versions differ."""
    return sorted(
        (
            {key: value for key, value in entry.items() if key != "storageVersionHash"}
            for entry in found["resources"]
            if entry["name"] in names
        ),
        key=lambda entry: entry["name"],
    )


def known_parts(entry: Json, names: set[str]) -> list[Json]:
    return [
        part
        for part in entry.get("subresources", ())
        if f"{entry['resource']}/{part['subresource']}" in names
    ]


@pytest.mark.parametrize("group", ["", *GROUPS])
@contract
async def test_resources(api: Conversation, group: str) -> None:
    version = "v2" if group == "autoscaling" else "v1"
    path = f"/apis/{group}/{version}" if group else "/api/v1"
    found = await api.get(path, recorded=False)
    api.note([found.status, found.body["kind"], found.body["groupVersion"]])
    api.note(common(found.body, served(path)))


@contract
async def test_groups(api: Conversation) -> None:
    found = await api.get("/apis", recorded=False)
    api.note([found.body["kind"], found.body["apiVersion"]])
    api.note([group["name"] for group in found.body["groups"] if group["name"] in GROUPS])
    for group in ("apps", "rbac.authorization.k8s.io", "batch"):
        await api.get(f"/apis/{group}")
    await api.get("/apis/nothing.example.com")
    await api.get("/apis/apps/v9")


@contract
async def test_core_versions(api: Conversation) -> None:
    found = await api.get("/api", recorded=False)
    api.note([found.body["kind"], found.body["versions"]])
    await api.get("/api/v9")


@contract
async def test_custom_resources(api: Conversation) -> None:
    await install_gadgets(api)
    group = DEFINITION["spec"]["group"]
    found = await api.get(f"/apis/{group}/v1", recorded=False)
    api.note(common(found.body, {entry["name"] for entry in found.body["resources"]}))
    await api.get(f"/apis/{group}")


@contract
async def test_aggregated(api: Conversation) -> None:
    await install_gadgets(api)
    for path in ("/api", "/apis"):
        found = await api.get(path, accept=AGGREGATED, recorded=False)
        api.note([found.status, found.body["kind"], found.body["apiVersion"]])
        for group in found.body["items"]:
            name = group["metadata"].get("name", "")
            if name not in {"", "apps", "rbac.authorization.k8s.io", "coordination.k8s.io"}:
                continue
            version = next(v for v in group["versions"] if v["version"] == "v1")
            names = served(f"/apis/{name}/v1" if name else "/api/v1")
            both = [
                {**entry, "subresources": known_parts(entry, names)}
                for entry in version["resources"]
                if entry["resource"] in names
            ]
            api.note([name, sorted(both, key=lambda entry: entry["resource"])])


@contract
async def test_version(api: Conversation) -> None:
    found = await api.get("/version", recorded=False)
    api.note([found.body["major"], found.body["minor"], sorted(found.body)])


@contract
async def test_health(api: Conversation) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        await api.get(path)
