"""Kinds of our own over time: several versions, and definitions that change."""

from copy import deepcopy

from tests.support.contract.samples import CRDS
from tests.support.contract.things import (
    TEXT,
    Things,
    answering,
    definition,
    install,
    remove,
    twins,
    two_versions,
    version,
)
from tests.support.contract.transcript import Conversation, contract
from tests.support.waits import until


@contract
async def test_an_object_is_read_in_every_version(api: Conversation) -> None:
    things = await install(api, two_versions(api), "v1", "v1beta1")
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1, "both": "x"}))
    await api.get(things.at("v1", "a"))
    await api.get(things.at("v1beta1", "a"))
    await api.get(things.at("v1beta1"))
    await api.post(things.at("v1beta1"), things.new("v1beta1", "b", spec={"hue": "h", "both": "y"}))
    await api.get(things.at("v1beta1", "b"))
    await api.get(things.at("v1", "b"))
    await api.get(things.at("v1"))
    await remove(api)


@contract
async def test_fields_of_another_version_are_unknown(api: Conversation) -> None:
    things = await install(api, two_versions(api), "v1", "v1beta1")
    await api.post(things.at("v1"), things.new("v1", spec={"hue": "h"}))
    strict = "?fieldValidation=Strict"
    await api.post(things.at("v1beta1") + strict, things.new("v1beta1", "b", spec={"color": "c"}))
    await api.post(things.at("v1beta1"), things.new("v1", "c", spec={}))
    await api.post(things.at("v1beta1"), things.new("v1beta1", "d", spec={"color": "c"}))
    await api.get(things.at("v1", "d"))
    await remove(api)


@contract
async def test_writes_in_turns(api: Conversation) -> None:
    things = await install(api, twins(api), "v1", "v1beta1")
    made = await api.post(things.at("v1"), things.new("v1", spec={"size": 1}))
    await api.merge(things.at("v1beta1", "a?fieldManager=other"), {"spec": {"size": 2}})
    await api.put(things.at("v1", "a"), {**made.body, "spec": {"size": 3}})
    now = await api.get(things.at("v1beta1", "a"))
    await api.put(things.at("v1beta1", "a"), {**now.body, "spec": {"both": "x"}})
    await api.merge(things.at("v1beta1", "a/status"), {"status": {"phase": "P"}})
    await api.get(things.at("v1", "a"))
    await api.json_patch(
        things.at("v1beta1", "a"), [{"op": "test", "path": "/apiVersion", "value": "x"}]
    )
    await api.delete(things.at("v1beta1", "a"))
    await remove(api)


@contract
async def test_ownership_across_versions(api: Conversation) -> None:
    things = await install(api, twins(api), "v1", "v1beta1")
    mine = things.new("v1", spec={"size": 1, "both": "x"})
    theirs = things.new("v1beta1", spec={"size": 2, "color": "c"})
    await api.apply(things.at("v1", "a"), mine, "me")
    await api.apply(things.at("v1beta1", "a"), theirs, "them")
    await api.apply(things.at("v1beta1", "a"), theirs, "them", force=True)
    await api.get(things.at("v1", "a"))
    await api.apply(things.at("v1", "a"), things.new("v1", spec={"both": "x"}), "me")
    await api.apply(things.at("v1beta1", "a"), things.new("v1beta1", spec={"both": "x"}), "me")
    await api.apply(things.at("v1beta1", "a"), things.new("v1beta1", spec={}), "me")
    await api.get(things.at("v1", "a"))
    await remove(api)


@contract
async def test_ownership_across_versions_that_differ(api: Conversation) -> None:
    things = await install(api, two_versions(api), "v1", "v1beta1")
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1, "both": "x"}))
    await api.merge(things.at("v1beta1", "a"), {"spec": {"size": 2}})
    await api.get(things.at("v1", "a"))
    await api.post(things.at("v1"), things.new("v1", "b", spec={"size": 1}))
    mine = things.new("v1beta1", "b", spec={"both": "x"})
    await api.apply(things.at("v1beta1", "b"), mine, "me")
    await api.apply(things.at("v1", "b"), things.new("v1", "b", spec={"both": "x"}), "me")
    await api.merge(things.at("v1", "b"), {"spec": {"size": 2}})
    await api.apply(things.at("v1beta1", "b"), mine, "me", force=True)
    await api.get(things.at("v1", "b"))
    await remove(api)


@contract
async def test_owners_in_a_version_that_is_gone(api: Conversation) -> None:
    manifest = twins(api)
    things = await install(api, manifest, "v1", "v1beta1")
    for name in ("a", "b"):
        await api.apply(
            things.at("v1beta1", name), things.new("v1beta1", name, spec={"size": 1}), "me"
        )
    where = f"{CRDS}/{manifest['metadata']['name']}"
    first, second = manifest["spec"]["versions"]
    await api.merge(where, {"spec": {"versions": [first, {**second, "name": "v2"}]}})
    # The kind is served anew a moment later: the new version tells.
    await answering(api, things.at("v2"), lambda answer: answer.status == 200)
    await api.merge(things.at("v1", "a"), {"spec": {"size": 2}})
    await api.apply(things.at("v1", "b"), things.new("v1", "b", spec={"size": 2}), "me")
    await api.get(things.at("v1", "b"))
    await remove(api)


@contract
async def test_watches_per_version(api: Conversation) -> None:
    things = await install(api, twins(api), "v1", "v1beta1")
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1, "both": "x"}))
    for name in ("v1", "v1beta1"):
        await api.watch(things.at(name), 1)
    first = await api.get(things.at("v1beta1", "a"))
    await api.merge(things.at("v1beta1", "a"), {"spec": {"size": 2}})
    await api.delete(things.at("v1", "a"))
    for name in ("v1", "v1beta1"):
        await api.watch(f"{things.at(name)}?resourceVersion={first.version}", 2)
    await remove(api)


@contract
async def test_another_version_is_stored(api: Conversation) -> None:
    manifest = two_versions(api)
    things = await install(api, manifest, "v1", "v1beta1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1, "color": "green"}))
    swapped = [{**each, "storage": not each["storage"]} for each in manifest["spec"]["versions"]]
    await api.merge(where, {"spec": {"versions": swapped}})
    # The kind is served anew a moment later: a field only the new version has tells.
    await _until_stored_in(api, things, "hue")
    await api.get(where)
    await api.get(things.at("v1", "a"))
    await api.get(things.at("v1beta1", "a"))
    await api.merge(things.at("v1", "a"), {"spec": {"size": 2}})
    await api.get(things.at("v1beta1", "a"))
    await api.post(things.at("v1"), things.new("v1", "b", spec={"color": "c"}))
    await api.get(things.at("v1", "b"))
    await api.merge(f"{where}/status", {"status": {"storedVersions": ["v1beta1"]}})
    await remove(api)


async def _until_stored_in(api: Conversation, things: Things, field: str) -> None:
    dry = things.at("v1beta1") + "?dryRun=All"
    body = things.new("v1beta1", "probe", spec={field: "kept"})

    async def kept() -> bool:
        made = await api.post(dry, body, recorded=False)
        return made.status == 201 and made.body["spec"].get(field) == "kept"

    await until(f"{field} is stored", kept)


@contract
async def test_a_version_that_is_not_served(api: Conversation) -> None:
    manifest = definition(
        api, version("v1", storage=True), version("v1alpha1", served=False), version("v1beta1")
    )
    things = await install(api, manifest, "v1", "v1beta1")
    await api.get(things.at("v1alpha1"))
    await api.get(things.at("v2"))
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1}))
    for each in manifest["spec"]["versions"]:
        each["served"] = each["name"] != "v1beta1"
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.merge(where, {"spec": {"versions": manifest["spec"]["versions"]}})
    await answering(api, things.at("v1beta1"), lambda answer: answer.status == 404)
    await answering(api, things.at("v1alpha1"), lambda answer: answer.status == 200)
    await api.get(things.at("v1beta1", "a"))
    await api.get(things.at("v1alpha1", "a"))
    await remove(api)


@contract
async def test_the_stored_version_need_not_be_served(api: Conversation) -> None:
    manifest = definition(api, version("v1"), version("v2", storage=True, served=False, color=TEXT))
    things = await install(api, manifest, "v1")
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1}))
    await api.get(things.at("v1", "a"))
    await api.apply(things.at("v1", "a"), things.new("v1", spec={"size": 2}), "me", force=True)
    await api.get(things.at("v2", "a"))
    await api.delete(things.at("v1", "a"))
    await remove(api)


@contract
async def test_fields_and_defaults_are_added(api: Conversation) -> None:
    manifest = definition(api, version("v1", storage=True))
    things = await install(api, manifest, "v1")
    made = await api.post(things.at("v1"), things.new("v1", spec={"size": 1, "color": "c"}))
    added = deepcopy(manifest)
    added["spec"]["versions"] = [
        version("v1", storage=True, color=TEXT, mode={**TEXT, "default": "Plain"})
    ]
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.merge(where, {"spec": {"versions": added["spec"]["versions"]}})
    await answering(api, things.at("v1", "a"), lambda answer: "mode" in answer.body.get("spec", {}))
    now = await api.get(things.at("v1", "a"))
    api.note(now.version == made.version)
    await api.get(things.at("v1"))
    await api.merge(things.at("v1", "a"), {"spec": {"color": "green"}})
    await api.get(things.at("v1", "a"))
    await remove(api)


@contract
async def test_rules_become_stricter(api: Conversation) -> None:
    manifest = definition(api, version("v1", storage=True, color=TEXT))
    things = await install(api, manifest, "v1")
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1, "color": "mauve"}))
    choice = {**TEXT, "enum": ["red", "green"]}
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.merge(where, {"spec": {"versions": [version("v1", storage=True, color=choice)]}})
    wrong = things.new("v1", "b", spec={"color": "mauve"})

    async def refused() -> bool:
        made = await api.post(things.at("v1") + "?dryRun=All", wrong, recorded=False)
        return made.status == 422

    await until("the new rule is heeded", refused)
    await api.post(things.at("v1"), wrong)
    await api.get(things.at("v1", "a"))
    await api.merge(things.at("v1", "a"), {"spec": {"size": 2}})
    await api.merge(things.at("v1", "a"), {"spec": {"color": "blue"}})
    await api.merge(things.at("v1", "a"), {"spec": {"color": "red"}})
    await remove(api)
