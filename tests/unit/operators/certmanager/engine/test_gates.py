"""What counts as evidence."""

from datetime import UTC, datetime
from typing import Any

import pytest

from certwright.client import ConnectionLost
from certwright.kube import ApiError, Forbidden, InternalError, JsonObject
from certwright.operators.certmanager.engine.gates import (
    GateReason,
    injection_gate,
    judge_refusal,
    leader_election,
    leads,
    lock_of,
    probe,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DENIED = Forbidden('admission webhook "webhook.cert-manager.io" denied the request: no names')


@pytest.mark.parametrize(
    ("error", "sensible", "reason"),
    [
        (DENIED, False, GateReason.PASSED),
        (DENIED, True, GateReason.REFUSED),
        (Forbidden("user x cannot create certificates"), False, GateReason.UNKNOWN),
        (
            InternalError(
                'failed calling webhook "w": x509: certificate signed by unknown authority'
            ),
            True,
            GateReason.UNTRUSTED,
        ),
        (
            InternalError('failed calling webhook "w": connection refused'),
            True,
            GateReason.UNREACHABLE,
        ),
        (ConnectionLost("no route"), True, GateReason.UNKNOWN),
    ],
)
def test_refusals(error: ApiError, reason: GateReason, *, sensible: bool) -> None:
    assert judge_refusal(error, sensible=sensible).reason is reason


def test_only_the_webhook_can_tell_the_probes_apart() -> None:
    good, bad = probe("x", sensible=True), probe("x", sensible=False)
    assert good["spec"].pop("dnsNames")
    assert good == bad


@pytest.mark.parametrize(
    ("args", "namespace"),
    [
        ([], "kube-system"),
        (["--leader-election-namespace=here"], "here"),
        (["--leader-election-namespace=$(POD_NAMESPACE)"], "cert-manager"),
        (["--leader-elect=false"], ""),
    ],
)
def test_where_the_lease_is(args: list[str], namespace: str) -> None:
    assert leader_election(args, "cert-manager") == namespace


def pod(name: str, image: str, **metadata: Any) -> JsonObject:
    container = {"name": "cert-manager-controller", "image": image}
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [container]}}


def lease(holder: str, renewed: str = "2029-12-31T23:59:30.000000Z") -> JsonObject:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 60}
    return {"spec": spec}


HOLDER = "new-1-external-cert-manager-controller"


@pytest.mark.parametrize(
    ("held", "pods", "expected"),
    [
        (lease(HOLDER), [pod("new-1", "c:2")], True),
        (lease(HOLDER), [pod("new-1", "c:1")], False),
        (lease(HOLDER), [pod("other", "c:2")], False),
        (lease(HOLDER, "2029-12-31T23:58:00.000000Z"), [pod("new-1", "c:2")], False),
        (lease(HOLDER), [pod("new-1", "c:2", deletionTimestamp="x")], False),
        (lease(""), [pod("new-1", "c:2")], False),
        (None, [pod("new-1", "c:2")], False),
    ],
)
def test_who_leads(held: JsonObject | None, pods: list[JsonObject], *, expected: bool) -> None:
    assert leads(held, pods, "c:2", NOW) is expected


def test_any_image_may_lead_while_another_version_is_on_its_way() -> None:
    assert leads(lease(HOLDER), [pod("new-1", "c:1")], None, NOW)


def test_early_versions_keep_the_record_in_an_annotation() -> None:
    annotation = {"control-plane.alpha.kubernetes.io/leader": '{"holderIdentity":"a"}'}
    assert lock_of({"metadata": {"annotations": annotation}}) == {"spec": {"holderIdentity": "a"}}
    assert lock_of({"metadata": {"annotations": {next(iter(annotation)): "{"}}}) is None
    assert lock_of(None) is None


def registration(*bundles: str) -> JsonObject:
    webhooks = [{"clientConfig": {"caBundle": one} if one else {}} for one in bundles]
    return {"metadata": {"name": "w"}, "webhooks": webhooks}


@pytest.mark.parametrize(
    ("registrations", "reason"),
    [
        ([registration("YQ=="), registration("YQ==")], GateReason.PASSED),
        ([registration("YQ=="), registration("YQ==", "")], GateReason.CA_MISSING),
        ([registration("YQ==")], GateReason.NOT_WRITTEN),
    ],
)
def test_every_webhook_needs_a_ca(registrations: list[JsonObject], reason: GateReason) -> None:
    assert injection_gate(registrations, 2).reason is reason
