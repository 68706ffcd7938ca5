"""The objects by which the API server learns of the webhook, and others of the authorities."""

from certwright.kube import JsonObject, Key
from certwright.kube.kinds import MutatingWebhookConfiguration
from certwright.operators.discoveryservice.injection.review import injection_handler
from certwright.operators.discoveryservice.service.objects.workload import WEBHOOK_SERVICE_PORT
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane
from certwright.webhook.configuration import Registration, configuration


def webhook_configuration(plane: DiscoveryPlane, bundle: bytes) -> JsonObject:
    """Return the MutatingWebhookConfiguration; *bundle* is what the API server shall trust."""
    registration = Registration(
        plane.object_name, Key(plane.namespace, plane.service), WEBHOOK_SERVICE_PORT
    )
    handler = injection_handler(
        plane.sidecars, namespace=plane.namespace, failure_policy=plane.failure_policy
    )
    made = configuration(MutatingWebhookConfiguration, registration, [handler], bundle)
    assert made is not None, "there is one webhook, which is mutating"
    resource = MutatingWebhookConfiguration
    return plane.obj(
        resource.api_version, resource.kind, plane.object_name, webhooks=made["webhooks"]
    )


def trust_config_map(plane: DiscoveryPlane, bundle: bytes) -> JsonObject:
    """Return the ConfigMap with the authorities, for clients that hold no certificate."""
    data = {"ca.crt": bundle.decode("ascii", "replace")}
    name = f"marin3r-ca-bundle-{plane.name}"
    return plane.obj("v1", "ConfigMap", name, plane.namespace, data=data)
