import pytest

from certwright.apiserver.schema.schema import Schema
from certwright.apiserver.schema.structural import prune
from certwright.kube import JsonObject

KNOWN = Schema("object", properties={"a": Schema("string")})
SCHEMA = Schema(
    "object",
    properties={
        "known": KNOWN,
        "list": Schema("array", items=KNOWN),
        "map": Schema("object", additional=KNOWN),
        "free": Schema("object", properties={"known": KNOWN}, preserve_unknown=True),
        "embedded": Schema("object", properties={"spec": KNOWN}, embedded_resource=True),
    },
)


@pytest.mark.parametrize(
    ("given", "kept", "dropped"),
    [
        ({"x": 1}, {}, ["x"]),
        ({"known": {"a": "1", "b": {}}}, {"known": {"a": "1"}}, ["known.b"]),
        ({"list": [{"a": "1"}, {"b": 1}]}, {"list": [{"a": "1"}, {}]}, ["list[1].b"]),
        ({"map": {"k": {"b": 1}}}, {"map": {"k": {}}}, ["map.k.b"]),
        ({"free": {"x": {"y": 1}}}, {"free": {"x": {"y": 1}}}, []),
        ({"free": {"known": {"b": 1}}}, {"free": {"known": {}}}, ["free.known.b"]),
        (
            {"embedded": {"kind": "K", "metadata": {"name": "x"}, "spec": {"b": 1}, "x": 1}},
            {"embedded": {"kind": "K", "metadata": {"name": "x"}, "spec": {}}},
            ["embedded.spec.b", "embedded.x"],
        ),
        ({"known": "not an object"}, {"known": "not an object"}, []),
    ],
)
def test_unknown_fields_are_dropped(
    given: JsonObject, kept: JsonObject, dropped: list[str]
) -> None:
    assert prune(given, SCHEMA) == dropped
    assert given == kept
