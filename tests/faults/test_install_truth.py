"""The status of an installation is true: Available means that a certificate can be had now.

Each seed draws how slow and how broken cert-manager is at first, a Lease that a dead pod left, and
what goes wrong between the operator and the API server. An observer orders a certificate whenever
the status says that it can be issued, and notes when that is not so.
"""

from dataclasses import replace
from random import Random

import pytest
from tests.component.operators.certmanager.conftest import V120, V121, as_released
from tests.support.faults.installscenarios import (
    CMD,
    change,
    declare,
    is_available,
    operator,
)
from tests.support.faults.truthobserver import TruthObserver

from certwright.kube import JsonObject, format_time, key_of
from certwright.kube.kinds import Lease, Pod
from certwright.testkit import EmbeddedCluster
from certwright.testkit.actors.certmanager import CertManagerPlay, PlayedCertManager, random_play
from certwright.testkit.actors.podplay import NEVER
from certwright.testkit.faults.faults import CALM, Storm
from certwright.testkit.faults.replay import Replay
from certwright.testkit.faults.simulation import Play, Run, Scenario, run
from certwright.testkit.workloads.podstate import is_ready

SEEDS = 12
"""A hundred in a campaign."""
CAMPAIGN_SEEDS = 100
BUNDLES = {version: as_released(version) for version in (V120, V121)}
RENEWAL = 30.0
"""Leases are renewed just in time: each renewal costs as much as any other write."""


def plays(seed: int) -> tuple[CertManagerPlay, CertManagerPlay]:
    """Draw how cert-manager behaves at first, perhaps broken, and how after it was mended.

    An issuance that never ends is no fault of the installation: nothing shows it but issuing.
    """
    drawn = random_play(seed), random_play(seed, faults=False)
    first, mended = (replace(one, renewal=RENEWAL) for one in drawn)
    if first.issuance == NEVER:
        first = replace(first, issuance=mended.issuance, injection=NEVER)
    return first, mended


def lease_of_the_dead(cluster: EmbeddedCluster) -> JsonObject:
    """Return the Lease that a pod held which was killed just now."""
    spec = {
        "holderIdentity": "cert-manager-dead-external-cert-manager-controller",
        "leaseDurationSeconds": 60,
        "renewTime": format_time(cluster.clock.now()).replace("Z", ".000000Z"),
    }
    metadata = {"name": "cert-manager-controller", "namespace": "kube-system"}
    kind = {"apiVersion": Lease.api_version, "kind": Lease.kind}
    return {**kind, "metadata": metadata, "spec": spec}


async def replace_unready_pods(cluster: EmbeddedCluster) -> None:
    """Delete the pods that would not recover; those that work are left alone."""
    for pod in (await cluster.client.list(Pod, "cert-manager")).items:
        if not is_ready(pod):
            await cluster.client.delete(Pod, key_of(pod))


async def until_works(cluster: EmbeddedCluster, version: str) -> None:
    """Let time pass until the status says that a version works."""
    found: JsonObject = {}
    for _ in range(60):
        await cluster.advance(seconds=10)
        found = await cluster.get(CMD, "cluster")
        if is_available(found) and found["status"].get("installedVersion") == version:
            return
    raise AssertionError(f"{version} does not work after ten minutes: {found.get('status')}")


def truth(seed: int) -> Scenario:
    """Return an installation that is observed; every fourth seed goes on with an upgrade."""
    first, mended = plays(seed)
    rng = Random(f"truth {seed}")  # noqa: S311 - chance that repeats is the point

    async def scenario(cluster: EmbeddedCluster) -> None:
        played = await cluster.enter(PlayedCertManager(cluster, first))
        observer = await cluster.enter(TruthObserver(cluster, played))
        await cluster.settle()
        if rng.random() < 0.5:
            await cluster.create(lease_of_the_dead(cluster))
        upgraded = seed % 4 == 3
        await declare(cluster, version=V120 if upgraded else V121)
        await cluster.advance(seconds=rng.uniform(0, 200))
        played.play = mended
        await replace_unready_pods(cluster)
        await until_works(cluster, V120 if upgraded else V121)
        if upgraded:
            played.play = replace(random_play(seed + 1000, faults=False), renewal=RENEWAL)
            await change(cluster, version=V121)
            await until_works(cluster, V121)
        await cluster.advance(minutes=2)
        assert observer.lies == [], observer.lies
        assert observer.checked == observer.said > 0

    return scenario


def observed(seed: int) -> Run:
    """Install under a seed; every second one through a storm."""
    play = Play(truth(seed), (operator(lambda: BUNDLES, V121),))
    return run(play, Storm(seed) if seed % 2 else CALM, seed=seed, shuffle=bool(seed % 2))


def seeds() -> list[int]:
    """Return the seeds to run: those of a campaign, or the one that is to be replayed."""
    if (replay := Replay.asked_for()) is not None:
        return [int(replay.name)]
    return list(range(CAMPAIGN_SEEDS if Replay.is_campaign() else SEEDS))


@pytest.mark.parametrize("seed", seeds())
def test_available_means_that_certificates_can_be_issued(seed: int) -> None:
    result = observed(seed)
    assert not result.failure, "\n".join([f"seed {seed}: {result.failure}", *result.trace[-40:]])


def test_the_same_seed_takes_the_same_way() -> None:
    assert observed(1).digest == observed(1).digest
