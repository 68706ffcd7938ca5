"""The shapes we declare by hand are those of the real server."""

import pytest
from tests.support.contract.openapi_compare import differences
from tests.support.contract.transcript import Conversation


@pytest.mark.real
async def test_every_type_is_the_real_one(embedded: Conversation, real: Conversation) -> None:
    ours = await embedded.get("/openapi/v3")
    compared, found = 0, []
    for path in sorted(ours.body["paths"]):
        one = await embedded.get(f"/openapi/v3/{path}")
        other = await real.get(f"/openapi/v3/{path}")
        if other.status == 200:
            compared += len(one.body["components"]["schemas"])
            found += differences(one.body, other.body)

    assert compared > 400
    assert not found, "\n".join(sorted(set(found)))
