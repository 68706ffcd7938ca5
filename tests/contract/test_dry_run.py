"""Dry runs: everything happens except that anything is kept."""

from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    config_map,
    deployment,
    gadget,
    install_gadgets,
)
from tests.support.contract.transcript import Conversation, contract

DRY = "?dryRun=All"


@contract
async def test_creation(api: Conversation) -> None:
    await install_gadgets(api)
    for path, body in (
        (CONFIG_MAPS, config_map("a", data={"x": "1"})),
        (GADGETS, gadget("a", spec={"size": 1})),
        (DEPLOYMENTS, deployment("a")),
    ):
        await api.post(path + DRY, body)
        await api.get(f"{path}/a")


@contract
async def test_changes(api: Conversation) -> None:
    await install_gadgets(api)
    for path, body, field in (
        (CONFIG_MAPS, config_map("a", data={"x": "1"}), "data"),
        (GADGETS, gadget("a", spec={"size": 1}), "spec"),
    ):
        made = await api.post(path, body)
        await api.put(f"{path}/a{DRY}", {**made.body, field: {}})
        await api.merge(f"{path}/a{DRY}", {field: None})
        await api.json_patch(f"{path}/a{DRY}", [{"op": "remove", "path": f"/{field}"}])
        await api.get(f"{path}/a")


@contract
async def test_generation_counts_in_dry_runs(api: Conversation) -> None:
    await api.post(DEPLOYMENTS, deployment("a"))
    await api.merge(f"{DEPLOYMENTS}/a{DRY}", {"spec": {"replicas": 4}})
    await api.merge(f"{DEPLOYMENTS}/a", {"spec": {"replicas": 5}})


@contract
async def test_deletion(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    await api.post(CONFIG_MAPS, config_map("b", {"finalizers": ["example.com/a"]}))
    await api.delete(f"{CONFIG_MAPS}/a{DRY}")
    await api.delete(f"{CONFIG_MAPS}/b{DRY}")
    await api.delete(f"{CONFIG_MAPS}/a", {"dryRun": ["All"], "propagationPolicy": "Foreground"})
    await api.get(f"{CONFIG_MAPS}/a")
    await api.get(f"{CONFIG_MAPS}/b")


@contract
async def test_refusals(api: Conversation) -> None:
    made = await api.post(CONFIG_MAPS, config_map("a"))
    await api.post(CONFIG_MAPS + DRY, config_map("a"))
    await api.post(CONFIG_MAPS + DRY, config_map("BAD NAME"))
    await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}})
    await api.put(f"{CONFIG_MAPS}/a{DRY}", made.body)
    await api.delete(f"{CONFIG_MAPS}/nothing{DRY}")
    await api.merge(f"{CONFIG_MAPS}/nothing{DRY}", {})


@contract
async def test_nonsense(api: Conversation) -> None:
    await api.post(f"{CONFIG_MAPS}?dryRun=Some", config_map("a"))
    await api.post(f"{CONFIG_MAPS}?dryRun=", config_map("a"))
    await api.post(f"{CONFIG_MAPS}?dryRun=All&dryRun=All", config_map("b"))
    await api.get(CONFIG_MAPS)


@contract
async def test_generated_names(api: Conversation) -> None:
    body = config_map("", {"generateName": "made-"})
    made = await api.post(CONFIG_MAPS + DRY, body, recorded=False)
    api.note([made.status, made.body["metadata"]["name"].startswith("made-")])
    await api.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name!=kube-root-ca.crt")


@contract
async def test_last_finalizer(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a", {"finalizers": ["example.com/a"]}))
    await api.delete(f"{CONFIG_MAPS}/a")
    await api.merge(f"{CONFIG_MAPS}/a{DRY}", {"metadata": {"finalizers": None}})
    await api.get(f"{CONFIG_MAPS}/a")
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
