"""Authorities that are rotated under faults at every point: leaves are issued anew, each once."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.operators.rollout.carefresh.conftest import World

from certwright import pki
from certwright.operators.rollout.carefresh.operator import RefreshSettings, ca_refresh
from certwright.pki.chains import is_issued_by
from certwright.testkit import (
    EmbeddedCluster,
    crash_after_every_write,
    drop_each_event,
    lose_every_answer,
    refuse_every_write,
    stale_restart,
    survives,
)

OPERATOR = ca_refresh(RefreshSettings(at_once=2))
IGNORE = ("Secret.data", "Certificate.metadata.annotations", "Certificate.status")
LEAVES = ("api", "db", "web")
TORTURES: list[Callable[..., Any]] = [
    crash_after_every_write, stale_restart, drop_each_event, lose_every_answer, refuse_every_write,
]  # fmt: skip


async def rotated(cluster: EmbeddedCluster) -> None:
    """Rotate an authority with three leaves, of which two are issued at the same time."""
    world = World(cluster)
    await world.define()
    await world.manager(refreshCertsBasedOnCA=[{"certName": "root", "namespace": "shop"}])
    await world.authority("shop/root")
    await world.issuer("shop/one", "root-tls")
    for name in LEAVES:
        await world.leaf(f"shop/{name}", "one")
    await cluster.settle()
    world.issued.clear()
    await world.rotate("shop/root")
    for _ in range(8):
        await cluster.settle()
        await cluster.advance(seconds=45)
        await world.issue()
    assert sorted(world.issued) == [f"shop/{name}" for name in LEAVES]
    authority = pki.read_certificate((await world.secret("shop/root-tls"))["tls.crt"])
    for name in LEAVES:
        leaf = pki.read_certificate((await world.secret(f"shop/{name}-tls"))["tls.crt"])
        assert is_issued_by(leaf, authority)


@pytest.mark.parametrize("torture", TORTURES, ids=lambda one: one.__name__)
def test_each_leaf_is_issued_anew_once(torture: Callable[..., Any]) -> None:
    survives(rotated, OPERATOR, torture, ignore=IGNORE, most=3)
