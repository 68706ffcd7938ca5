"""What the status says is true, whatever goes wrong, and repairs come at once."""

import os

import pytest
from tests.component.operators.certmanager.conftest import V121, Installing

from certwright.apply import ObjectRef
from certwright.kube.kinds import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from certwright.testkit.actors.certmanager import random_play, small_release

SEEDS = int(os.environ.get("CERTWRIGHT_TRUTH_SEEDS", "3"))
"""How many installations with random delays and faults are watched."""
SOON = 1.0
MARK = "operators.redhat.io/kept-by"
STAYING = frozenset({"Namespace", "CustomResourceDefinition"})


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_available_means_that_certificates_are_issued(
    installing: Installing, seed: int
) -> None:
    installing.played.play = random_play(seed)
    await installing.declare()
    told = False
    for _ in range(40):
        await installing.advance(3)
        if (await installing.conditions()).get("Available", "").startswith("True"):
            told = True
            assert await installing.obstacles() == []
    assert told is (await installing.obstacles() == [])


async def test_every_object_is_restored_at_once(installing: Installing) -> None:
    await installing.installed()
    client = installing.cluster.client
    for ref in [ObjectRef.of(one) for one in small_release(V121)]:
        resource = await client.discovery.resource_for(ref.gvk)
        before = await installing.object(ref)
        label = "app" if "app" in before["metadata"]["labels"] else MARK
        await client.patch(resource, ref.key, {"metadata": {"labels": {label: "changed"}}})
        await installing.cluster.advance(seconds=SOON)
        after = await installing.object(ref)
        assert after["metadata"].get("labels") == before["metadata"].get("labels"), ref
        if ref.kind not in STAYING:
            await client.delete(resource, ref.key)
            await installing.cluster.advance(seconds=SOON)
            restored = await installing.object(ref)
            assert restored["metadata"]["uid"] != before["metadata"]["uid"], ref
        if ref.kind in {"Deployment", "Service"}:
            await installing.until_available()
    for kind in (ValidatingWebhookConfiguration, MutatingWebhookConfiguration):
        found = await installing.find(kind, "cert-manager-webhook")
        assert all(one["clientConfig"].get("caBundle") for one in found["webhooks"])
