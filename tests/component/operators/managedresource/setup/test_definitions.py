"""The definition of ManagedResource may be Gardener's or ours, and be replaced by the other one.

Embedded: on a real server, which tests share, one definition counts for all.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import CERTWRIGHT, GARDENER, Keeping

from certwright.api.managedresources import ManagedResource
from certwright.kube import JsonObject, crd_manifest
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map, deployment


async def replace(keeping: Keeping, definition: str) -> None:
    """Install another definition in place of the present one."""
    keeping.definition = definition
    await keeping.cluster.install(keeping.definition_manifest())


@pytest.fixture
def gardeners(embedded_cluster: EmbeddedCluster) -> Keeping:
    return Keeping(embedded_cluster, GARDENER)


async def test_with_gardeners_definition_a_status_has_what_it_knows(
    gardeners: Keeping, healthy: dict[str, str]
) -> None:
    await gardeners.declare("web", config_map("a"), deployment("d"))
    await gardeners.settle()
    assert (await gardeners.conditions("web"))["Healthy"] == "False/DeploymentUnhealthy"
    known = {"conditions", "observedGeneration", "resources", "secretsDataChecksum"}
    assert (await gardeners.status("web")).keys() == known
    await gardeners.rewrite("web", config_map("a"))
    await gardeners.settle()
    assert await gardeners.conditions("web") == healthy


async def test_what_the_definition_lacks_causes_no_write(gardeners: Keeping) -> None:
    await gardeners.declare("web", config_map("a"), deployment("d"))
    await gardeners.settle()
    assert len(await gardeners.settle()) == 0
    assert (await gardeners.restart()).writes == 0
    calls = await gardeners.cluster.advance(hours=3)
    assert calls.writes == 0


async def test_our_definition_brings_our_fields_with_the_next_write(gardeners: Keeping) -> None:
    await gardeners.declare("web", config_map("a"))
    await gardeners.settle()
    await replace(gardeners, CERTWRIGHT)
    assert (await gardeners.restart()).writes == 0
    await gardeners.rewrite("web", config_map("a"), config_map("b"))
    await gardeners.settle()
    assert (await gardeners.status("web"))["summary"]["total"] == 2


async def test_gardeners_definition_in_place_of_ours_stops_nothing(
    embedded_cluster: EmbeddedCluster, healthy: dict[str, str]
) -> None:
    keeping = Keeping(embedded_cluster, CERTWRIGHT)
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    assert "summary" in await keeping.status("web")
    await replace(keeping, GARDENER)
    await keeping.rewrite("web", config_map("a"), config_map("b"))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert "summary" not in await keeping.status("web")
    assert (await keeping.restart()).writes == 0


async def test_ours_has_every_field_of_gardeners(gardeners: Keeping) -> None:
    ours, theirs = (
        set(fields(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))
        for definition in (crd_manifest(ManagedResource), gardeners.definition_manifest())
    )
    assert theirs - ours == set()
    assert len(theirs) > 25


def fields(schema: JsonObject, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a schema, each with its type."""
    for name, inner in (schema.get("properties") or {}).items():
        if path or name in {"spec", "status"}:
            yield f"{path}.{name}", inner.get("type")
            yield from fields(inner, f"{path}.{name}")
    if isinstance(items := schema.get("items"), dict):
        yield from fields(items, f"{path}[]")
