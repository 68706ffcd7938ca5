"""How an authority is replaced: step by step, and with nothing that could not be verified."""

from base64 import b64decode

import pytest
from tests.component.operators.discoveryservice.certificates.conftest import (
    CA,
    CLIENT,
    DAY,
    DSC,
    SERVER,
    Certifying,
    Connected,
    writes,
)

from certwright import pki
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import MutatingWebhookConfiguration, Secret
from certwright.operators.discoveryservice.certificates.contents import bundle_digest
from certwright.pki.chains import is_issued_by
from certwright.testkit import Calls

LABELS = {
    "app.kubernetes.io/managed-by": "marin3r-operator",
    "app.kubernetes.io/component": "discovery-service",
    "app.kubernetes.io/instance": "x",
}
A, B = f"a/{CLIENT}", f"b/{CLIENT}"
PLACES = (SERVER, A, B)


async def start(certifying: Certifying) -> None:
    """Create a control plane of two namespaces whose authority was asked to be replaced."""
    await certifying.plane("a", "b")
    await certifying.settle()
    await certifying.request_renewal(CA)


async def serials(certifying: Certifying) -> dict[str, str]:
    return {name: (await certifying.pair(name)).serial for name in PLACES}


async def signed_by(certifying: Certifying, name: str, ca: pki.certificates.Certificate) -> bool:
    return is_issued_by((await certifying.pair(name)).certificate, ca)


@pytest.mark.scenario("DS-21")
async def test_both_are_trusted_everywhere_before_anything_changes(certifying: Certifying) -> None:
    await certifying.plane("a", "b", ca=10 * DAY)
    await certifying.settle()
    await _register(certifying, await certifying.secret(CA))
    certifying.jump(days=7.9)
    await certifying.advance(hours=1)
    before = await serials(certifying)
    old = await certifying.pair(CA)
    await certifying.until("Prepared")
    bundle = await certifying.anchors(CA)
    new = await certifying.pair(CA, "next.crt", "next.key")
    assert bundle == {old.fingerprint, new.fingerprint}
    assert (await certifying.pair(CA)).serial == old.serial
    for name in PLACES:
        assert await certifying.anchors(name) == bundle
    for _ in range(3):  # as long as one place does not name both, nothing goes on
        await certifying.advance(minutes=20)
        assert await certifying.phase() == "Prepared"
    after = await serials(certifying)
    assert after[SERVER] == before[SERVER]
    status = await certifying.status(CA)
    waiting = status["rotation"]["waitingFor"]
    assert waiting == [
        "ConfigMap default/marin3r-ca-bundle-x", "MutatingWebhookConfiguration marin3r-x",
    ]  # fmt: skip
    await _register(certifying, await certifying.secret(CA))
    await certifying.settle()
    assert await certifying.phase() == "Distributed"


async def _register(certifying: Certifying, ca: JsonObject) -> None:
    """Write what another controller writes: a webhook configuration and a ConfigMap."""
    text = ca["data"]["ca.crt"]
    metadata = {"labels": LABELS}
    await certifying.cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "name": "marin3r-ca-bundle-x"},
            "data": {"ca.crt": b64decode(text).decode()},
        }
    )
    await certifying.cluster.apply(
        {
            "apiVersion": MutatingWebhookConfiguration.api_version,
            "kind": MutatingWebhookConfiguration.kind,
            "metadata": {**metadata, "name": "marin3r-x"},
            "webhooks": [
                {
                    "name": "sidecar-injector.marin3r.3scale.net",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "clientConfig": {
                        "caBundle": text,
                        "service": {"name": "marin3r-x", "namespace": "default"},
                    },
                }
            ],
        }
    )


async def test_all_phases_in_their_order(certifying: Certifying) -> None:
    await start(certifying)
    before, old = await serials(certifying), await certifying.pair(CA)
    phases = ["Stable"]
    for _ in range(20):
        await certifying.advance(minutes=2)
        if (phase := await certifying.phase()) != phases[-1]:
            phases.append(phase)
        now = await serials(certifying)
        if phase in {"Prepared", "Distributed"}:
            assert now == before  # nothing is observed, so nothing has to be proven
    assert phases == ["Stable", "Distributed", "Activated", "Stable"]
    new = await certifying.pair(CA)
    assert new.serial != old.serial
    for name in PLACES:
        assert await signed_by(certifying, name, new.certificate)
        assert await certifying.anchors(name) == {new.fingerprint}
    data = (await certifying.secret(CA))["data"]
    assert set(data) == {"tls.crt", "tls.key", "ca.crt"}
    assert await certifying.condition(CA, "CertificateNeedsRenewal") == ""
    assert await certifying.condition(CA, "Degraded") == ""
    reasons = await certifying.events(CA)
    assert "CARotation" in reasons
    assert (await certifying.advance(hours=5)).writes == 0
    assert (await certifying.restart()).writes == 0


async def test_servers_come_before_clients(certifying: Certifying) -> None:
    await start(certifying)
    await certifying.until("Distributed")
    calls = []
    while await certifying.phase() != "Stable":
        calls += list(await certifying.advance(minutes=1))
    written = [
        call.path.rpartition("/")[2]
        for call in calls
        if call.resource == Secret and call.verb == "patch"
    ]
    first_client = written.index(CLIENT)
    assert written.index(SERVER) < first_client
    assert written[:2] == [CA, CA]  # activated, and the order given


async def test_the_time_counts_that_the_authority_names(certifying: Certifying) -> None:
    await start(certifying)
    await certifying.cluster.patch(
        DSC,
        CA,
        {"metadata": {"annotations": {"operator.marin3r.3scale.net/propagation": "2h"}}},
    )
    await certifying.advance(minutes=100)
    assert await certifying.phase() == "Distributed"
    await certifying.advance(minutes=30)
    assert await certifying.phase() == "Activated"


async def test_a_change_of_its_spec_replaces_it_in_order(certifying: Certifying) -> None:
    await certifying.plane("a", "b")
    await certifying.settle()
    old = await certifying.pair(CA)
    await certifying.change(CA, validFor=2000 * DAY)
    await certifying.settle()
    assert await certifying.anchors(A) > {old.fingerprint}
    assert await signed_by(certifying, A, old.certificate)
    await certifying.until("Stable")
    assert (await certifying.pair(CA)).validity.lifetime.days == 2000
    assert (await certifying.advance(hours=3)).writes == 0


@pytest.mark.scenario("DS-23")
async def test_restarts_make_no_second_authority(certifying: Certifying) -> None:
    await start(certifying)
    await certifying.settle()
    old = await certifying.pair(CA)
    new = await certifying.pair(CA, "next.crt", "next.key")
    made = {old.fingerprint, new.fingerprint}
    for _ in range(80):
        await certifying.advance(minutes=7)
        await certifying.restart()
        made |= await certifying.anchors(CA)
        if await certifying.phase() == "Stable":
            break
        await certifying.advance(minutes=12)
        made |= await certifying.anchors(CA)
    assert await certifying.phase() == "Stable"
    assert (await certifying.pair(CA)).fingerprint == new.fingerprint
    assert made == {old.fingerprint, new.fingerprint}


@pytest.mark.scenario("DS-24")
async def test_a_lost_authority_is_replaced_with_overlap(certifying: Certifying) -> None:
    await certifying.plane("a", "b")
    await certifying.settle()
    old, before = await certifying.pair(CA), await serials(certifying)
    await certifying.cluster.delete(Secret, CA)
    await certifying.settle()
    new = await certifying.pair(CA)
    assert new.serial != old.serial
    assert await certifying.condition(CA, "Degraded") == "True/EmergencyCARotation"
    assert "EmergencyCARotation" in await certifying.events(CA)
    both = {old.fingerprint, new.fingerprint}
    for name in PLACES:  # what was issued works on, and is trusted
        assert await certifying.anchors(name) == both
    assert await serials(certifying) == before
    await certifying.advance(minutes=25)
    for name in PLACES:
        assert await signed_by(certifying, name, new.certificate)
        assert await certifying.anchors(name) == {new.fingerprint}
    assert await certifying.condition(CA, "Degraded") == ""
    assert await certifying.phase() == "Stable"


@pytest.mark.scenario("DS-24")
async def test_without_the_old_certificate_all_are_issued_at_once(certifying: Certifying) -> None:
    await certifying.plane("a", "b")
    await certifying.settle()
    before = await serials(certifying)
    await certifying.cluster.stop()
    await certifying.put(SERVER, {"ca.crt": b""})
    await certifying.cluster.delete(Secret, CA)
    await certifying.cluster.settle(certifying.operator())
    await certifying.advance(seconds=1)
    new = await certifying.pair(CA)
    after = await serials(certifying)
    for name in PLACES:
        assert after[name] != before[name]
        assert await signed_by(certifying, name, new.certificate)
        assert await certifying.anchors(name) == {new.fingerprint}
    assert "EmergencyCARotation" in await certifying.events(CA)


async def test_an_authority_of_another_namespace_is_not_trusted(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.create("evil", isCA=True, commonName="marin3r-ca-x")
    await certifying.settle()
    evil = await certifying.pair("evil")
    await certifying.create(
        "forged",
        commonName="marin3r-x-client",
        signer={"caSigned": {"caSecretRef": {"name": "evil"}}},
    )
    await certifying.settle()
    forged = (await certifying.secret("forged"))["data"]
    await certifying.cluster.stop()
    await certifying.cluster.patch(Secret, A, {"data": forged})
    await certifying.cluster.delete(Secret, CA)
    await certifying.cluster.settle(certifying.operator())
    assert evil.fingerprint not in await certifying.anchors(CA)
    assert not await signed_by(certifying, A, evil.certificate)


# With an observer


async def observed(certifying: Certifying) -> Connected:
    """Start with all Envoys connected that there are."""
    certifying.connected = connected = Connected()
    await certifying.plane("a", "b")
    await certifying.settle()
    await show(certifying, *PLACES)
    return connected


async def show(certifying: Certifying, *places: str) -> None:
    """Let those who use some certificates show what is there now."""
    connected = certifying.connected
    assert connected is not None
    for name in places:
        key = certifying.cluster.key(Secret, name)
        pod, digest = f"{key.namespace}/pod", bundle_digest(await certifying.bundle(name))
        connected.shown[key] = {pod: (await certifying.pair(name)).serial}
        connected.trusted[key] = {pod: digest} if name == SERVER else {}
    connected.changed.send(Key("default", CA))


async def test_clients_prove_what_they_trust_by_their_serial(certifying: Certifying) -> None:
    await observed(certifying)
    old = await certifying.pair(CA)
    before = await serials(certifying)
    await certifying.request_renewal(CA)
    await certifying.advance(minutes=2)
    assert await certifying.phase() == "Distributed"
    proof = await serials(certifying)
    assert {name for name in PLACES if proof[name] != before[name]} == {A, B}
    assert await signed_by(certifying, A, old.certificate)
    waiting = (await certifying.status(CA))["rotation"]["waitingFor"]
    assert waiting == ["a/pod", "b/pod", f"Secret default/{SERVER}"]
    await show(certifying, *PLACES)
    await certifying.advance(minutes=2)
    assert await certifying.phase() == "Activated"
    for _ in range(4):
        await show(certifying, *PLACES)
        await certifying.advance(minutes=2)
    assert await certifying.phase() == "Stable"
    assert (await certifying.pair(CA)).serial != old.serial


async def test_who_lags_is_named_and_waited_for_as_long_as_is_set(certifying: Certifying) -> None:
    await observed(certifying)
    await certifying.request_renewal(CA)
    await certifying.advance(minutes=2)
    await show(certifying, SERVER, A)
    await certifying.advance(minutes=2)
    assert await certifying.phase() == "Distributed"
    assert (await certifying.status(CA))["rotation"]["waitingFor"] == ["b/pod"]
    await certifying.advance(minutes=9)
    assert await certifying.phase() == "Activated"


async def test_unknown_users_are_waited_for(certifying: Certifying) -> None:
    connected = await observed(certifying)
    connected.complete = False
    await certifying.request_renewal(CA)
    await certifying.advance(minutes=2)
    await show(certifying, *PLACES)
    await certifying.advance(minutes=5)
    assert await certifying.phase() == "Distributed"
    await certifying.advance(minutes=6)
    assert await certifying.phase() == "Activated"


async def test_a_rotation_costs_few_writes(certifying: Certifying) -> None:
    await start(certifying)
    requests = list(await certifying.settle())
    while await certifying.phase() != "Stable" or not requests:
        requests += list(await certifying.advance(minutes=3))
    made = writes(Calls(requests))
    # Prepare, activate, two orders, retire; and per certificate: bundle, certificate, bundle.
    assert made.count("patch Secret") == 5 + 3 * len(PLACES)


async def test_a_secret_from_marin3r_is_taken_over(certifying: Certifying) -> None:
    await certifying.plane("a")
    await certifying.settle()
    await certifying.cluster.stop()
    ca = await certifying.secret(CA)
    for name in (CA, SERVER, A):
        secret = await certifying.secret(name)
        marks = dict.fromkeys(secret["metadata"]["annotations"])
        await certifying.cluster.patch(
            Secret, name, {"metadata": {"annotations": marks}, "data": {"ca.crt": None}}
        )
    before = {name: (await certifying.pair(name)).serial for name in (CA, SERVER, A)}
    await certifying.cluster.settle(certifying.operator())
    after = {name: (await certifying.pair(name)).serial for name in (CA, SERVER, A)}
    assert after == before
    for name in (CA, SERVER, A):
        assert (await certifying.secret(name))["data"]["ca.crt"] == ca["data"]["ca.crt"]
