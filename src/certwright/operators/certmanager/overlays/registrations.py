"""How the API server calls the webhook: its Service, and its registrations."""

from copy import deepcopy

from certwright.operators.certmanager.overlays.bundlecopy import REGISTRATIONS, BundleCopy
from certwright.operators.certmanager.overlays.namespace import client_configs
from certwright.operators.certmanager.request import Component, InstallRequest


def registrations(copy: BundleCopy, request: InstallRequest) -> None:
    """Set time-out, selectors and address of the webhook."""
    wanted = request.webhook
    selectors = dict(
        zip(
            REGISTRATIONS,
            (wanted.mutating_namespace_selector, wanted.validating_namespace_selector),
            strict=True,
        )
    )
    for obj in copy.of(*REGISTRATIONS):
        for webhook in obj.get("webhooks") or ():
            if wanted.timeout_seconds is not None:
                webhook["timeoutSeconds"] = wanted.timeout_seconds
            selector = selectors[obj["kind"]]
            if selector is not None:
                webhook["namespaceSelector"] = deepcopy(selector)
    if wanted.url_host:
        for config, path in client_configs(copy):
            config.pop("service", None)
            config["url"] = f"https://{wanted.url_host}{path}"


def webhook_service(copy: BundleCopy, request: InstallRequest) -> None:
    """Set type and addresses of the webhook's Service."""
    wanted = request.webhook
    settings = {
        "type": wanted.service_type,
        "loadBalancerIP": wanted.load_balancer_ip,
        "ipFamilyPolicy": wanted.ip_family_policy,
        "ipFamilies": list(wanted.ip_families),
    }
    for service in copy.of_component(Component.WEBHOOK, "Service"):
        service["spec"].update({name: value for name, value in settings.items() if value})
