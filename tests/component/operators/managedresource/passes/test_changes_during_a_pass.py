"""What happens to objects while a pass is still under way is not overlooked."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Context, Controller, Outcome, select
from certwright.testkit.builders import config_map


def vandal(keeping: Keeping, act: Callable[..., Awaitable[Any]]) -> Controller:
    """Return a controller that does something to an object as soon as it first appears."""
    seen = []

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found = ctx.get(ConfigMap, key)
        if found is not None and key not in seen:
            seen.append(key)
            await act(ctx, key)
        return DONE

    kind = select(ConfigMap, namespace=keeping.namespace, labels=keeping.label)
    return Controller(kind, reconcile, name="vandal")


async def delete(ctx: Context, key: Key) -> None:
    await ctx.client.delete(ConfigMap, key)


async def edit(ctx: Context, key: Key) -> None:
    await ctx.client.patch(ConfigMap, key, {"data": {"k": "vandalised"}})


@pytest.mark.parametrize("act", [delete, edit])
async def test_what_is_changed_during_a_pass_is_repaired_by_the_next(
    keeping: Keeping, act: Callable[..., Awaitable[Any]]
) -> None:
    await keeping.settle()
    await keeping.cluster.settle(vandal(keeping, act))
    objects = [config_map(f"c{number}", {"k": "v"}) for number in range(3)]
    await keeping.declare("web", *objects)
    await keeping.settle()
    for number in range(3):
        found = await keeping.find(ConfigMap, f"c{number}")
        assert found is not None
        assert found["data"] == {"k": "v"}
