"""Values of Secrets are found in texts, however a server spells them."""

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import JsonObject
from certwright.kube.redaction import LAST_APPLIED, MASK, masked, without_values_of

CANARY = "canary-4711"
VALUE = f'a&b"c\\d<{CANARY}>\n\té\x7f'


def secret(**parts: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **parts}


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


SPELT = {
    "plain": VALUE,
    "base64": encoded(VALUE),
    "JSON": json.dumps(VALUE, ensure_ascii=False)[1:-1],
    "JSON, ASCII only": json.dumps(VALUE)[1:-1],
    "JSON of Go": f'a\\u0026b\\"c\\\\d\\u003c{CANARY}\\u003e\\n\\té\\u007f',
    "quotes of Go": f'a&b\\"c\\\\d<{CANARY}>\\n\\té\\x7f',
    "repr": repr(VALUE)[1:-1],
    "a line": f'a&b"c\\d<{CANARY}>',
}


@pytest.mark.parametrize("spelt", SPELT.values(), ids=SPELT)
@pytest.mark.parametrize("part", ["data", "stringData"])
def test_every_spelling_is_masked(spelt: str, part: str) -> None:
    value = encoded(VALUE) if part == "data" else VALUE
    text = f'Secret "s" is invalid: {part}[k]: Invalid value: "{spelt}": no; got {spelt} again'
    shown = without_values_of(text, secret(**{part: {"k": value}}))
    assert CANARY not in shown
    assert encoded(VALUE)[:15] not in shown
    assert shown.startswith('Secret "s" is invalid: ')
    assert MASK in shown


@pytest.mark.parametrize("shape", [[VALUE], {"a": {"b": [VALUE]}}, VALUE])
def test_values_of_the_wrong_shape_are_masked(shape: Any) -> None:
    assert CANARY not in without_values_of(f"got {VALUE}", secret(stringData=shape))


@pytest.mark.parametrize(
    ("number", "spelt"),
    [(12345678, "12345678"), (1.5e7, "1.5e+07"), (15000000.0, "15000000"), (0.125, "0.125")],
)
def test_numbers_are_masked(number: float, spelt: str) -> None:
    text = f".stringData.pin: expected string, got &value.valueUnstructured{{Value:{spelt}}}"
    assert spelt not in without_values_of(text, secret(stringData={"pin": number}))


def test_copies_in_annotations_are_masked() -> None:
    copy = json.dumps(secret(data={"k": encoded(VALUE)}))
    obj = secret(metadata={"name": "s", "annotations": {LAST_APPLIED: copy, "a": "{", "b": "x"}})
    assert CANARY not in without_values_of(f"was {VALUE}, or {encoded(VALUE)}", obj)
    assert masked(obj)["metadata"]["annotations"] == {LAST_APPLIED: MASK, "a": MASK, "b": "x"}


def test_parts_of_long_values_are_masked() -> None:
    key = "".join(f"{n:04x}" for n in range(2_000))
    for part in (key[100:115], key[-40:], key[777:1777]):
        shown = without_values_of(
            f"bad: {part!r}… and {part}, {part}", secret(stringData={"k": key})
        )
        assert shown.count(MASK) == 3
        assert part not in shown


def test_operations_of_a_patch_are_masked() -> None:
    patch = [{"op": "add", "path": "/data/k", "value": encoded(VALUE)}]
    assert CANARY not in without_values_of(f"cannot add {VALUE}", patch)


def test_other_objects_and_words_stay() -> None:
    text = f"{VALUE} is not allowed"
    assert without_values_of(text, {**secret(data={"k": VALUE}), "kind": "ConfigMap"}) == text
    short = secret(stringData={"a": "ok", "b": "a", "config": "metadata: {}"})
    told = "ok: metadata.name is a problem"
    assert without_values_of(told, short) == told


@given(st.text(max_size=60), st.text(max_size=200), st.text(max_size=20))
def test_nothing_long_of_a_value_is_left(before: str, value: str, after: str) -> None:
    shown = without_values_of(f"{before}{value}{after}", secret(stringData={"k": value}))
    if len(value) >= 3 and MASK not in value:
        assert value not in shown.replace(MASK, "") or value in before + after
