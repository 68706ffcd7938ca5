"""`certwright cert-manager check`: it names the link that is broken, and only that one."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from certwright.cli.certmanager.check import Link, LinkName, chain_text, judged
from certwright.cli.certmanager.trial import ISSUER, NAME, Trial
from certwright.kube import JsonObject
from certwright.kube.kinds import (
    CustomResourceDefinition,
    Deployment,
    EndpointSlice,
    Lease,
    Secret,
    Service,
    ValidatingWebhookConfiguration,
)
from certwright.operators.certmanager.engine.gates import CERTIFICATE
from certwright.testkit import EmbeddedCluster
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    small_release,
)
from certwright.testkit.actors.podplay import PodPlay

VERSION = "v1.21.2"
NEVER = float("inf")


@pytest.fixture
async def played(embedded_cluster: EmbeddedCluster) -> PlayedCertManager:
    """A cert-manager that was installed with kubectl, and works."""
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster, CertManagerPlay()))
    for manifest in small_release(VERSION):
        await embedded_cluster.apply(manifest)
    await embedded_cluster.apply(endpoints("cert-manager-webhook"))
    await embedded_cluster.advance(minutes=2)
    assert not await played.obstacles()
    return played


def endpoints(service: str, *, ready: bool = True) -> JsonObject:
    return {
        "apiVersion": EndpointSlice.api_version,
        "kind": EndpointSlice.kind,
        "metadata": {
            "name": f"{service}-1",
            "namespace": "cert-manager",
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.7"], "conditions": {"ready": ready}}],
        "ports": [{"name": "https", "port": 10250}],
    }


async def chain(cluster: EmbeddedCluster, trial: Trial | None = None) -> list[Link]:
    cluster.client.discovery.invalidate()
    return [link async for link in judged(cluster.client, trial, cluster.clock)]


async def test_all_links_hold(embedded_cluster: EmbeddedCluster, played: PlayedCertManager) -> None:
    links = await chain(embedded_cluster)
    assert [link.name for link in links] == list(LinkName)
    assert [link for link in links if link.holds is False] == []
    assert links[-1].holds is None
    assert VERSION in links[2].seen
    assert "broken" not in chain_text(links)


async def delete_definition(cluster: EmbeddedCluster) -> None:
    await cluster.delete(CustomResourceDefinition, "certificates.cert-manager.io")


async def delete_cainjector(cluster: EmbeddedCluster) -> None:
    await cluster.delete(Deployment, "cert-manager/cert-manager-cainjector")


async def delete_service(cluster: EmbeddedCluster) -> None:
    await cluster.delete(Service, "cert-manager/cert-manager-webhook")


async def empty_service(cluster: EmbeddedCluster) -> None:
    await cluster.apply(endpoints("cert-manager-webhook", ready=False))


async def lose_lease(cluster: EmbeddedCluster) -> None:
    spec = {"spec": {"holderIdentity": "cert-manager-of-old_x"}}
    await cluster.patch(Lease, "kube-system/cert-manager-controller", spec)


@pytest.mark.parametrize(
    ("break_it", "broken", "told"),
    [
        (delete_definition, LinkName.DEFINITIONS, "certificates.cert-manager.io"),
        (delete_cainjector, LinkName.PODS, "a Deployment of the cainjector does not exist yet"),
        (delete_service, LinkName.SERVICE, "cert-manager-webhook does not exist"),
        (empty_service, LinkName.SERVICE, "has no endpoint that is ready"),
        (lose_lease, LinkName.LEADER, "held by: cert-manager-of-old_x"),
    ],
)
async def test_the_broken_link_is_named(
    embedded_cluster: EmbeddedCluster,
    played: PlayedCertManager,
    break_it: Callable[[EmbeddedCluster], Awaitable[None]],
    broken: LinkName,
    told: str,
) -> None:
    await break_it(embedded_cluster)
    links = await chain(embedded_cluster)
    [link] = [link for link in links if link.holds is False]
    assert link.name is broken
    assert told in link.seen
    assert link.advice
    assert {one.name for one in links} == set(LinkName)
    after = links[links.index(link) + 1 :]
    assert {one.holds for one in after} == {None}
    text = chain_text(links)
    assert f"broken: {broken}\nwhat to do: {link.advice}" in text


async def test_a_webhook_that_is_not_trusted(
    embedded_cluster: EmbeddedCluster, played: PlayedCertManager
) -> None:
    """The chain breaks where the API server would refuse every Certificate."""
    played.play = replace(played.play, injection=NEVER)
    for one in await embedded_cluster.list(ValidatingWebhookConfiguration):
        webhooks = [
            {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": ""}}
            for webhook in one["webhooks"]
        ]
        name = one["metadata"]["name"]
        await embedded_cluster.patch(ValidatingWebhookConfiguration, name, {"webhooks": webhooks})
    links = await chain(embedded_cluster)
    [link] = [link for link in links if link.holds is False]
    assert link.name is LinkName.AUTHORITY
    assert "cainjector" in link.seen


async def test_a_pod_that_does_not_become_ready(
    embedded_cluster: EmbeddedCluster, played: PlayedCertManager
) -> None:
    played.play = replace(played.play, pods={"*-webhook:*": PodPlay(ready=NEVER)})
    name = "cert-manager/cert-manager-webhook"
    await embedded_cluster.patch(Deployment, name, {"spec": {"replicas": 2}})
    await embedded_cluster.advance(seconds=10)
    [link] = [link for link in await chain(embedded_cluster) if link.holds is False]
    assert link.name is LinkName.PODS
    assert "cert-manager-webhook is not rolled out: " in link.seen


async def test_two_installations(
    embedded_cluster: EmbeddedCluster, played: PlayedCertManager
) -> None:
    one = await embedded_cluster.get(Deployment, "cert-manager/cert-manager")
    metadata = {"name": "cert-manager", "namespace": "default", "labels": one["metadata"]["labels"]}
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    await embedded_cluster.create({**head, "spec": one["spec"]})
    [link] = [link for link in await chain(embedded_cluster) if link.holds is False]
    assert link.name is LinkName.PODS
    assert "there are 2 of the controller" in link.seen


async def test_nothing_is_installed(embedded_cluster: EmbeddedCluster) -> None:
    [link] = [link for link in await chain(embedded_cluster) if link.holds is False]
    assert link.name is LinkName.DEFINITIONS


async def test_a_certificate_is_issued_and_leaves_nothing(
    embedded_cluster: EmbeddedCluster, played: PlayedCertManager
) -> None:
    links = await chain(embedded_cluster, Trial("default"))
    assert links[-1].holds, links[-1].seen
    assert f"Certificate default/{NAME} was issued" in links[-1].seen
    for kind in (CERTIFICATE, ISSUER, Secret):
        assert await embedded_cluster.find(kind, f"default/{NAME}") is None


async def test_a_certificate_that_is_never_issued(
    embedded_cluster: EmbeddedCluster, played: PlayedCertManager
) -> None:
    played.play = replace(played.play, issuance=NEVER)
    links = await chain(embedded_cluster, Trial("default", 5))
    assert links[-1].holds is False
    assert "is not issued after 5 s" in links[-1].seen
    assert await embedded_cluster.find(CERTIFICATE, f"default/{NAME}") is None
