"""Kinds of our own over time: several versions, changed definitions, taken names, deletion."""

import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from samples import CRDS
from transcript import PATIENCE_SECONDS, Answer, Conversation, contract

Json = dict[str, Any]

_TEXT = {"type": "string"}


def version(name: str, *, storage: bool = False, served: bool = True, **fields: Json) -> Json:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, **fields}}
    status = {"type": "object", "properties": {"phase": _TEXT}}
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}
        },
        "subresources": {"status": {}},
    }


def group_of(api: Conversation) -> str:
    return f"{api.namespace}.example.com"


def definition(api: Conversation, *versions: Json, plural: str = "things", **names: Any) -> Json:
    """A kind in a group of the test's own."""
    kind = {"plural": plural, "kind": "Thing", **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group_of(api)}"},
        "spec": {
            "group": group_of(api),
            "scope": "Namespaced",
            "names": kind,
            "versions": list(versions),
        },
    }


def two_versions(api: Conversation) -> Json:
    return definition(
        api,
        version("v1", storage=True, color={**_TEXT, "default": "red"}, both=_TEXT),
        version("v1beta1", hue={**_TEXT, "default": "blue"}, both=_TEXT),
    )


def twins(api: Conversation) -> Json:
    """Versions with the same fields: others lose their owners on the real server."""
    fields = {"color": {**_TEXT, "default": "red"}, "both": _TEXT}
    return definition(api, version("v1", storage=True, **fields), version("v1beta1", **fields))


class Things:
    """The objects of such a kind."""

    def __init__(self, api: Conversation) -> None:
        self._api = api

    def at(self, version: str, name: str = "") -> str:
        where = f"/apis/{group_of(self._api)}/{version}/namespaces/{{ns}}/things"
        return f"{where}/{name}" if name else where

    def new(self, version: str, name: str = "a", **rest: Any) -> Json:
        return {
            "apiVersion": f"{group_of(self._api)}/{version}",
            "kind": "Thing",
            "metadata": {"name": name, **rest.pop("metadata", {})},
            **rest,
        }


async def install(api: Conversation, manifest: Json, *versions: str) -> Things:
    """Make a kind known and wait until it answers in these versions."""
    await api.post(CRDS, manifest, recorded=False)
    things = Things(api)
    for name in versions:
        await answering(api, things.at(name), lambda answer: answer.status == 200)
    return things


async def answering(api: Conversation, path: str, holds: Callable[[Answer], bool]) -> None:
    """Wait for what the server does a moment after a definition changed."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds(await api.get(path, recorded=False)):
            await asyncio.sleep(0.02)


async def remove(api: Conversation, *plurals: str) -> None:
    """Leave nothing behind on a server that others use as well."""
    for plural in plurals or ("things",):
        await api.delete(f"{CRDS}/{plural}.{group_of(api)}", recorded=False)


def is_(kind: str, status: str) -> Callable[[Answer], bool]:
    """Whether a condition has a status."""

    def holds(answer: Answer) -> bool:
        conditions = (answer.body.get("status") or {}).get("conditions") or ()
        return any(each["type"] == kind and each["status"] == status for each in conditions)

    return holds


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
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            body = things.new("v1beta1", "probe", spec={field: "kept"})
            made = await api.post(dry, body, recorded=False)
            if made.status == 201 and made.body["spec"].get(field) == "kept":
                return
            await asyncio.sleep(0.02)


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
    manifest = definition(
        api, version("v1"), version("v2", storage=True, served=False, color=_TEXT)
    )
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
        version("v1", storage=True, color=_TEXT, mode={**_TEXT, "default": "Plain"})
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
    manifest = definition(api, version("v1", storage=True, color=_TEXT))
    things = await install(api, manifest, "v1")
    await api.post(things.at("v1"), things.new("v1", spec={"size": 1, "color": "mauve"}))
    choice = {**_TEXT, "enum": ["red", "green"]}
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.merge(where, {"spec": {"versions": [version("v1", storage=True, color=choice)]}})
    wrong = things.new("v1", "b", spec={"color": "mauve"})
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (
            await api.post(things.at("v1") + "?dryRun=All", wrong, recorded=False)
        ).status != 422:
            await asyncio.sleep(0.02)
    await api.post(things.at("v1"), wrong)
    await api.get(things.at("v1", "a"))
    await api.merge(things.at("v1", "a"), {"spec": {"size": 2}})
    await api.merge(things.at("v1", "a"), {"spec": {"color": "blue"}})
    await api.merge(things.at("v1", "a"), {"spec": {"color": "red"}})
    await remove(api)


@contract
async def test_a_definition_that_is_accepted(api: Conversation) -> None:
    manifest = definition(
        api,
        version("v1", storage=True),
        shortNames=["th", "thg"],
        categories=["all"],
        singular="thing",
        listKind="ThingBunchList",
    )
    await api.post(CRDS, manifest)
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.until(where, is_("Established", "True"))
    await answering(api, Things(api).at("v1"), lambda answer: answer.status == 200)
    await api.get(Things(api).at("v1"))
    await api.merge(where, {"spec": {"names": {"shortNames": ["tg"]}}})
    await api.until(
        where, lambda answer: answer.body["status"]["acceptedNames"].get("shortNames") == ["tg"]
    )
    await api.merge(where, {"spec": {"names": {"kind": "Other"}}})
    await api.merge(where, {"spec": {"scope": "Cluster"}})
    await api.merge(where, {"spec": {"group": "other.example.com"}})
    await remove(api)


@pytest.mark.parametrize(
    "names",
    [
        {"kind": "Thing", "singular": "other"},
        {"kind": "Other", "singular": "thing"},
        {"kind": "Other", "listKind": "ThingList"},
        {"kind": "Other", "shortNames": ["o", "th"]},
        {"kind": "Other", "shortNames": ["things"]},
        {"kind": "Other", "singular": "th"},
        {"kind": "ThingList"},
        {"kind": "Thing", "singular": "thing", "shortNames": ["th"]},
    ],
    ids=str,
)
@contract
async def test_names_that_are_taken(api: Conversation, names: Json) -> None:
    first = definition(api, version("v1", storage=True), shortNames=["th"])
    await install(api, first, "v1")
    second = definition(api, version("v1", storage=True), plural="others", **names)
    await api.post(CRDS, second)
    where = f"{CRDS}/{second['metadata']['name']}"
    await api.until(where, is_("NamesAccepted", "False"))
    others = f"/apis/{group_of(api)}/v1/namespaces/{{ns}}/others"
    await api.get(others)
    await remove(api)
    await api.until(where, is_("Established", "True"))
    await answering(api, others, lambda answer: answer.status == 200)
    await remove(api, "others")


@contract
async def test_new_names_that_are_taken(api: Conversation) -> None:
    await install(api, definition(api, version("v1", storage=True), shortNames=["th"]), "v1")
    second = definition(api, version("v1", storage=True), plural="others", kind="Other")
    await api.post(CRDS, second, recorded=False)
    where = f"{CRDS}/{second['metadata']['name']}"
    await api.until(where, is_("Established", "True"))
    await api.merge(where, {"spec": {"names": {"shortNames": ["th", "ot"]}}})
    await api.until(where, is_("NamesAccepted", "False"))
    others = f"/apis/{group_of(api)}/v1/namespaces/{{ns}}/others"
    await answering(api, others, lambda answer: answer.status == 200)
    await api.get(others)
    await remove(api, "things", "others")


@contract
async def test_instances_go_with_their_definition(api: Conversation) -> None:
    manifest = definition(api, version("v1", storage=True))
    things = await install(api, manifest, "v1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.post(things.at("v1"), things.new("v1"))
    held = {"finalizers": ["example.com/held"]}
    await api.post(things.at("v1"), things.new("v1", "b", metadata=held))
    await api.delete(where)
    await answering(api, things.at("v1", "a"), lambda answer: answer.status == 404)
    await api.until(where, is_("Terminating", "True"))
    await api.get(things.at("v1", "b"))
    await api.post(things.at("v1"), things.new("v1", "c"))
    await api.merge(things.at("v1", "b"), {"metadata": {"finalizers": None}})
    await answering(api, where, lambda answer: answer.status == 404)
    await answering(api, things.at("v1"), lambda answer: answer.status == 404)
    await api.get(things.at("v1"))


@contract
async def test_a_definition_comes_back_empty(api: Conversation) -> None:
    manifest = definition(api, version("v1", storage=True))
    things = await install(api, manifest, "v1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.post(things.at("v1"), things.new("v1"))
    await api.delete(where)
    await answering(api, where, lambda answer: answer.status == 404)
    await install(api, manifest, "v1")
    await api.get(things.at("v1"))
    await api.post(things.at("v1"), things.new("v1"))
    await remove(api)


@contract
async def test_a_definition_with_a_finalizer_of_somebody(api: Conversation) -> None:
    manifest = definition(api, version("v1", storage=True))
    manifest["metadata"]["finalizers"] = ["example.com/held"]
    things = await install(api, manifest, "v1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.post(things.at("v1"), things.new("v1"))
    await api.delete(where)
    await api.until(where, lambda answer: len(answer.body["metadata"]["finalizers"]) == 1)
    await api.get(things.at("v1"))
    await api.post(things.at("v1"), things.new("v1", "c"))
    await api.merge(where, {"metadata": {"finalizers": None}})
    await answering(api, where, lambda answer: answer.status == 404)
