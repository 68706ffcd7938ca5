"""How the objects of several source clusters are told apart in one target."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube.kinds import ConfigMap
from certwright.operators.managedresource.configuration import Configuration, Controllers
from certwright.operators.managedresource.operator import cluster_id
from certwright.operators.managedresource.ownership import IDENTITY
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map, namespace

ORIGIN = "resources.gardener.cloud/origin"


def configured(text: str) -> Configuration:
    return Configuration(controllers=Controllers(cluster_id=text))


@pytest.mark.scenario("MR-100")
async def test_an_id_that_must_come_from_the_cluster_keeps_the_process_from_starting(
    keeping: Keeping,
) -> None:
    with pytest.raises(ValueError, match=r"kube-system/cluster-identity .* does not exist"):
        await cluster_id(configured("<cluster>"), keeping.cluster.client)


@pytest.mark.scenario("MR-100")
async def test_an_id_that_may_come_from_the_cluster_may_be_missing(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    found = await cluster_id(configured("<default>"), keeping.cluster.client)
    assert found == ""
    await keeping.declare("web", config_map("a"))
    await keeping.settle(keeping.operator(identity=found))
    annotations = (await keeping.find(ConfigMap, "a"))["metadata"]["annotations"]
    assert annotations[ORIGIN] == f"{keeping.namespace}/web"


@pytest.mark.scenario("MR-100")
async def test_a_literal_id_is_part_of_the_origin(keeping: Keeping) -> None:
    found = await cluster_id(configured("x"), keeping.cluster.client)
    await keeping.declare("web", config_map("a"))
    await keeping.settle(keeping.operator(identity=found))
    annotations = (await keeping.find(ConfigMap, "a"))["metadata"]["annotations"]
    assert annotations[ORIGIN] == f"x:{keeping.namespace}/web"


@pytest.mark.scenario("MR-100")
@pytest.mark.parametrize("text", ["<cluster>", "<default>"])
async def test_the_cluster_says_who_it_is(embedded_cluster: EmbeddedCluster, text: str) -> None:
    """Embedded: kube-system of a real server belongs to all tests."""
    client = embedded_cluster.client
    named = {"cluster-identity": "seed-1"}
    await embedded_cluster.apply(namespace(IDENTITY.namespace))
    await embedded_cluster.apply(config_map(IDENTITY.name, named, namespace=IDENTITY.namespace))
    assert await cluster_id(configured(text), client) == "seed-1"
    await client.patch(ConfigMap, IDENTITY, {"data": {"cluster-identity": None}})
    if text == "<default>":
        assert await cluster_id(configured(text), client) == ""
    else:
        with pytest.raises(ValueError, match="has no key 'cluster-identity'"):
            await cluster_id(configured(text), client)
