"""Server-side apply: who owns which field, and what follows from it."""

from typing import Any

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    SERVICES,
    config_map,
    deployment,
    gadget,
    install_gadgets,
    obj,
)
from tests.support.contract.transcript import Conversation, contract

Json = dict[str, Any]


def deploy(*containers: Json, **spec: Any) -> Json:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers)}}
    return obj(
        "apps/v1",
        "Deployment",
        "a",
        spec={"selector": {"matchLabels": labels}, "template": template, **spec},
    )


@contract
async def test_creation(api: Conversation) -> None:
    await install_gadgets(api)
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"size": 1}), "one")
    await api.apply(f"{DEPLOYMENTS}/a", deployment("a"), "one")


@contract
async def test_again_is_no_write(api: Conversation) -> None:
    await install_gadgets(api)
    for _ in range(2):
        await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "one")
        await api.apply(f"{GADGETS}/a", gadget("a", spec={"size": 1}), "one")
        await api.apply(f"{DEPLOYMENTS}/a", deployment("a"), "one")


@contract
async def test_conflicts_name_the_fields_and_their_managers(api: Conversation) -> None:
    await install_gadgets(api)
    for path, kind in ((CONFIG_MAPS, config_map), (GADGETS, gadget)):
        field = "data" if kind is config_map else "spec"
        values: list[Json] = [{"x": "1", "y": "1"}, {"x": "2", "y": "2", "z": "2"}]
        if field == "spec":
            values = [{"size": 1, "mode": "Fancy"}, {"size": 2, "mode": "Plain"}]
        await api.apply(f"{path}/a", kind("a", **{field: values[0]}), "one")
        await api.apply(f"{path}/a", kind("a", **{field: values[1]}), "two")
        await api.apply(f"{path}/a", kind("a", **{field: values[1]}), "two", force=True)
        await api.get(f"{path}/a")
        await api.apply(f"{path}/a", kind("a", **{field: values[0]}), "one")


@contract
async def test_conflicts_with_several_managers(api: Conversation) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=maker", config_map("a", data={"x": "1"}))
    await api.merge(f"{CONFIG_MAPS}/a?fieldManager=changer", {"data": {"y": "1"}})
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"z": "1"}), "applier")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data=dict.fromkeys("xyz", "2")), "me")


@contract
async def test_equal_values_are_shared(api: Conversation) -> None:
    for manager in ("one", "two"):
        await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), manager)
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "2"}), "one")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a"), "one")
    await api.get(f"{CONFIG_MAPS}/a")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a"), "two")


@contract
async def test_fields_no_longer_applied_are_removed(api: Conversation) -> None:
    await install_gadgets(api)
    await api.apply(
        f"{CONFIG_MAPS}/a",
        config_map("a", {"labels": {"l": "1"}, "annotations": {"n": "1"}}, data={"x": "1"}),
        "one",
    )
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a"), "one")
    spec = {"size": 1, "mode": "Fancy", "labels": {"a": "b", "c": "d"}}
    await api.apply(f"{GADGETS}/a", gadget("a", spec=spec), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"labels": {"c": "d"}}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a"), "one")


@contract
async def test_fields_of_others_stay(api: Conversation) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=maker", config_map("a", data={"x": "1"}))
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"y": "1"}), "one")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a"), "one")


@contract
async def test_update_takes_over(api: Conversation) -> None:
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1", "y": "1"}), "one")
    await api.merge(f"{CONFIG_MAPS}/a?fieldManager=changer", {"data": {"x": "2"}})
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1", "y": "1"}), "one")
    await api.merge(f"{CONFIG_MAPS}/a?fieldManager=changer", {"data": {"y": None}})
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "2", "y": "1"}), "one")


@contract
async def test_update_by_the_same_manager_is_an_entry_of_its_own(api: Conversation) -> None:
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "one")
    found = await api.get(f"{CONFIG_MAPS}/a")
    await api.put(f"{CONFIG_MAPS}/a?fieldManager=one", {**found.body, "data": {"x": "2"}})
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "3"}), "one")


@contract
async def test_list_maps_of_built_ins(api: Conversation) -> None:
    first = {"name": "c", "image": "nginx", "ports": [{"containerPort": 80}]}
    await api.apply(f"{DEPLOYMENTS}/a", deploy(first), "one")
    second = {"name": "d", "image": "side", "env": [{"name": "A", "value": "1"}]}
    await api.apply(f"{DEPLOYMENTS}/a", deploy(second), "two")
    await api.apply(f"{DEPLOYMENTS}/a", deploy({**second, "env": []}), "two")
    await api.apply(f"{DEPLOYMENTS}/a", deploy({"name": "c", "image": "other"}), "two")
    await api.apply(f"{DEPLOYMENTS}/a", deploy({"name": "c", "image": "nginx"}), "two")
    await api.apply(f"{DEPLOYMENTS}/a", deploy(first, replicas=3), "one")


@contract
async def test_list_maps_of_custom_resources(api: Conversation) -> None:
    await install_gadgets(api)

    async def apply(manager: str, *parts: Json, force: bool = False) -> None:
        body = gadget("a", spec={"parts": list(parts)})
        await api.apply(f"{GADGETS}/a", body, manager, force=force)

    await apply("one", {"name": "x", "value": 1}, {"name": "y", "value": 1})
    await apply("two", {"name": "z", "value": 2}, {"name": "x"})
    await apply("two", {"name": "y", "value": 2})
    await apply("two", {"name": "y", "value": 2}, force=True)
    await apply("one", {"name": "x", "value": 1})
    await apply("two")
    await apply("one", {"name": "x", "value": 1}, {"name": "x", "value": 2})
    await apply("one", {"value": 1})


@contract
async def test_list_maps_with_two_keys(api: Conversation) -> None:
    def service(*ports: Json) -> Json:
        spec = {"clusterIP": "None", "selector": {"a": "b"}, "ports": list(ports)}
        return obj("v1", "Service", "a", spec=spec)

    await api.apply(f"{SERVICES}/a", service({"name": "w", "port": 80}), "one")
    udp = {"name": "u", "port": 80, "protocol": "UDP"}
    await api.apply(f"{SERVICES}/a", service(udp), "two")
    await api.apply(f"{SERVICES}/a", service({"name": "v", "port": 80}), "two")


@contract
async def test_sets(api: Conversation) -> None:
    await install_gadgets(api)
    for manager, tags in (("one", ["a", "b"]), ("two", ["b", "c"]), ("one", ["a"]), ("two", [])):
        await api.apply(f"{GADGETS}/a", gadget("a", spec={"tags": tags}), manager)
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"tags": ["q", "q"]}), "one")
    body = config_map("a", {"finalizers": ["example.com/a"]})
    await api.apply(f"{CONFIG_MAPS}/a", body, "one")
    body = config_map("a", {"finalizers": ["example.com/b"]})
    await api.apply(f"{CONFIG_MAPS}/a", body, "two")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a"), "one")


@contract
async def test_atomic_lists_and_maps(api: Conversation) -> None:
    await install_gadgets(api)
    spec: Json = {"steps": ["a", "b"], "whole": {"a": "b"}}
    await api.apply(f"{GADGETS}/a", gadget("a", spec=spec), "one")
    other = {"steps": ["c"], "whole": {"c": "d"}}
    await api.apply(f"{GADGETS}/a", gadget("a", spec=other), "two")
    await api.apply(f"{GADGETS}/a", gadget("a", spec=other), "two", force=True)
    await api.apply(f"{GADGETS}/a", gadget("a", spec={}), "two")


@contract
async def test_fields_without_a_schema(api: Conversation) -> None:
    await install_gadgets(api)
    free: Json = {"a": {"b": [1, {"c": None}], "d": 1.5}, "e": []}
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"free": free}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"free": {"a": {"d": 2}}}), "two")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"free": {"f": {}}}), "one")


@contract
async def test_owners(api: Conversation) -> None:
    made = await api.post(CONFIG_MAPS, config_map("parent"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": made.uid}
    body = config_map("a", {"ownerReferences": [reference]})
    await api.apply(f"{CONFIG_MAPS}/a", body, "one")
    more = {**reference, "controller": True}
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", {"ownerReferences": [more]}), "two")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a"), "one")


@contract
async def test_status(api: Conversation) -> None:
    await install_gadgets(api)
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"size": 1}, status={"phase": "x"}), "one")
    status = gadget("a", spec={"size": 7}, status={"phase": "Ready"})
    await api.apply(f"{GADGETS}/a/status", status, "one")
    await api.apply(f"{GADGETS}/a/status", gadget("a", status={"phase": "Other"}), "two")
    await api.apply(f"{GADGETS}/a/status", gadget("a", status={"replicas": 1}), "two")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"size": 2}), "one")
    await api.apply(f"{GADGETS}/a/status", gadget("a"), "one")
    await api.apply(f"{GADGETS}/b/status", gadget("b", status={"phase": "x"}), "one")


@contract
async def test_status_of_built_ins(api: Conversation) -> None:
    await api.apply(f"{DEPLOYMENTS}/a", deployment("a"), "one")
    body = obj("apps/v1", "Deployment", "a", status={"replicas": 1})
    await api.apply(f"{DEPLOYMENTS}/a/status", body, "one")
    await api.apply(f"{DEPLOYMENTS}/a/status", {**body, "status": {"replicas": 2}}, "two")


@contract
async def test_scale_keeps_owners(api: Conversation) -> None:
    await install_gadgets(api)
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"replicas": 1}), "one")
    await api.merge(f"{GADGETS}/a/scale?fieldManager=scaler", {"spec": {"replicas": 3}})
    await api.get(f"{GADGETS}/a")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"replicas": 1}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={}), "one")


@contract
async def test_dry_runs(api: Conversation) -> None:
    await api.apply(f"{CONFIG_MAPS}/a?dryRun=All", config_map("a", data={"x": "1"}), "one")
    await api.get(f"{CONFIG_MAPS}/a")
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "one")
    await api.apply(f"{CONFIG_MAPS}/a?dryRun=All", config_map("a", data={"x": "2"}), "one")
    await api.apply(f"{CONFIG_MAPS}/a?dryRun=All", config_map("a", data={"x": "2"}), "two")
    await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_managed_fields_can_be_reset(api: Conversation) -> None:
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "one")
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": [{}]}})
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "2"}), "two")
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": None}})
    await api.json_patch(
        f"{CONFIG_MAPS}/a", [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    )
    await api.merge(f"{CONFIG_MAPS}/a?fieldManager=late", {"data": {"y": "1"}})
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "3"}), "two")


@contract
async def test_managed_fields_can_be_written(api: Conversation) -> None:
    made = await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}), "one")
    entry = {**made.body["metadata"]["managedFields"][0], "manager": "renamed"}
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": [entry]}})
    await api.merge(
        f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": [{**entry, "operation": "Guess"}]}}
    )
    await api.merge(
        f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": [{**entry, "fieldsType": "FieldsV2"}]}}
    )


BAD: dict[str, Any] = {
    "managed fields": config_map("a", {"managedFields": [{"manager": "x"}]}),
    "empty managed fields": config_map("a", {"managedFields": []}),
    "no kind": {"apiVersion": "v1", "metadata": {"name": "a"}},
    "no version": {"kind": "ConfigMap", "metadata": {"name": "a"}},
    "nothing": {},
    "other name": config_map("b"),
    "no name": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"}},
    "other namespace": config_map("a", {"namespace": "elsewhere"}),
    "other kind": obj("v1", "Secret", "a"),
    "other group": obj("apps/v1", "ConfigMap", "a"),
    "wrong type": config_map("a", data=["x"]),
    "wrong value": config_map("a", data={"x": 1}),
    "invalid": config_map("a", data={"not a key!": "x"}),
    "invalid label": config_map("a", {"labels": {"x": "not a value!"}}),
    "version": config_map("a", {"resourceVersion": "1"}),
    "uid": config_map("a", {"uid": "00000000-0000-0000-0000-000000000000"}),
    "creation time": config_map("a", {"creationTimestamp": "2001-02-03T04:05:06Z"}),
    "generate name": config_map("a", {"generateName": "x"}),
    "list": [],
    "text": "x",
    "null data": config_map("a", data=None),
    "null value": config_map("a", data={"x": None}),
}


@pytest.mark.parametrize("what", BAD)
@contract
async def test_odd_configurations(api: Conversation, what: str) -> None:
    await api.apply(f"{CONFIG_MAPS}/a", BAD[what], "one")
    await api.post(CONFIG_MAPS, config_map("a"), recorded=False)
    await api.apply(f"{CONFIG_MAPS}/a", BAD[what], "one")


@contract
async def test_unknown_fields(api: Conversation) -> None:
    await install_gadgets(api)
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", dta={"x": "1"}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"nothing": 1}), "one")
    await api.apply(f"{DEPLOYMENTS}/a", deploy({"name": "c", "image": "x", "y": 1}), "one")
    for mode in ("Strict", "Ignore", "Warn"):
        query = f"?fieldValidation={mode}"
        await api.apply(f"{GADGETS}/b{query}", gadget("b", spec={"nothing": 1}), "one")
        await api.apply(f"{CONFIG_MAPS}/b{query}", config_map("b", dta=1), "one")


@contract
async def test_options(api: Conversation) -> None:
    body = config_map("a")
    apply: dict[str, Any] = {"content_type": "application/apply-patch+yaml"}
    for query in ("", "?fieldManager=", "?force=true", f"?fieldManager={'x' * 129}"):
        await api.ask("PATCH", f"{CONFIG_MAPS}/a{query}", body, **apply)
    await api.ask("PATCH", f"{CONFIG_MAPS}/a?fieldManager=x&force=perhaps", body, **apply)


@contract
async def test_yaml(api: Conversation) -> None:
    body = (
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: 'on'\n  y: |\n    z\n"
    )
    await api.apply(f"{CONFIG_MAPS}/a", body, "one")
    await api.apply(f"{CONFIG_MAPS}/a", body + b"  x: again\n", "one")
    await api.apply(f"{CONFIG_MAPS}/a", body + b"  1: one\n  n: x\n", "one")
    await api.apply(f"{CONFIG_MAPS}/a", b"a: b: c", "one", same_words=False)


@contract
async def test_kubectl_client_side_apply_hands_over(api: Conversation) -> None:
    note = "kubectl.kubernetes.io/last-applied-configuration"
    body = config_map("a", {"annotations": {note: "{}"}}, data={"x": "1", "y": "1"})
    await api.post(f"{CONFIG_MAPS}?fieldManager=kubectl-client-side-apply", body)
    await api.apply(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "2"}), "kubectl")


@contract
async def test_defaults_belong_to_who_caused_them(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(f"{GADGETS}?fieldManager=maker", gadget("a", spec={"size": 1}))
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"mode": "Plain"}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={"mode": "Fancy"}), "one")
    await api.apply(f"{GADGETS}/a", gadget("a", spec={}), "one")
