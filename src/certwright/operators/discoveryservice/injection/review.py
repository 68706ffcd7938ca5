"""Injection as a webhook: a review of a Pod that is about to be created, and the answer."""

from datetime import timedelta
from typing import Final, Literal

from certwright.kube.errors import Cause
from certwright.kube.kinds import Pod
from certwright.kube.reviews.admission import AdmissionReview
from certwright.operators.discoveryservice.injection.annotations import (
    PREFIX,
    InjectionDenied,
    SidecarDefaults,
)
from certwright.operators.discoveryservice.injection.inject import inject
from certwright.webhook.decisions import Decision, Deny, Patch
from certwright.webhook.declaration import AdmissionHandler, intercept

NAME: Final = "sidecar-injector.marin3r.3scale.net"
PATH: Final = "/pod-v1-mutate"
STATUS_LABEL: Final = f"{PREFIX}status"
ENABLED: Final = "enabled"
"""The value of the label of Pods that want a sidecar, and of namespaces that may have some."""
OWNER_LABEL: Final = f"{PREFIX}discovery-service"
"""The label of an enabled namespace: the name of its DiscoveryService."""
TIMEOUT: Final = timedelta(seconds=5)


def injection_handler(
    defaults: SidecarDefaults,
    *,
    namespace: str,
    failure_policy: Literal["Fail", "Ignore"] = "Fail",
) -> AdmissionHandler:
    """Return the webhook of a DiscoveryService whose own Pods run in a namespace.

    It concerns neither that namespace nor kube-system: a control plane that needs itself to
    start would never start again.
    """

    def review(request: AdmissionReview) -> Decision:
        return decide(request, defaults)

    return AdmissionHandler(
        NAME,
        review,
        [intercept(Pod, "CREATE", scope="Namespaced")],
        mutating=True,
        path=PATH,
        failure_policy=failure_policy,
        namespace_selector={
            "matchLabels": {OWNER_LABEL: defaults.discovery_service},
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": sorted({"kube-system", namespace}),
                }
            ],
        },
        object_selector={"matchLabels": {STATUS_LABEL: ENABLED}},
        timeout=TIMEOUT,
    )


def decide(request: AdmissionReview, defaults: SidecarDefaults) -> Decision:
    """Return the Pod of a request with its sidecar, or why it cannot have one."""
    try:
        injected = inject(request.obj(), defaults)
    except InjectionDenied as denied:
        path = f"metadata.annotations[{denied.annotation}]" if denied.annotation else ""
        causes = [Cause("FieldValueInvalid", str(denied), path)] if path else []
        return Deny(str(denied), 400, "BadRequest", causes)
    return Patch(injected.pod, injected.warnings)
