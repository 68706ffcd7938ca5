"""What cert-manager may do in tests, and how its webhook is registered."""

import base64

from certwright.kube import JsonObject
from certwright.testkit.certmanager.manifests import access_manifests, webhook_manifests


def rules(name: str) -> list[JsonObject]:
    roles = [one for one in access_manifests() if one["kind"] == "ClusterRole"]
    return next(role["rules"] for role in roles if role["metadata"]["name"] == name)


def test_the_controller_may_approve_for_its_own_kinds_only() -> None:
    approving = [rule for rule in rules("cert-manager") if "approve" in rule["verbs"]]
    assert [rule["resourceNames"] for rule in approving] == [
        ["issuers.cert-manager.io/*", "clusterissuers.cert-manager.io/*"]
    ]
    everything = [rule for rule in rules("cert-manager") if "*" in rule["resources"]]
    assert not everything


def test_the_webhook_is_reached_by_address_and_trusted_by_its_authority() -> None:
    mutating, validating = webhook_manifests("https://127.0.0.1:1", b"PEM")
    bundle = base64.b64encode(b"PEM").decode()
    for made, path in ((mutating, "mutate"), (validating, "validate")):
        (webhook,) = made["webhooks"]
        assert webhook["clientConfig"] == {"url": f"https://127.0.0.1:1/{path}", "caBundle": bundle}
        assert webhook["failurePolicy"] == "Fail"
