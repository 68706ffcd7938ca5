"""Certificates are issued anew when the authority that signs them has changed."""

from dataclasses import replace

import pytest
from tests.component.operators.rollout.carefresh.conftest import CERTIFICATE, World

from certwright.api.certmanagers import CertManagerInstallation
from certwright.kube import JsonObject
from certwright.kube.kinds import Deployment, Secret
from certwright.operators.rollout.dialects.certwright import CertwrightDialect
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.operator import rollout_operator
from certwright.testkit.builders import deployment

RESTART = "rollout.certwright.dev/restart"
PAUSED = {"rollout.certwright.dev/paused": "true"}
LISTED = [{"certName": "root", "namespace": "shop"}]


def trusting(name: str, secret: str, annotations: dict[str, str]) -> JsonObject:
    """Return a Deployment that mounts an authority."""
    made = deployment(name, namespace="shop", annotations=annotations)
    pod = made["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "ca", "secret": {"secretName": secret}}]
    return made


async def two_issuers(world: World) -> None:
    """Make an authority with two Issuers and three leaves, and one that it does not concern."""
    await world.authority("shop/root")
    await world.authority("shop/other")
    for name, secret in (("one", "root-tls"), ("two", "root-tls"), ("other", "other-tls")):
        await world.issuer(f"shop/{name}", secret)
    await world.leaf("shop/web", "one")
    await world.leaf("shop/api", "one")
    await world.leaf("shop/db", "two")
    await world.leaf("shop/unrelated", "other")


@pytest.mark.scenario("CM-62")
async def test_leaves_of_all_issuers_are_issued_anew_and_no_others(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    assert await world.refreshed() == []
    await world.rotate("shop/root")
    await world.rotate("shop/other")
    assert sorted(await world.refreshed()) == ["shop/api", "shop/db", "shop/web"]
    assert await world.refreshed() == []


@pytest.mark.scenario("CM-62")
async def test_secrets_serve_until_they_are_replaced(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.settle()
    before = await world.cluster.get(Secret, "shop/web-tls")
    await world.rotate("shop/root")
    calls = await world.settle()
    # cert-manager has been told, and has not answered yet: nothing is missing meanwhile.
    assert await world.cluster.get(Secret, "shop/web-tls") == before
    assert calls.of("Certificate").writes == 2 * 3  # the condition and the mark of each
    assert not calls.of("Secret").writes
    await world.issue()
    after = await world.cluster.get(Secret, "shop/web-tls")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["data"]["tls.crt"] != before["data"]["tls.crt"]


@pytest.mark.scenario("CM-63")
async def test_nothing_happens_when_it_is_switched_off(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED, enableCertRefresh=False)
    await two_issuers(world)
    await world.settle()
    await world.rotate("shop/root")
    calls = await world.settle()
    assert not calls.writes
    assert await world.refreshed() == []


async def test_switching_it_on_again_catches_up(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED, enableCertRefresh=False)
    await two_issuers(world)
    await world.rotate("shop/root")
    assert await world.refreshed() == []
    again = {"spec": {"enableCertRefresh": None}}
    await world.cluster.patch(CertManagerInstallation, "default", again)
    assert sorted(await world.refreshed()) == ["shop/api", "shop/db", "shop/web"]


async def test_an_authority_renewed_with_its_key_leaves_its_leaves_alone(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.settle()
    await world.rotate("shop/root", same_key=True)
    assert await world.refreshed() == []


async def test_without_a_certmanager_our_own_annotation_counts(world: World) -> None:
    marks = {"rollout.certwright.dev/refresh-leaves": "true"}
    await world.authority("shop/root", annotations=marks)
    await world.issuer("shop/one", "root-tls")
    await world.leaf("shop/web", "one")
    await world.rotate("shop/root")
    assert await world.refreshed() == ["shop/web"]


async def test_a_label_counts_only_with_a_certmanager(world: World) -> None:
    labels = {"ibm-cert-manager-operator/refresh-ca-chain": "true"}
    await world.authority("shop/root", labels=labels)
    await world.issuer("shop/one", "root-tls")
    await world.leaf("shop/web", "one")
    await world.rotate("shop/root")
    assert await world.refreshed() == []
    await world.manager()
    assert await world.refreshed() == ["shop/web"]


async def test_foundation_services_name_no_authority(world: World) -> None:
    await world.manager()
    await world.authority("ibm/cs-ca-certificate")
    await world.issuer("ibm/one", "cs-ca-certificate-tls")
    await world.leaf("ibm/web", "one")
    await world.rotate("ibm/cs-ca-certificate")
    assert await world.refreshed() == []
    await world.cluster.create(deployment("operand-deployment-lifecycle-manager", namespace="ibm"))
    assert await world.refreshed() == ["ibm/web"]


async def test_cluster_issuers_sign_in_every_namespace(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=[{"certName": "root", "namespace": "cert-manager"}])
    await world.authority("cert-manager/root")
    await world.issuer("everywhere", "root-tls")
    await world.leaf("shop/web", "everywhere", "ClusterIssuer")
    await world.leaf("bank/web", "everywhere", "ClusterIssuer")
    await world.settle()
    await world.rotate("cert-manager/root")
    assert sorted(await world.refreshed()) == ["bank/web", "shop/web"]


async def test_an_authority_below_comes_before_its_leaves(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await world.authority("shop/root")
    await world.issuer("shop/one", "root-tls")
    await world.leaf("shop/middle", "one", is_ca=True)
    await world.issuer("shop/below", "middle-tls")
    await world.leaf("shop/web", "below")
    await world.settle()
    await world.rotate("shop/root")
    assert await world.refreshed() == ["shop/middle", "shop/web"]


async def test_leaves_wait_for_workloads_that_trust_the_authority(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.cluster.create(trusting("client", "root-tls", {RESTART: "true"}))
    await world.cluster.create(trusting("manual", "root-tls", {}))
    restarts = rollout_operator(RolloutSettings(dialects=[CertwrightDialect()]))
    await world.cluster.settle(restarts)
    await world.cluster.patch(Deployment, "shop/client", {"metadata": {"annotations": PAUSED}})
    await world.rotate("shop/root")
    assert await world.refreshed() == []
    (told,) = set(await world.events("WaitsForTrust"))
    assert "Deployment shop/client;" in told
    resumed = dict.fromkeys(PAUSED)
    await world.cluster.patch(Deployment, "shop/client", {"metadata": {"annotations": resumed}})
    await world.cluster.advance(seconds=30)
    assert sorted(await world.refreshed()) == ["shop/api", "shop/db", "shop/web"]


async def test_few_are_issued_at_the_same_time(world: World) -> None:
    world.settings = replace(world.settings, at_once=2)
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.rotate("shop/root")
    await world.settle()
    assert len(await world.issue()) == 2
    await world.cluster.advance(seconds=15)
    assert len(await world.issue()) == 1


async def test_what_failed_is_asked_for_again_after_a_while(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.rotate("shop/root")
    await world.settle()
    await world.fail("shop/web")
    await world.issue()
    assert await world.refreshed() == []
    await world.cluster.advance(hours=1.1)
    assert await world.refreshed() == ["shop/web"]


async def test_what_another_authority_signs_is_told_and_not_repeated(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.rotate("shop/root")
    await world.settle()
    # cert-manager answers with a certificate of the authority before.
    found = await world.cluster.get(CERTIFICATE, "shop/web")
    status = {"conditions": [{"type": "Ready", "status": "True", "reason": "", "message": ""}]}
    await world.cluster.patch(CERTIFICATE, "shop/web", {"status": status}, subresource="status")
    await world.issue()
    assert await world.refreshed() == []
    assert found["metadata"]["annotations"]["rollout.certwright.dev/refreshed-for"]
    assert await world.events("NotSignedByAuthority")


async def test_a_restart_of_the_operator_changes_nothing(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.rotate("shop/root")
    await world.refreshed()
    calls = await world.cluster.restart()
    assert not calls.writes


async def test_one_broken_certificate_stops_no_other(world: World) -> None:
    await world.manager(refreshCertsBasedOnCA=LISTED)
    await two_issuers(world)
    await world.settle()
    await world.cluster.patch(Secret, "shop/api-tls", {"data": {"tls.crt": "AAAA"}})
    await world.rotate("shop/root")
    assert sorted(await world.refreshed()) == ["shop/db", "shop/web"]
