"""Field validation: strict, warn, ignore; unknown fields and duplicate ones."""

import pytest
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

from certwright.kube import JsonObject

MODES = ["", "?fieldValidation=Strict", "?fieldValidation=Warn", "?fieldValidation=Ignore"]


@pytest.mark.parametrize("mode", [*MODES, "?fieldValidation=strict", "?fieldValidation="])
@contract
async def test_unknown_fields(api: Conversation, mode: str) -> None:
    await install_gadgets(api)
    stray: JsonObject = deployment("a", {"lables": {}}, replicsa=3)
    stray["spec"]["template"]["spec"]["containers"][0]["imgae"] = "x"
    await api.post(f"{DEPLOYMENTS}{mode}", stray)
    await api.post(f"{CONFIG_MAPS}{mode}", config_map("a", {"nme": "b"}, dta={"x": "y"}))
    await api.post(f"{GADGETS}{mode}", gadget("a", {"nme": "b"}, spec={"sizee": 1}, more={}))


@pytest.mark.parametrize("mode", MODES)
@contract
async def test_unknown_fields_in_changes(api: Conversation, mode: str) -> None:
    await install_gadgets(api)
    made = await api.post(CONFIG_MAPS, config_map("a"))
    await api.put(f"{CONFIG_MAPS}/a{mode}", {**made.body, "dta": {}})
    # Known difference: the order of fields in the object that is quoted.
    words = {"same_words": "Strict" not in mode}
    await api.merge(f"{CONFIG_MAPS}/a{mode}", {"dta": {"x": "1"}}, **words)
    stray = [{"op": "add", "path": "/dta", "value": 1}]
    await api.json_patch(f"{CONFIG_MAPS}/a{mode}", stray, **words)
    await api.strategic(f"{CONFIG_MAPS}/a{mode}", {"dta": {"x": "1"}}, **words)
    made = await api.post(GADGETS, gadget("a"))
    await api.put(f"{GADGETS}/a{mode}", {**made.body, "spec": {"sizee": 1}})
    await api.merge(f"{GADGETS}/a{mode}", {"spec": {"sizee": 1}})


DUPLICATES = {
    "top": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"immutable":true,"immutable":false}',
    "in a map": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1","x":"2"}}',
    "in metadata": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","name":"a"}}',
    "thrice": b'{"apiVersion":"v1","kind":"ConfigMap","kind":"ConfigMap","kind":"ConfigMap","metadata":{"name":"a"}}',
    "and unknown": b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"x":1,"x":2,"data":{},"data":{}}',
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", DUPLICATES)
@contract
async def test_duplicate_fields(api: Conversation, what: str, mode: str) -> None:
    await install_gadgets(api)
    body = DUPLICATES[what]
    await api.post(f"{CONFIG_MAPS}{mode}", body)
    custom = body.replace(b'"v1"', b'"contract.example.com/v1"').replace(b"ConfigMap", b"Gadget")
    await api.post(f"{GADGETS}{mode}", custom.replace(b'"data"', b'"spec"'))


@contract
async def test_duplicates_in_patches(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    for mode in MODES:
        words = {"same_words": "Strict" not in mode}
        await api.merge(f"{CONFIG_MAPS}/a{mode}", b'{"data":{"x":"1","x":"2"}}', **words)
        await api.json_patch(
            f"{CONFIG_MAPS}/a{mode}",
            b'[{"op":"add","path":"/data","value":{"a":"1"},"value":{"a":"2"}}]',
            **words,
        )


@pytest.mark.parametrize("mode", MODES)
@contract
async def test_yaml(api: Conversation, mode: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: a}\ndta: {}\n"
    await api.post(f"{CONFIG_MAPS}{mode}", body, content_type="application/yaml")


@contract
async def test_many_unknown_fields(api: Conversation) -> None:
    stray: JsonObject = {f"field{number:03}": number for number in range(30)}
    await api.post(CONFIG_MAPS, config_map("a", **stray))
    await api.post(f"{CONFIG_MAPS}?fieldValidation=Strict", config_map("b", **stray))


@contract
async def test_case_matters(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a", Data={"x": "1"}))
    await api.post(f"{CONFIG_MAPS}?fieldValidation=Strict", config_map("b", Data={"x": "1"}))


@contract
async def test_unknown_fields_of_invalid_objects(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("BAD NAME", dta={}))
    await api.post(CONFIG_MAPS, config_map("a", dta={}, data=1))
