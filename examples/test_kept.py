"""What a kept set promises, on the state of the world and on the number of writes."""

from certwright.kube import ObjectMeta
from certwright.kube.kinds import ConfigMap
from certwright.testkit import Cluster
from kept import Package, PackageSpec, operator

LABEL = "demo.certwright.dev/kept-by=packages"


async def declare(cluster: Cluster, *names: str) -> None:
    spec = PackageSpec({name: {"text": name} for name in names})
    await cluster.create(Package(metadata=ObjectMeta(name="web"), spec=spec))


async def test_creates_what_is_listed(cluster: Cluster) -> None:
    await declare(cluster, "a", "b")
    calls = await cluster.settle(operator)
    assert await cluster.names(ConfigMap, labels=LABEL) == {"a", "b"}
    assert calls.writes == 4  # the finalizer, the inventory and two ConfigMaps


async def test_repairs_drift_with_one_write(cluster: Cluster) -> None:
    await declare(cluster, "a", "b")
    await cluster.settle(operator)
    await cluster.patch(ConfigMap, "a", {"data": {"text": "changed"}})
    await cluster.delete(ConfigMap, "b")
    calls = await cluster.settle(operator)
    assert (await cluster.get(ConfigMap, "a"))["data"] == {"text": "a"}
    assert await cluster.names(ConfigMap, labels=LABEL) == {"a", "b"}
    assert calls.writes == 2  # one for each


async def test_prunes_what_is_not_listed_any_more(cluster: Cluster) -> None:
    await declare(cluster, "a", "b")
    await cluster.settle(operator)
    await cluster.patch(Package, "web", {"spec": {"configMaps": {"b": None}}})
    await cluster.settle(operator)
    assert await cluster.names(ConfigMap, labels=LABEL) == {"a"}
    [listed] = (await cluster.get(Package, "web")).status.inventory
    assert listed.endswith("/a")


async def test_a_restart_writes_nothing(cluster: Cluster) -> None:
    await declare(cluster, "a", "b")
    await cluster.settle(operator)
    calls = await cluster.restart(operator)
    assert calls.writes == 0


async def test_deletion_removes_all(cluster: Cluster) -> None:
    await declare(cluster, "a", "b")
    await cluster.settle(operator)
    await cluster.delete(Package, "web")
    await cluster.settle(operator)
    assert await cluster.names(ConfigMap, labels=LABEL) == set()
    assert await cluster.find(Package, "web") is None
