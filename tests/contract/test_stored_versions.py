"""Which versions objects are stored in, how they get into another one, and deprecated ones."""

import base64
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
    twins,
    version,
)
from tests.support.contract.transcript import Conversation, contract

Json = dict[str, Any]

URL = "https://127.0.0.1:1/convert"
SERVICE = {"namespace": "default", "name": "hook"}


def _swapped(manifest: Json) -> list[Json]:
    """Return the versions with v1beta1 as the one that is stored, and one more to wait for."""
    first, second = manifest["spec"]["versions"]
    third = {**second, "name": "v1alpha1"}
    return [{**first, "storage": False}, {**second, "storage": True}, third]


def _without_first(versions: list[Json]) -> list[Json]:
    """Return the versions without the first, and one more to wait for."""
    return [*versions[1:], {**versions[-1], "name": "v1alpha2"}]


async def _stored_otherwise(api: Conversation, manifest: Json) -> tuple[Things, str, list[Json]]:
    """Store two objects in v1, and then make v1beta1 the version that is stored."""
    things = await install(api, manifest, "v1", "v1beta1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    for name in ("a", "b"):
        await api.post(things.at("v1"), things.new("v1", name, spec={"size": 1, "both": "x"}))
    versions = _swapped(manifest)
    await api.merge(where, {"spec": {"versions": versions}})
    # The kind is served anew a moment later: the third version tells.
    await answering(api, things.at("v1alpha1"), lambda answer: answer.status == 200)
    return things, where, versions


@contract
async def test_objects_are_migrated(api: Conversation) -> None:
    things, where, versions = await _stored_otherwise(api, twins(api))
    await api.get(where)
    await api.merge(where, {"spec": {"versions": versions[1:]}})
    for name in ("a", "b"):
        before = await api.get(things.at("v1beta1", name))
        after = await api.put(things.at("v1beta1", name), before.body)
        api.note(before.version == after.version)
        again = await api.put(things.at("v1beta1", name), after.body)
        api.note(after.version == again.version)
    await api.merge(f"{where}/status", {"status": {"storedVersions": ["v1beta1"]}})
    await api.merge(where, {"spec": {"versions": _without_first(versions)}})
    await answering(api, things.at("v1alpha2"), lambda answer: answer.status != 404)
    await api.get(things.at("v1beta1", "a"))
    await api.get(things.at("v1beta1"))
    await api.get(where)
    await remove(api)


@pytest.mark.parametrize("how", ["merge", "json", "apply", "status", "label"])
@contract
async def test_a_patch_migrates(api: Conversation, how: str) -> None:
    things, _, _ = await _stored_otherwise(api, twins(api))
    where = things.at("v1beta1", "a")
    before = await api.get(where)
    match how:
        case "merge":
            after = await api.merge(where, {})
        case "json":
            after = await api.json_patch(where, [])
        case "apply":
            after = await api.apply(where, things.new("v1beta1"), "migrator")
        case "status":
            after = await api.merge(f"{where}/status", {})
        case _:
            after = await api.merge(where, {"metadata": {"labels": {"a": "b"}}})
    api.note(before.version == after.version)
    await api.get(things.at("v1", "a"))
    await remove(api)


@contract
async def test_a_new_default_is_stored_by_the_next_write(api: Conversation) -> None:
    manifest = definition(api, version("v1", storage=True))
    things = await install(api, manifest, "v1")
    made = await api.post(things.at("v1"), things.new("v1", spec={"size": 1}))
    mode = {"type": "string", "default": "Plain"}
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.merge(where, {"spec": {"versions": [version("v1", storage=True, mode=mode)]}})
    await answering(api, things.at("v1", "a"), lambda answer: "mode" in answer.body.get("spec", {}))
    seen = await api.get(things.at("v1", "a"))
    api.note(seen.version == made.version)
    written = await api.put(things.at("v1", "a"), seen.body)
    api.note(written.version == made.version)
    again = await api.put(things.at("v1", "a"), written.body)
    api.note(again.version == written.version)
    await remove(api)


@contract
async def test_a_version_goes_before_its_objects(api: Conversation) -> None:
    things, where, versions = await _stored_otherwise(api, twins(api))
    await api.merge(f"{where}/status", {"status": {"storedVersions": ["v1beta1"]}})
    await api.merge(where, {"spec": {"versions": _without_first(versions)}})
    await answering(api, things.at("v1alpha2"), lambda answer: answer.status != 404)
    await api.get(things.at("v1beta1", "a"))
    await api.merge(things.at("v1beta1", "a"), {"spec": {"size": 2}})
    await api.post(things.at("v1beta1"), things.new("v1beta1", "c", spec={"size": 3}))
    await api.get(things.at("v1beta1", "c"))
    # Back again, they can be read as before.
    await api.merge(where, {"spec": {"versions": versions}})
    await answering(api, things.at("v1beta1", "a"), lambda answer: answer.status == 200)
    await api.get(things.at("v1beta1", "a"))
    await remove(api)


@contract
async def test_stored_versions_are_what_the_status_says(api: Conversation) -> None:
    manifest = twins(api)
    await install(api, manifest, "v1", "v1beta1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.merge(f"{where}/status", {"status": {"storedVersions": []}})
    await api.merge(f"{where}/status", {"status": {"storedVersions": ["v1", "v0"]}})
    await api.merge(where, {"metadata": {"labels": {"a": "b"}}})
    await api.merge(f"{where}/status", {"status": {"storedVersions": ["v1beta1"]}})
    await api.merge(where, {"metadata": {"labels": {"a": "b"}}})
    await api.merge(where, {"spec": {"versions": _swapped(manifest)}})
    await api.merge(where, {"status": {"storedVersions": ["v1beta1"]}})
    await remove(api)


WEBHOOK = {"clientConfig": {"url": URL}, "conversionReviewVersions": ["v1"]}
CONVERSIONS: list[Any] = [
    None,
    {},
    {"strategy": ""},
    {"strategy": "Other"},
    {"strategy": "None"},
    {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
    {"strategy": "None", "webhook": WEBHOOK},
    {"strategy": "Webhook"},
    {"strategy": "Webhook", "webhook": {}},
    {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}},
    {"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}},
    {"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {"url": URL, "service": SERVICE}}},
    {"strategy": "Webhook", "webhook": WEBHOOK},
    {"strategy": "Webhook", "webhook": {"clientConfig": {"service": SERVICE}, "conversionReviewVersions": ["v1", "v1beta1"]}},
    *(
        {"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {"url": url}}}
        for url in ("http://a", "https://", "https://u:p@a", "https://a?b=c", "https://a#b", "https://a/b", "a")
    ),
    *(
        {"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {"service": {**SERVICE, **wrong}}}}
        for wrong in (
            {"name": ""}, {"namespace": ""}, {"port": 0}, {"port": 70000}, {"path": "a"}, {"path": "/"},
            {"path": "//"}, {"path": "/a//b"}, {"path": "/A"}, {"path": "/a/b/"},
        )
    ),
    *(
        {"strategy": "Webhook", "webhook": {**WEBHOOK, "conversionReviewVersions": versions}}
        for versions in (None, [], ["v2"], ["v2", "v1"], ["v1", "v1"], ["V1", "v1"], ["v1beta1"])
    ),
    {"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {"url": URL, "caBundle": "bm8="}}},
    {"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {"url": URL, "caBundle": "Cg=="}}},
]  # fmt: skip


@contract
async def test_what_a_conversion_may_say(api: Conversation) -> None:
    for conversion in CONVERSIONS:
        manifest = twins(api)
        manifest["spec"]["conversion"] = conversion
        await api.post(f"{CRDS}?dryRun=All", manifest)


@contract
async def test_how_a_conversion_may_change(api: Conversation) -> None:
    manifest = twins(api)
    await install(api, manifest, "v1", "v1beta1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    for conversion in CONVERSIONS:
        await api.merge(f"{where}?dryRun=All", {"spec": {"conversion": conversion}})
    await remove(api)


@contract
async def test_versions_that_are_not_known_may_stay(api: Conversation) -> None:
    manifest = twins(api)
    await install(api, manifest, "v1", "v1beta1")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    both = {"strategy": "Webhook", "webhook": {**WEBHOOK, "conversionReviewVersions": ["v2", "v1"]}}
    await api.merge(where, {"spec": {"conversion": both}})
    only = {"webhook": {"conversionReviewVersions": ["v2"]}}
    await api.merge(where, {"spec": {"conversion": only}})
    await api.merge(where, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    await remove(api)


@contract
async def test_an_authority_that_is_none(api: Conversation) -> None:
    manifest = twins(api)
    broken = {"url": URL, "caBundle": base64.b64encode(b"none").decode()}
    manifest["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {**WEBHOOK, "clientConfig": broken},
    }
    await api.post(CRDS, manifest)
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.until(where, is_("Established", "False", "InvalidCABundle"))
    await api.merge(where, {"metadata": {"labels": {"a": "b"}}})
    await api.merge(
        where, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}}
    )
    await api.until(where, is_("Established", "True"))
    await api.merge(
        where, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "bm8="}}}}}
    )
    await remove(api)


WARNINGS = [
    {"deprecated": False, "deprecationWarning": "x"},
    {"deprecated": True, "deprecationWarning": ""},
    {"deprecated": True, "deprecationWarning": "x" * 257},
    {"deprecated": True, "deprecationWarning": "a\nb"},
    {"deprecated": True, "deprecationWarning": "ü\u200bb"},
    {"deprecated": True, "deprecationWarning": 'say "no"'},
]


@contract
async def test_what_a_deprecation_may_say(api: Conversation) -> None:
    for wrong in WARNINGS:
        manifest = definition(api, version("v1", storage=True), {**version("v1beta1"), **wrong})
        await api.post(f"{CRDS}?dryRun=All", manifest)


@contract
async def test_deprecated_versions_warn(api: Conversation) -> None:
    own = {"deprecated": True, "deprecationWarning": 'say "no" to v1alpha1'}
    manifest = definition(
        api,
        {**version("v1beta2"), "deprecated": True},
        version("v1", served=False),
        version("v1beta1", storage=True),
        {**version("v1alpha1"), **own},
        {**version("v1alpha2"), "deprecated": True},
        {**version("foo"), "deprecated": True},
        version("bar"),
    )
    served = ("v1beta2", "v1beta1", "v1alpha1", "v1alpha2", "foo", "bar")
    things = await install(api, manifest, *served)
    for name in served:
        await api.get(things.at(name))
        await api.post(things.at(name), things.new(name, f"x{name}", spec={"size": 1}))
        await api.get(things.at(name, f"x{name}"))
        await api.get(things.at(name, "none"))
        await api.post(things.at(name), things.new(name, "y", spec={"size": "wrong"}))
        await api.merge(things.at(name, f"x{name}"), {"spec": {"size": 2, "bogus": 1}})
        await api.merge(things.at(name, f"x{name}/status"), {"status": {"phase": "P"}})
        await api.delete(things.at(name, f"x{name}"))
        await api.delete(things.at(name))
    # Versions are told a moment after they are served.
    await api.until(
        f"/apis/{group_of(api)}",
        lambda answer: {each["version"] for each in answer.body.get("versions", ())} == {*served},
    )
    await remove(api)
