"""What webhooks change: their order, ownership, custom resources, warnings."""

import base64

import orjson
import pytest
from tests.support.contract.hooks import (
    Handler,
    Hooks,
    Json,
    add,
    allow,
    answer,
    deny,
    patch,
    rule,
)
from tests.support.contract.samples import (
    CONFIG_MAPS,
    GADGETS,
    config_map,
    gadget,
    install_gadgets,
)
from tests.support.contract.transcript import Conversation, contract

GADGET_RULES = [rule("gadgets", "gadgets/*", group="contract.example.com")]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"


def count(field: str) -> Handler:
    """Count in an annotation how often the webhook saw the object."""

    def handle(review: Json) -> Json:
        metadata = review["request"]["object"]["metadata"]
        annotations = dict(metadata.get("annotations") or {})
        annotations[field] = str(int(annotations.get(field, "0")) + 1)
        change = base64.b64encode(orjson.dumps([add("/metadata/annotations", annotations)]))
        return answer(review, patchType="JSONPatch", patch=change.decode())

    return handle


def unless(label: str, handler: Handler) -> Handler:
    def handle(review: Json) -> Json:
        found = review["request"]["object"]["metadata"].get("labels") or {}
        reply = answer(review) if label in found else handler(review)
        assert isinstance(reply, dict)
        return reply

    return handle


@contract
async def test_order(api: Conversation) -> None:
    """Configurations by name, webhooks as listed, mutating before validating."""
    async with Hooks(api) as hooks:
        for name in ("two", "one"):
            first = hooks.webhook(f"{name}b", count(f"{name}b"))
            await hooks.configure(
                "Mutating", first, hooks.webhook(f"{name}a", count(f"{name}a")), name=name
            )
        await hooks.configure("Validating", hooks.webhook("z", allow()))
        await api.post(CONFIG_MAPS, config_map("a"))
        api.note([each["path"] for each in hooks.heard])


@pytest.mark.parametrize("policy", ["Never", "IfNeeded"])
@contract
async def test_reinvocation(api: Conversation, policy: str) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure(
            "Mutating",
            hooks.webhook("a", count("a"), reinvocationPolicy=policy),
            hooks.webhook("b", count("b"), reinvocationPolicy=policy),
            hooks.webhook("c", allow(), reinvocationPolicy=policy),
        )
        await api.post(CONFIG_MAPS, config_map("a"))
        api.note([each["path"] for each in hooks.heard])


@contract
async def test_webhooks_that_change_nothing_cause_no_reinvocation(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        same = patch({"op": "replace", "path": "/metadata/name", "value": "a"})
        again = {"reinvocationPolicy": "IfNeeded"}
        await hooks.configure(
            "Mutating", hooks.webhook("a", count("a"), **again), hooks.webhook("b", same, **again)
        )
        await api.post(CONFIG_MAPS, config_map("a"))
        api.note([each["path"] for each in hooks.heard])


@contract
async def test_reinvocation_calls_none_for_the_first_time(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        label = patch(add("/metadata/labels", {"wanted": "1"}))
        selector = {"matchLabels": {"wanted": "1"}}
        again = {"reinvocationPolicy": "IfNeeded"}
        await hooks.configure(
            "Mutating",
            hooks.webhook("a", count("a"), objectSelector=selector, **again),
            hooks.webhook("b", count("b"), **again),
            hooks.webhook("c", label, **again),
            hooks.webhook("d", count("d"), objectSelector=selector, **again),
        )
        await api.post(CONFIG_MAPS, config_map("a"))
        api.note([each["path"] for each in hooks.heard])


@contract
async def test_the_first_refusal_ends_it(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure(
            "Mutating",
            hooks.webhook("a", count("a")),
            hooks.webhook("b", deny(message="enough")),
            hooks.webhook("c", count("c")),
        )
        await hooks.configure("Validating", hooks.webhook("d", allow()))
        await api.post(CONFIG_MAPS, config_map("a"))
        api.note([each["path"] for each in hooks.heard])
        await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_all_validating_webhooks_are_asked(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure(
            "Validating",
            hooks.webhook("a", allow(warnings=["from a"])),
            hooks.webhook("b", deny(message="no")),
            hooks.webhook("c", allow()),
        )
        await api.post(CONFIG_MAPS, config_map("a"))
        api.note(sorted(each["path"] for each in hooks.heard))


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
@contract
async def test_warnings(api: Conversation, kind: str) -> None:
    async with Hooks(api) as hooks:
        for warnings in (
            ["one"],
            ["one", "two", "one"],
            ['a "quoted" one'],
            ["with, comma"],
            [""],
            ["x" * 300],
        ):
            await hooks.configure(kind, hooks.webhook("a", allow(warnings=warnings)))
            await api.post(f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
            await hooks.forget()
        await hooks.configure(kind, hooks.webhook("a", deny(message="no")))
        hooks.webhook("a", allow(allowed=False, warnings=["told so"]))
        await api.post(CONFIG_MAPS, config_map("a"))


@contract
async def test_owners(api: Conversation) -> None:
    """What a webhook changes is owned as if the writer had not set it."""
    async with Hooks(api) as hooks:
        await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "first")
        change = patch(add("/data", {"x": "9", "y": "9"}))
        await hooks.configure("Mutating", hooks.webhook("a", change))
        await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"a": "b"}}})
        await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "first")
        await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"y": "2"}), "second")
        await api.get(f"{CONFIG_MAPS}/a")


@pytest.mark.parametrize(
    "fields",
    [
        [],
        None,
        [{"manager": "x"}],
        [
            {
                "manager": "x",
                "operation": "Update",
                "fieldsType": "FieldsV1",
                "apiVersion": "v1",
                "fieldsV1": {"f:data": {}},
            }
        ],
    ],
)
@contract
async def test_owners_that_webhooks_change(api: Conversation, fields: object) -> None:
    async with Hooks(api) as hooks:
        change = patch(add("/metadata/managedFields", fields))
        await hooks.configure("Mutating", hooks.webhook("a", change))
        await api.post(CONFIG_MAPS, config_map("a", data={"x": "1"}))


@contract
async def test_custom_resources(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await install_gadgets(api)
        for index, operations in enumerate(
            (
                [add("/spec", {"size": 5})],
                [add("/spec", {"size": -5})],
                [add("/spec/unknown", 5)],
                [add("/spec/size", "text")],
                [{"op": "remove", "path": "/spec"}],
                [{"op": "remove", "path": "/spec/mode"}],
                [add("/status", {"phase": "Ready"})],
                [add("/metadata/labels", {"a b": "c"})],
            )
        ):
            await hooks.configure(
                "Mutating", hooks.webhook("a", patch(*operations), rules=GADGET_RULES)
            )
            await api.post(GADGETS, gadget(f"a{index}", spec={"size": 1}))
            hooks.note()
            await hooks.forget()


@contract
async def test_status(api: Conversation) -> None:
    """Webhooks see what was sent; parts that do not belong to the request are dropped later."""
    async with Hooks(api) as hooks:
        await install_gadgets(api)
        made = await api.post(GADGETS, gadget("a", spec={"size": 1}))
        change = patch(add("/status", {"phase": "Changed"}), add("/spec/size", 9))
        await hooks.configure("Mutating", hooks.webhook("a", change, rules=GADGET_RULES))
        await hooks.configure("Validating", hooks.webhook("b", allow(), rules=GADGET_RULES))
        body = {**made.body, "spec": {"size": 5}, "status": {"phase": "Sent"}}
        await api.put(f"{GADGETS}/a/status", body)
        hooks.note()
        await api.merge(f"{GADGETS}/a", {"spec": {"size": 2}, "status": {"phase": "Other"}})
        hooks.note()


@contract
async def test_invalid_objects(api: Conversation) -> None:
    """Mutating webhooks are asked about invalid objects, too, and can mend them."""
    async with Hooks(api) as hooks:
        mend = patch({"op": "replace", "path": "/metadata/labels", "value": {"a": "b"}})
        await hooks.configure("Mutating", hooks.webhook("a", unless("a", mend)))
        await hooks.configure("Validating", hooks.webhook("b", allow()))
        await api.post(CONFIG_MAPS, config_map("a", {"labels": {"a b": "c"}}))
        await api.post(CONFIG_MAPS, config_map("BAD", {"labels": {"a": "b"}}))
        api.note([each["path"] for each in hooks.heard])


@contract
async def test_owner_references_given_twice(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1-2-3"}
        change = patch(add("/metadata/ownerReferences", [owner, owner]))
        await hooks.configure("Mutating", hooks.webhook("a", change))
        await api.post(CONFIG_MAPS, config_map("a"))
