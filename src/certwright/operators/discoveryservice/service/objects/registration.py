"""The objects by which the API server learns of the webhook, and others of the authorities."""

from typing import Final

from certwright.api.envoyconfigs import EnvoyConfig
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from certwright.operators.discoveryservice.injection.review import injection_handler
from certwright.operators.discoveryservice.service.objects.workload import WEBHOOK_SERVICE_PORT
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane
from certwright.webhook.configuration import Registration, configuration
from certwright.webhook.declaration import intercept

CONFIG_WEBHOOK: Final = "envoyconfig.marin3r.3scale.net"
"""Its name, and without the slash its path, as the pods serve it."""


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


def config_configuration(plane: DiscoveryPlane, bundle: bytes) -> JsonObject:
    """Return the ValidatingWebhookConfiguration: EnvoyConfigs are checked before they are stored.

    The namespaces are those of the other configuration.
    """
    made = webhook_configuration(plane, bundle)
    [pods] = made["webhooks"]
    place = {**pods["clientConfig"]["service"], "path": f"/{CONFIG_WEBHOOK}"}
    webhook = {
        "name": CONFIG_WEBHOOK,
        "clientConfig": {**pods["clientConfig"], "service": place},
        "rules": [intercept(EnvoyConfig, "CREATE", "UPDATE", scope="Namespaced")],
        "failurePolicy": plane.failure_policy,
        "matchPolicy": "Equivalent",
        "namespaceSelector": pods["namespaceSelector"],
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": pods["timeoutSeconds"],
        "admissionReviewVersions": ["v1"],
    }
    resource = ValidatingWebhookConfiguration
    return plane.obj(resource.api_version, resource.kind, plane.object_name, webhooks=[webhook])


def trust_config_map(plane: DiscoveryPlane, bundle: bytes) -> JsonObject:
    """Return the ConfigMap with the authorities, for clients that hold no certificate."""
    data = {"ca.crt": bundle.decode("ascii", "replace")}
    name = f"marin3r-ca-bundle-{plane.name}"
    return plane.obj("v1", "ConfigMap", name, plane.namespace, data=data)
