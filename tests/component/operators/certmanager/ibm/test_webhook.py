"""The webhook of 0.10, switched on and off."""

import asyncio
import base64
from dataclasses import replace
from typing import Any

import pytest
from tests.component.operators.certmanager.ibm.conftest import HERE, REGISTRATIONS, Ibm

from certwright.kube import Resource
from certwright.kube.kinds import (
    APIService,
    Deployment,
    MutatingWebhookConfiguration,
    RoleBinding,
    Service,
    ValidatingWebhookConfiguration,
)
from certwright.testkit.actors.podplay import NEVER, PodPlay

NAME = "cert-manager-webhook"
API = "v1beta1.webhook.certmanager.k8s.io"
ALL: list[tuple[Resource, str]] = [
    (MutatingWebhookConfiguration, NAME),
    (ValidatingWebhookConfiguration, NAME),
    (APIService, API),
    (Service, f"{HERE}/{NAME}"),
    (Deployment, f"{HERE}/{NAME}"),
    (Deployment, f"{HERE}/cert-manager-cainjector"),
    (RoleBinding, f"kube-system/{NAME}"),
]


async def there(ibm: Ibm) -> list[str]:
    """Return which parts of the webhook exist."""
    return [f"{kind.kind} {name}" for kind, name in ALL if await ibm.find(kind, name)]


def slowly(ibm: Ibm, seconds: float) -> None:
    """Let the webhook's pods take their time."""
    pods = {"*icp-cert-manager-webhook:*": PodPlay(ready=seconds)}
    ibm.played.play = replace(ibm.played.play, pods=pods)


def injects_after(ibm: Ibm, seconds: float) -> None:
    """Let the cainjector take its time."""
    ibm.played.play = replace(ibm.played.play, injection=seconds)


@pytest.mark.scenario("CM-41")
async def test_registrations_appear_only_after_the_webhook_is_available(ibm: Ibm) -> None:
    slowly(ibm, 30)
    await ibm.declare(enableWebhook=True)
    await ibm.advance(20)
    assert await ibm.find(Deployment, f"{HERE}/{NAME}")
    assert await ibm.find(Service, f"{HERE}/{NAME}")
    assert await ibm.find(RoleBinding, f"kube-system/{NAME}")
    for kind in REGISTRATIONS:
        assert await ibm.find(kind, NAME) is None
    assert (await ibm.conditions())["WebhookReady"].startswith("False")
    await ibm.until_ready()
    assert len(await there(ibm)) == len(ALL)
    assert (await ibm.conditions())["WebhookReady"] == "True/WebhookReady"
    binding = await ibm.find(RoleBinding, f"kube-system/{NAME}")
    assert binding["roleRef"]["name"] == "extension-apiserver-authentication-reader"


async def test_ready_waits_for_the_injected_authority(ibm: Ibm) -> None:
    injects_after(ibm, NEVER)
    await ibm.declare(enableWebhook=True)
    await ibm.advance(60)
    assert (await ibm.conditions())["Ready"] == "False/WebhookNotReady"
    injects_after(ibm, 0.0)
    await ibm.until_ready()


@pytest.mark.scenario("CM-42")
async def test_without_the_switch_there_is_no_webhook(ibm: Ibm) -> None:
    await ibm.installed()
    assert await there(ibm) == []
    assert (await ibm.conditions())["WebhookReady"] == "False/WebhookDisabled"
    assert (await ibm.conditions())["Ready"] == "True/Deployed"


@pytest.mark.scenario("CM-43")
async def test_switched_off_it_goes_at_once_with_its_registrations_first(
    ibm: Ibm, capsys: pytest.CaptureFixture[str]
) -> None:
    await ibm.installed(enableWebhook=True)
    await ibm.change(enableWebhook=False)
    calls = await ibm.settle()
    deleted = [call.resource.kind for call in calls if call.verb == "delete" and call.resource]
    assert set(deleted[:2]) == {one.kind for one in REGISTRATIONS}
    await ibm.advance(5)
    assert await there(ibm) == []
    assert await ibm.deployment("cert-manager-controller")
    assert "error" not in capsys.readouterr().out.lower()
    assert (await ibm.conditions())["Ready"] == "True/Deployed"


@pytest.mark.scenario("CM-44")
async def test_a_service_of_others_stays_and_is_named(ibm: Ibm) -> None:
    await ibm.namespace(HERE)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": HERE},
        "spec": {
            "selector": {"app": "ibm-cert-manager-webhook"},
            "ports": [{"name": "https", "port": 443, "targetPort": 1443}],
        },
    }
    await ibm.cluster.create(service)
    await ibm.installed(enableWebhook=True)
    before = await ibm.find(Service, f"{HERE}/{NAME}")
    assert (await ibm.conditions())["Conflict"] == "True/ForeignObjects"
    assert NAME in await ibm.message("Conflict")
    await ibm.change(enableWebhook=False)
    await ibm.advance(10)
    assert await ibm.find(Service, f"{HERE}/{NAME}") == before
    assert await there(ibm) == [f"Service {HERE}/{NAME}"]


@pytest.mark.scenario("CM-45")
async def test_switched_to_and_fro_exactly_what_is_wanted_remains(ibm: Ibm) -> None:
    slowly(ibm, 3)
    await ibm.installed()
    refused = 0.0
    for wanted in (True, False, True, False, True):
        await ibm.change(enableWebhook=wanted)
        for _ in range(2):
            await asyncio.sleep(0.5)
            registered = await ibm.find(ValidatingWebhookConfiguration, NAME)
            pods = ((await ibm.deployment(NAME)) or {}).get("status") or {}
            refused += 0.5 if registered and not pods.get("availableReplicas") else 0.0
    await ibm.until_ready()
    assert len(await there(ibm)) == len(ALL)
    assert refused == 0.0
    await ibm.change(enableWebhook=False)
    await ibm.advance(30)
    assert await there(ibm) == []


@pytest.mark.scenario("CM-46")
async def test_damaged_rules_are_restored_and_the_authority_stays(ibm: Ibm) -> None:
    await ibm.installed(enableWebhook=True)
    kind = ValidatingWebhookConfiguration
    before = await ibm.find(kind, NAME)
    assert before["webhooks"][0]["clientConfig"]["caBundle"]
    damaged: Any = [{**before["webhooks"][0], "rules": [], "failurePolicy": "Ignore"}]
    injects_after(ibm, NEVER)
    await ibm.cluster.patch(kind, NAME, {"webhooks": damaged})
    await ibm.settle()
    after = await ibm.find(kind, NAME)
    assert after["webhooks"] == before["webhooks"]


@pytest.mark.scenario("CM-47")
async def test_an_api_that_is_not_available_is_told(ibm: Ibm) -> None:
    await ibm.installed(enableWebhook=True)
    injects_after(ibm, NEVER)
    other = base64.b64encode(b"another authority").decode()
    await ibm.cluster.patch(APIService, API, {"spec": {"caBundle": other}})
    await ibm.advance(300)
    (told,) = (await ibm.find(APIService, API))["status"]["conditions"]
    assert told["status"] == "False"
    assert (await ibm.conditions())["WebhookReady"] == "False/WebhookNotReady"
    assert told["message"] in await ibm.message("WebhookReady")
    assert (await ibm.conditions())["Ready"].startswith("False")
