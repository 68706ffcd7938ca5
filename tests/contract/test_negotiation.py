"""In which form clients want answers: objects, metadata, tables."""

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    PODS,
    SECRETS,
    SERVICES,
    config_map,
    deployment,
    gadget,
    install_gadgets,
    obj,
    pod,
    secret,
)
from tests.support.contract.transcript import Conversation, contract

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


async def make_some(api: Conversation) -> None:
    await install_gadgets(api)
    service = obj("v1", "Service", "a", spec={"clusterIP": "None", "selector": {"a": "b"}})
    for path, body in (
        (SECRETS, secret("a", data={"x": "eA=="})),
        (GADGETS, gadget("a", spec={"size": 3})),
        (DEPLOYMENTS, deployment("a")),
        (SERVICES, service),
        (PODS, pod("a")),
    ):
        await api.post(path, body, recorded=False)


@pytest.mark.parametrize("path", [SECRETS, GADGETS, DEPLOYMENTS, SERVICES, PODS])
@contract
async def test_tables(api: Conversation, path: str) -> None:
    await make_some(api)
    await api.get(path, accept=TABLE)
    await api.get(f"{path}/a", accept=TABLE)


@contract
async def test_objects_in_tables(api: Conversation) -> None:
    await make_some(api)
    for include in ("None", "Metadata", "Object", "Nothing", ""):
        await api.get(f"{SECRETS}?includeObject={include}", accept=TABLE)
    await api.get(f"{GADGETS}?includeObject=Object", accept=TABLE)


@contract
async def test_empty_tables(api: Conversation) -> None:
    await install_gadgets(api)
    await api.get(SECRETS, accept=TABLE)
    await api.get(GADGETS, accept=TABLE)


@contract
async def test_tables_in_pages(api: Conversation) -> None:
    for name in "abc":
        await api.post(SECRETS, secret(name), recorded=False)
    await api.get(f"{SECRETS}?limit=2", accept=TABLE)


@contract
async def test_metadata(api: Conversation) -> None:
    await make_some(api)
    for path in (SECRETS, GADGETS):
        await api.get(f"{path}/a", accept=METADATA)
        await api.get(path, accept=METADATA)
        await api.get(f"{path}/nothing", accept=METADATA)


@contract
async def test_metadata_of_writes(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"), accept=METADATA)
    await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}}, accept=METADATA)
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"z": "y"}), "me", accept=METADATA)
    await api.delete(f"{CONFIG_MAPS}/a", accept=METADATA)


@contract
async def test_tables_of_writes(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"), accept=TABLE)
    await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}}, accept=TABLE)
    await api.delete(f"{CONFIG_MAPS}/a", accept=TABLE)


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/*",
        "",
        "application/json, */*",
        f"{TABLE},application/json",
        f"application/json,{TABLE}",
        "application/json;as=Table;g=meta.k8s.io;v=v1beta9,application/json",
        "application/json;as=Nothing;g=meta.k8s.io;v=v1",
        "application/json;as=Table;g=other;v=v1",
        "application/json;as=Table",
        "text/html",
        "text/html,*/*;q=0.8",
        "application/json;q=0.5",
        "application/xml, application/json",
        "nonsense",
        "application/json;charset=utf-8",
        "application/json;stream=watch",
    ],
)
@contract
async def test_wishes(api: Conversation, accept: str) -> None:
    await api.post(SECRETS, secret("a"), recorded=False)
    await api.get(f"{SECRETS}/a", accept=accept)
    await api.get(SECRETS, accept=accept)


@contract
async def test_refusals_are_always_status(api: Conversation) -> None:
    for accept in (TABLE, METADATA, "text/html"):
        await api.get(f"{SECRETS}/nothing", accept=accept)
        await api.post(SECRETS, secret("BAD NAME"), accept=accept)


@contract
async def test_pretty_answers(api: Conversation) -> None:
    await api.post(SECRETS, secret("a"), recorded=False)
    await api.get(f"{SECRETS}/a?pretty=true")
