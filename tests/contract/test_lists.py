"""Collections: selectors, pages, and which moment in history they show."""

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    PODS,
    SECRETS,
    config_map,
    gadget,
    install_gadgets,
    pod,
    secret,
)
from tests.support.contract.transcript import Conversation, contract

METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


async def make_labelled(api: Conversation) -> None:
    for name, labels in {
        "a": {"app": "web", "tier": "front"},
        "b": {"app": "web"},
        "c": {"app": "db", "tier": ""},
        "d": {},
    }.items():
        await api.post(CONFIG_MAPS, config_map(name, {"labels": labels}), recorded=False)


@contract
async def test_whole_namespaces(api: Conversation) -> None:
    await install_gadgets(api)
    await make_labelled(api)
    await api.get(CONFIG_MAPS)
    await api.get(SECRETS)
    await api.get(GADGETS)
    await api.post(GADGETS, gadget("a", spec={"size": 1}))
    await api.get(GADGETS)


@contract
async def test_across_namespaces(api: Conversation) -> None:
    await api.post(SECRETS, secret("a", {"labels": {"across": api.namespace}}))
    await api.get(f"/api/v1/secrets?labelSelector=across={api.namespace}")
    await api.get(f"/api/v1/secrets?fieldSelector=metadata.namespace={api.namespace}")


@contract
async def test_empty_collections(api: Conversation) -> None:
    await api.get(DEPLOYMENTS)
    await api.get(f"{DEPLOYMENTS}?limit=1")
    await api.get(DEPLOYMENTS, accept=METADATA_LIST)


LABEL_SELECTORS = [
    "app=web",
    "app==web",
    "app!=web",
    "app",
    "!app",
    "app in (web,db)",
    "app notin (web)",
    "app=web,tier",
    "app=web,tier!=front",
    "tier=",
    "tier in ()",
    "tier in (,front)",
    "app=",
    "",
    " app = web ",
    "app=web,app=db",
    "app>1",
    "app<7",
    "x/y=z",
]


@pytest.mark.parametrize("selector", LABEL_SELECTORS)
@contract
async def test_label_selectors(api: Conversation, selector: str) -> None:
    await make_labelled(api)
    await api.get(f"{CONFIG_MAPS}?labelSelector={selector}")


BAD_SELECTORS = [
    "app=web,",
    ",app=web",
    "app<x",
    "a b",
    "app in web",
    "app in (web",
    "=web",
    "app===web",
    "app=we b",
    "app=-x",
    "a/b/c=d",
    "UPPER/x=y",
    "app in (we b)",
    "!",
    "!app=web",
    "app notin",
    "(app)",
    "app=" + "x" * 64,
]


@pytest.mark.parametrize("selector", BAD_SELECTORS)
@contract
async def test_malformed_label_selectors(api: Conversation, selector: str) -> None:
    # Known difference: the words in which a selector is refused.
    await api.get(f"{CONFIG_MAPS}?labelSelector={selector}", same_words=False)


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name=a",
        "metadata.name==a",
        "metadata.name!=a",
        "metadata.name=nothing",
        "metadata.namespace=elsewhere",
        "metadata.name=a,metadata.namespace!=x",
        "metadata.labels.app=web",
        "data.x=y",
        "metadata.name=a,,",
        "metadata.name=a\\,b",
        "name=a",
    ],
)
@contract
async def test_field_selectors(api: Conversation, selector: str) -> None:
    await install_gadgets(api)
    await make_labelled(api)
    await api.post(GADGETS, gadget("a"), recorded=False)
    await api.get(f"{CONFIG_MAPS}?fieldSelector={selector}")
    await api.get(f"{GADGETS}?fieldSelector={selector}")


@contract
async def test_malformed_field_selectors(api: Conversation) -> None:
    await api.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name", same_words=False)
    await api.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name>a", same_words=False)


@contract
async def test_fields_of_kinds(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a", spec={"mode": "Fancy"}), recorded=False)
    await api.post(GADGETS, gadget("b"), recorded=False)
    await api.get(f"{GADGETS}?fieldSelector=spec.mode=Fancy")
    await api.get(f"{GADGETS}?fieldSelector=spec.mode!=Fancy")
    await api.get(f"{GADGETS}?fieldSelector=spec.size=1")
    await api.post(PODS, pod("p"), recorded=False)
    await api.get(f"{PODS}?fieldSelector=status.phase=Pending,spec.nodeName=")
    await api.get(f"{PODS}?fieldSelector=spec.restartPolicy!=Always")
    await api.get(f"{PODS}?fieldSelector=spec.nothing=x")
    await api.post(SECRETS, secret("s", type="example.com/x"), recorded=False)
    await api.get(f"{SECRETS}?fieldSelector=type=example.com/x")
    await api.get(f"{DEPLOYMENTS}?fieldSelector=spec.replicas=1")


@contract
async def test_pages(api: Conversation) -> None:
    await make_labelled(api)
    token = ""
    for _ in range(3):
        page = await api.get(f"{CONFIG_MAPS}?limit=2&continue={token}")
        token = page.body["metadata"].get("continue", "")
    await api.get(f"{CONFIG_MAPS}?limit=5")
    await api.get(f"{CONFIG_MAPS}?limit=500")


@contract
async def test_pages_of_custom_resources(api: Conversation) -> None:
    await install_gadgets(api)
    for name in "abc":
        await api.post(GADGETS, gadget(name), recorded=False)
    first = await api.get(f"{GADGETS}?limit=2")
    await api.get(f"{GADGETS}?limit=2&continue={first.body['metadata']['continue']}")


@contract
async def test_pages_show_one_moment(api: Conversation) -> None:
    await make_labelled(api)
    first = await api.get(f"{CONFIG_MAPS}?limit=1")
    token = first.body["metadata"]["continue"]
    await api.delete(f"{CONFIG_MAPS}/b")
    await api.post(CONFIG_MAPS, config_map("bb"))
    second = await api.get(f"{CONFIG_MAPS}?limit=10&continue={token}")
    api.note(first.version == second.version)


@contract
async def test_pages_with_selectors(api: Conversation) -> None:
    await make_labelled(api)
    for query in ("labelSelector=app", "fieldSelector=metadata.name!=a"):
        first = await api.get(f"{CONFIG_MAPS}?limit=2&{query}")
        token = first.body["metadata"]["continue"]
        await api.get(f"{CONFIG_MAPS}?limit=2&{query}&continue={token}")


@contract
async def test_last_page_without_a_limit(api: Conversation) -> None:
    await make_labelled(api)
    first = await api.get(f"{CONFIG_MAPS}?limit=1")
    await api.get(f"{CONFIG_MAPS}?continue={first.body['metadata']['continue']}")


@pytest.mark.parametrize(
    "query",
    ["continue=nonsense", "continue=e30", "continue=!", "limit=x", "limit=-1", "limit=1.5"],
)
@contract
async def test_malformed_pages(api: Conversation, query: str) -> None:
    await make_labelled(api)
    # Known difference: parsers describe errors of syntax in words of their own.
    await api.get(
        f"{CONFIG_MAPS}?{query}", same_words=query not in {"continue=nonsense", "continue=!"}
    )


@contract
async def test_pages_whose_rest_is_not_selected(api: Conversation) -> None:
    await make_labelled(api)
    query = f"{CONFIG_MAPS}?labelSelector=tier=front&limit=1"
    first = await api.get(query)
    await api.get(f"{query}&resourceVersion={first.version}")
    await api.get(f"{query}&resourceVersion={first.version}&resourceVersionMatch=Exact")
    page = await api.get(f"{CONFIG_MAPS}?labelSelector=app=web&limit=1")
    token = page.body["metadata"]["continue"]
    await api.get(f"{CONFIG_MAPS}?labelSelector=app=web&limit=1&continue={token}")


@contract
async def test_pages_at_a_version(api: Conversation) -> None:
    await make_labelled(api)
    first = await api.get(f"{CONFIG_MAPS}?limit=1")
    token = first.body["metadata"]["continue"]
    await api.get(f"{CONFIG_MAPS}?limit=1&continue={token}&resourceVersion={first.version}")
    await api.get(f"{CONFIG_MAPS}?limit=1&continue={token}&resourceVersion=0")
    await api.get(f"{CONFIG_MAPS}?limit=1&continue={token}&resourceVersionMatch=Exact")


@pytest.mark.parametrize("match", ["", "Exact", "NotOlderThan", "nonsense"])
@pytest.mark.parametrize("version", ["", "0", "current", "earlier", "nonsense"])
@pytest.mark.parametrize("limit", ["", "1"])
@contract
async def test_versions(api: Conversation, version: str, match: str, limit: str) -> None:
    made = await api.post(CONFIG_MAPS, config_map("a", {"labels": {"l": "1"}}), recorded=False)
    await api.post(CONFIG_MAPS, config_map("b", {"labels": {"l": "1"}}), recorded=False)
    changed = await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}}, recorded=False)
    await api.get(CONFIG_MAPS, recorded=False)  # brings the cache up to date
    asked = {"current": changed.version, "earlier": made.version}.get(version, version)
    query = [f"resourceVersion={asked}", f"resourceVersionMatch={match}", f"limit={limit}"]
    chosen = "&".join(part for part in query if not part.endswith("="))
    await api.get(f"{CONFIG_MAPS}?labelSelector=l&{chosen}")


@contract
async def test_versions_of_the_future(api: Conversation) -> None:
    answer = await api.get(f"{CONFIG_MAPS}?resourceVersion=999999999", recorded=False)
    cause = answer.body["details"]["causes"][0]
    api.note([answer.status, answer.body["reason"], cause, answer.body["message"].split(",")[0]])


@contract
async def test_options_of_watches(api: Conversation) -> None:
    await api.get(f"{CONFIG_MAPS}?sendInitialEvents=true")
    await api.get(f"{CONFIG_MAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
    await api.get(f"{CONFIG_MAPS}?allowWatchBookmarks=true&timeoutSeconds=1")
    await api.get(f"{CONFIG_MAPS}?watch=false")
    await api.get(f"{CONFIG_MAPS}?timeoutSeconds=x")


@contract
async def test_metadata_only(api: Conversation) -> None:
    await install_gadgets(api)
    await make_labelled(api)
    await api.post(GADGETS, gadget("a"), recorded=False)
    for path in (CONFIG_MAPS, GADGETS):
        await api.get(path, accept=METADATA_LIST)
        await api.get(f"{path}?limit=1", accept=METADATA_LIST)
    await api.get(f"{CONFIG_MAPS}?labelSelector=app=db", accept=METADATA_LIST)


@contract
async def test_order_is_by_name(api: Conversation) -> None:
    for name in ("b", "a-1", "a.1", "a1", "a", "z"):
        await api.post(CONFIG_MAPS, config_map(name), recorded=False)
    found = await api.get(CONFIG_MAPS, recorded=False)
    api.note([item["metadata"]["name"] for item in found.body["items"]])
