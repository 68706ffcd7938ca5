"""The played cert-manager in simulations: faults concern the controllers, never the actors."""

from collections.abc import Sequence

from certwright.kube import ApiError, GroupVersionKind, JsonObject, Key, NotFound, key_of
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Context, Controller, Outcome, again
from certwright.testkit import EmbeddedCluster, crash_after_every_write, survives
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    random_play,
    small_release,
)
from certwright.testkit.actors.podplay import PodPlay
from certwright.testkit.faults.faults import CALM
from certwright.testkit.faults.simulation import Play, run, storm

SLOW = CertManagerPlay(pods={"*": PodPlay(start=3, ready=2)}, injection=4)
PROBE = {"secretName": "x", "dnsNames": ["x.example"], "issuerRef": {"name": "x"}}


def installer() -> Controller:
    """Return a controller that applies a release, and says so when a Certificate is accepted."""
    return Controller(ConfigMap, _install, name="install", conditions=())


async def _install(ctx: Context, key: Key) -> Outcome:
    wanted = ctx.get(ConfigMap, key)
    if wanted is None or key.name != "install":
        return DONE
    for manifest in small_release(wanted["data"]["version"]):
        if not await _exists(ctx, manifest):
            await ctx.apply(manifest)
    certificate: JsonObject = {
        "apiVersion": "cert-manager.io/v1", "kind": "Certificate",
        "metadata": {"name": "x", "namespace": "default"}, "spec": PROBE,
    }  # fmt: skip
    try:
        await ctx.client.create(certificate, dry_run=True)
    except ApiError:
        return again(5)
    if not (wanted["metadata"].get("annotations") or {}).get("works"):
        await ctx.patch(wanted, {"metadata": {"annotations": {"works": "yes"}}})
    return DONE


async def _exists(ctx: Context, manifest: JsonObject) -> bool:
    gvk = GroupVersionKind.parse(manifest["apiVersion"], manifest["kind"])
    try:
        await ctx.client.get(await ctx.client.discovery.resource_for(gvk), key_of(manifest))
    except NotFound:
        return False
    return True


def install(plays: Sequence[CertManagerPlay] = (SLOW,)) -> Play:
    async def scenario(cluster: EmbeddedCluster) -> None:
        played = await cluster.enter(PlayedCertManager(cluster, plays[0]))
        metadata = {"name": "install"}
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        await cluster.create({**kind, "metadata": metadata, "data": {"version": "v1.21.2"}})
        await cluster.settle()
        for play in plays:
            played.play = play
            await cluster.advance(minutes=2)
        assert await played.obstacles() == []
        found = await cluster.get(ConfigMap, "install")
        assert found["metadata"]["annotations"] == {"works": "yes"}

    return Play(scenario, (installer(),))


def test_an_install_survives_crashes() -> None:
    assert survives(install().scenario, installer(), crash_after_every_write, most=3) == 3


def test_storms_are_repeatable() -> None:
    play = install((random_play(1), CertManagerPlay()))
    first, second = storm(play, 1), storm(play, 1)
    assert not first.failure
    assert first.digest == second.digest
    assert first.state == second.state


def test_the_requests_of_actors_are_spared() -> None:
    calm = run(install(), CALM)
    assert not calm.failure
    assert calm.writes == len(small_release("v1.21.2")) + 1
    assert not [line for line in calm.trace if "/leases/" in line]
