"""Admission webhooks: who is asked about what, and what becomes of the answers."""

from tests.support.contract.hooks import Hooks, add, allow, deny, patch, rule
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    PODS,
    SECRETS,
    config_map,
    deployment,
    gadget,
    install_gadgets,
    pod,
    secret,
)
from tests.support.contract.transcript import Conversation, contract


@contract
async def test_reviews_of_a_life(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure("Validating", hooks.webhook("a", allow()))
        await api.post(CONFIG_MAPS, config_map("a", data={"x": "1"}))
        hooks.note()
        await api.merge(f"{CONFIG_MAPS}/a", {"data": {"y": "2"}})
        hooks.note()
        await api.delete(f"{CONFIG_MAPS}/a")
        hooks.note()


@contract
async def test_mutating_reviews_of_a_life(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure("Mutating", hooks.webhook("a", allow()))
        made = await api.post(f"{CONFIG_MAPS}?fieldManager=me", config_map("a", data={"x": "1"}))
        hooks.note()
        await api.put(f"{CONFIG_MAPS}/a?fieldValidation=Strict", {**made.body, "data": {}})
        hooks.note()
        await api.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Foreground"})
        hooks.note()


@contract
async def test_denials(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        for status in (
            {},
            {"message": "no"},
            {"reason": "Forbidden"},
            {"message": "no", "code": 403, "reason": "Forbidden"},
            {"message": "no", "code": 200},
            {"message": "no", "code": 599},
            {"message": "no", "status": "Success", "details": {"name": "x", "kind": "y"}},
            {
                "message": "no",
                "code": 422,
                "reason": "Invalid",
                "details": {"causes": [{"reason": "r", "message": "m", "field": "f"}]},
            },
        ):
            for kind in ("Mutating", "Validating"):
                await hooks.configure(kind, hooks.webhook("a", deny(**status)))
                await api.post(CONFIG_MAPS, config_map("a"))
                await hooks.forget()


@contract
async def test_mutation(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await install_gadgets(api)
        label = add("/metadata/labels", {"by": "hook"})
        rules = [rule("configmaps", "secrets"), rule("deployments", group="apps")]
        rules.append(rule("gadgets", group="contract.example.com"))
        await hooks.configure("Mutating", hooks.webhook("a", patch(label), rules=rules))
        for path, body in (
            (CONFIG_MAPS, config_map("a")),
            (SECRETS, secret("a")),
            (DEPLOYMENTS, deployment("a")),
            (GADGETS, gadget("a", spec={"size": 1})),
        ):
            await api.post(path, body)
            hooks.note()
            await api.merge(f"{path}/a", {"metadata": {"annotations": {"a": "b"}}})
            hooks.note()
            await api.apply(f"{path}/b", {**body, "metadata": {"name": "b"}}, "me")
            hooks.note()
            await api.apply(f"{path}/b", {**body, "metadata": {"name": "b"}}, "other")
            await api.get(f"{path}/b")
            hooks.heard.clear()


@contract
async def test_pods(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        sidecar = add("/spec/containers/-", {"name": "side", "image": "proxy"})
        rules = [rule("pods", "pods/*")]
        await hooks.configure(
            "Mutating",
            hooks.webhook("a", patch(sidecar), rules=[rule("pods", operations=["CREATE"])]),
        )
        await hooks.configure("Validating", hooks.webhook("b", allow(), rules=rules))
        await api.post(PODS, pod("a"))
        hooks.note()
        await api.merge(f"{PODS}/a/status", {"status": {"phase": "Running"}})
        hooks.note()
        target = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a"},
            "target": {"name": "n"},
        }
        await api.post(f"{PODS}/a/binding", target)
        hooks.note()
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
        await api.post(f"{PODS}/a/eviction", eviction)
        hooks.note()
        await api.delete(f"{PODS}/a?gracePeriodSeconds=0")
        hooks.note()
