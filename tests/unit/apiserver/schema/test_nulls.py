from typing import Any

import pytest

from certwright.apiserver.schema.nulls import drop_nulls
from certwright.apiserver.schema.schema import Schema

SCHEMA = Schema(
    "object",
    properties={
        "plain": Schema("string"),
        "nullable": Schema("string", nullable=True),
        "defaulted": Schema("string", default="x"),
        "map": Schema("object", additional=Schema("string")),
        "list": Schema("array", items=Schema("object", properties={"plain": Schema("string")})),
        "free": Schema("object", preserve_unknown=True),
    },
)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"plain": None}, {}),
        ({"nullable": None}, {"nullable": None}),
        ({"defaulted": None}, {"defaulted": None}),
        ({"map": {"a": None, "b": "c"}}, {"map": {"b": "c"}}),
        ({"list": [{"plain": None}, None]}, {"list": [{}, None]}),
        ({"free": {"a": None}}, {"free": {"a": None}}),
        ({"unknown": None}, {"unknown": None}),
    ],
)
def test_nulls_that_mean_nothing_are_dropped(sent: Any, read: Any) -> None:
    drop_nulls(sent, SCHEMA)

    assert sent == read
