"""The state of the world, no sleeps, no mocks; each test also runs on the real control plane."""

from certwright.kube import ObjectMeta
from certwright.kube.kinds import ConfigMap
from certwright.testkit import Cluster
from greeting import Greeting, GreetingSpec, controller


def hi(count: int) -> Greeting:
    return Greeting(metadata=ObjectMeta(name="hi"), spec=GreetingSpec(count=count))


async def test_keeps_as_many_as_asked(cluster: Cluster) -> None:
    await cluster.create(hi(count=2))
    calls = await cluster.settle(controller)
    assert await cluster.names(ConfigMap, labels="greeting=hi") == {"hi-0", "hi-1"}
    assert calls.writes == 3  # two ConfigMaps and one status


async def test_repairs_drift_with_one_write(cluster: Cluster) -> None:
    await cluster.create(hi(count=2))
    await cluster.settle(controller)
    await cluster.delete(ConfigMap, "hi-1")
    calls = await cluster.settle(controller)
    assert await cluster.names(ConfigMap, labels="greeting=hi") == {"hi-0", "hi-1"}
    assert calls.writes == 1


async def test_a_restart_writes_nothing(cluster: Cluster) -> None:
    await cluster.create(hi(count=2))
    await cluster.settle(controller)
    calls = await cluster.restart(controller)
    assert calls.writes == 0
