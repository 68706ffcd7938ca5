"""Definitions of our own kinds: names that are accepted or taken, and the end of it all."""

from typing import Any

import pytest
from tests.support.contract.samples import CRDS
from tests.support.contract.things import (
    Things,
    answering,
    definition,
    group_of,
    install,
    is_,
    remove,
    taking,
    version,
)
from tests.support.contract.transcript import Conversation, contract

Json = dict[str, Any]


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
    # Objects are deleted one after the other.
    await api.until(
        things.at("v1", "b"), lambda answer: "deletionTimestamp" in answer.body["metadata"]
    )
    await taking(api, things.at("v1"), things.new("v1", "c"), accepted=False)
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
    await taking(api, things.at("v1"), things.new("v1", "c"), accepted=True)
    await api.post(things.at("v1"), things.new("v1", "c"))
    await api.merge(where, {"metadata": {"finalizers": None}})
    await answering(api, where, lambda answer: answer.status == 404)
