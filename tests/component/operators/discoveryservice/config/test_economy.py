"""What a change costs that does not concern what is said of Envoys."""

import asyncio

from tests.component.operators.discoveryservice.config.conftest import Serving, clusters
from tests.support.envoy.played import PlayedEnvoy
from tests.support.envoy.resources import cluster
from tests.support.envoy.secrets import key_pair, tls_secret

from certwright.kube.kinds import Secret
from certwright.xds.protocol.observation import Standings

PASSES = 'controller_runtime_reconcile_total{controller="envoy-config"'
ENVOYS = 30


class CountedEnvoy(PlayedEnvoy):
    """Counts how often it is looked at."""

    looks = 0

    def standings(self) -> Standings:
        self.looks += 1
        return super().standings()


async def passes(serving: Serving) -> int:
    lines = (await serving.cluster.scrape()).splitlines()
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(PASSES)))


async def test_a_renewed_secret_takes_few_passes_and_one_look_at_each_envoy(
    serving: Serving,
) -> None:
    now = serving.cluster.clock.now()
    await serving.cluster.create(tls_secret("web", *key_pair(now)))
    web = {"type": "secret", "generateFromTlsSecret": "web"}
    await serving.create(resources=[web, *clusters(cluster("a"))])
    await serving.settle()
    envoys = [
        CountedEnvoy(
            serving.snapshots, serving.connections, serving.cluster.clock, serving.node(), str(one)
        )
        for one in range(ENVOYS)
    ]
    await asyncio.sleep(30)
    await serving.settle()
    [count] = (await serving.config()).status.envoys
    assert count.envoys == ENVOYS
    before, looks = await passes(serving), [one.looks for one in envoys]

    data = tls_secret("web", *key_pair(now))["data"]
    await serving.cluster.patch(Secret, "web", {"data": data})
    await asyncio.sleep(30)
    calls = await serving.settle()
    assert all(one.answers == 4 for one in envoys), "each was sent the new one"
    assert {one.looks - seen for one, seen in zip(envoys, looks, strict=True)} == {1}
    assert await passes(serving) - before == 2, "of the Secret, and of our own write"
    assert calls.writes == 1
