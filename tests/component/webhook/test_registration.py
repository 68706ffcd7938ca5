"""Configuration objects that are kept, and a certificate that is followed in a Secret."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.waits import until
from tests.support.webhook import Ca, as_files

from certwright import pki
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import (
    ConfigMap,
    Event,
    MutatingWebhookConfiguration,
    Secret,
    ValidatingWebhookConfiguration,
)
from certwright.runtime import Operator, OperatorHost, Part
from certwright.testkit import Cluster
from certwright.tls.certificates import TlsFiles
from certwright.tls.server import ServingCertificate
from certwright.webhook import AdmissionHandler, Allow, CertificateSecret, Registration, intercept
from certwright.webhook.metrics import WebhookMetrics
from certwright.webhook.registration import keep_registered
from certwright.webhook.server import webhook_profile
from certwright.webhook.sources import follow


def webhook(name: str, *, mutating: bool = False) -> AdmissionHandler:
    """A webhook that matches no object, since the API server is shared with other tests."""
    return AdmissionHandler(
        f"{name}.test.certwright.dev",
        lambda _review: Allow(),
        [intercept(ConfigMap, "CREATE")],
        mutating,
        failure_policy="Ignore",
        object_selector={"matchLabels": {"test.certwright.dev/none": "true"}},
    )


BOTH = (webhook("a", mutating=True), webhook("b"))


def registering(
    cluster: Cluster, made: list[ServingCertificate], webhooks: Sequence[AdmissionHandler] = BOTH
) -> Operator:
    registration = Registration(cluster.namespace, url="https://127.0.0.1:1")

    def build(host: OperatorHost) -> Iterator[Part]:
        certificate = ServingCertificate(
            host.clock, WebhookMetrics(host.metrics), webhook_profile()
        )
        made[:] = [certificate]
        yield from keep_registered(registration, webhooks, certificate)
        yield from follow(CertificateSecret(Key(cluster.namespace, "tls")), host, certificate)

    return Operator("webhook", build)


def secret(files: TlsFiles, **changes: bytes) -> JsonObject:
    data = {name: b64encode(value).decode() for name, value in (as_files(files) | changes).items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls"}, "data": data}


def bundle(obj: JsonObject) -> list[Any]:
    return pki.read_bundle(b64decode(obj["webhooks"][0]["clientConfig"]["caBundle"]))


async def test_nothing_is_registered_before_there_is_a_certificate(cluster: Cluster) -> None:
    made: list[ServingCertificate] = []
    operator = registering(cluster, made)
    calls = await cluster.settle(operator)
    assert calls.writes == 0
    assert made[0].problem == f"Secret {cluster.namespace}/tls does not exist"
    await cluster.create(secret(Ca(now=cluster.clock.now()).serving()))
    calls = await cluster.settle(operator)
    assert made[0].problem == ""
    assert calls.writes == 2
    for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
        [entry] = (await cluster.get(kind, cluster.namespace))["webhooks"]
        assert entry["clientConfig"]["url"].startswith("https://127.0.0.1:1/")


async def test_configurations_are_repaired_and_a_restart_writes_nothing(cluster: Cluster) -> None:
    made: list[ServingCertificate] = []
    ca = Ca(now=cluster.clock.now())
    await cluster.create(secret(ca.serving()))
    operator = registering(cluster, made)
    await cluster.settle(operator)
    kind, name = ValidatingWebhookConfiguration, cluster.namespace
    entry = {**(await cluster.get(kind, name))["webhooks"][0], "timeoutSeconds": 1}
    await cluster.patch(kind, name, {"webhooks": [entry]})
    calls = await cluster.settle(operator)
    assert calls.writes == 1
    found = await cluster.get(kind, name)
    assert found["webhooks"][0]["timeoutSeconds"] == 10
    assert bundle(found) == [ca.authority.certificate]
    calls = await cluster.restart()
    assert calls.writes == 0
    await cluster.restart(registering(cluster, made, BOTH[:1]))
    assert await cluster.find(kind, name) is None, "no validating webhook is left"


async def test_a_new_authority_is_trusted_beside_the_one_before(cluster: Cluster) -> None:
    made: list[ServingCertificate] = []
    operator = registering(cluster, made)
    old, new = Ca("old", cluster.clock.now()), Ca("new", cluster.clock.now())
    await cluster.create(secret(old.serving()))
    await cluster.settle(operator)
    await cluster.patch(Secret, "tls", {"data": secret(new.serving())["data"]})
    await cluster.settle(operator)
    found = await cluster.get(ValidatingWebhookConfiguration, cluster.namespace)
    assert {*bundle(found)} == {old.authority.certificate, new.authority.certificate}


async def test_a_secret_that_turns_bad_leaves_the_last_good_pair(cluster: Cluster) -> None:
    made: list[ServingCertificate] = []
    operator = registering(cluster, made)
    ca = Ca(now=cluster.clock.now())
    await cluster.create(secret(ca.serving()))
    await cluster.settle(operator)
    good = made[0].pair
    for changes, reason in (
        ({"tls.key": ca.serving().key}, "KeyMismatch"),
        ({"tls.crt": b"garbage"}, "Unreadable"),
    ):
        await cluster.patch(Secret, "tls", {"data": secret(ca.serving(), **changes)["data"]})
        await cluster.settle(operator)
        assert (made[0].pair, made[0].reason) == (good, reason)
    await cluster.delete(Secret, "tls")
    await cluster.settle(operator)
    assert (made[0].pair, made[0].reason) == (good, "Missing")
    assert 'reason="Missing"} 1.0' in await cluster.scrape()

    async def refusals() -> list[JsonObject]:
        return [one for one in await cluster.list(Event) if one["reason"] == "CertificateRefused"]

    async def told() -> bool:
        return len(await refusals()) >= 2  # they are written beside the rest, when there is time

    await until("an event for each kind of trouble while the Secret exists", told)
    events = await refusals()
    assert {one["regarding"]["name"] for one in events} == {"tls"}
    assert len(events) == 2
