"""From a `CertManager` to an `InstallRequest`, without a cluster.

Without a version it means the 0.10 layout, as IBM's operator deployed it. With one it means that
version of cert-manager, from the catalogue, with the names of its release.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UnsetType

from certwright.api.certmanagers import CertManagerInstallation, CertManagerSpec, ComponentSettings
from certwright.kube import JsonObject
from certwright.operators.certmanager.request import (
    Component,
    ComponentRequest,
    DeletionPolicy,
    Images,
    InstallRequest,
    Naming,
    PullSecret,
)
from certwright.operators.certmanager.v010.deployments import RESOURCE_NAMESPACE_FLAG, SOLVER_FLAG
from certwright.operators.certmanager.v010.images import Image, resolve
from certwright.operators.certmanager.v010.names import NAMESPACE, VERSION

NAME: Final = "default"
"""The name of the one object that is acted on."""
PULL_SECRET: Final = "image-pull-secret"  # noqa: S105 - a name
"""What the Secret with which images are pulled is called if the object does not say."""
FINALIZER: Final = "certmanager.operators.ibm.com"
WITHOUT_WEBHOOK: Final = "operator.certwright.dev/allow-without-webhook"
"""The annotation that allows what a version after 0.10 is not made for."""
_INSTANA: Final = {
    "name": "INSTANA_AGENT_HOST",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.hostIP"}},
}
_DELETION: Final = DeletionPolicy(keep_namespace=True)
_IMAGES: Final = {
    Component.CONTROLLER: Image.CONTROLLER,
    Component.CAINJECTOR: Image.CAINJECTOR,
    Component.WEBHOOK: Image.WEBHOOK,
}


def is_allowed(resource: CertManagerInstallation) -> bool:
    """Return whether a CertManager is the one that counts."""
    return resource.metadata.name == NAME


def is_0_10(spec: CertManagerSpec) -> bool:
    """Return whether the 0.10 layout is meant."""
    return not spec.version or _release(spec.version).startswith("v0.")


def install_request(
    resource: CertManagerInstallation, environment: Mapping[str, str] | None = None
) -> InstallRequest:
    """Return what a CertManager asks for; *environment* may name other images for 0.10."""
    spec = resource.spec
    return _of_0_10(spec, environment or {}) if is_0_10(spec) else _of_release(spec)


def refuses_webhook(resource: CertManagerInstallation) -> bool:
    """Return whether the webhook is switched off for a version that does not work without it."""
    annotations = resource.metadata.annotations or {}
    return (
        resource.spec.enable_webhook is False
        and not is_0_10(resource.spec)
        and annotations.get(WITHOUT_WEBHOOK) != "true"
    )


def _of_0_10(spec: CertManagerSpec, environment: Mapping[str, str]) -> InstallRequest:
    def image(one: Image) -> str:
        return resolve(one, spec.image_registry or "", spec.image_post_fix or "", environment)

    webhook = spec.enable_webhook is True
    components = {
        component: ComponentRequest(
            enabled=component is Component.CONTROLLER or webhook,
            image=image(_IMAGES[component]),
            resources=_resources(settings),
            env=_env(spec),
            host_network=_host_network(spec) if component is Component.WEBHOOK else None,
            flags=_flags_0_10(spec, image) if component is Component.CONTROLLER else {},
        )
        for component, settings in _settings(spec).items()
    }
    watcher = ComponentRequest(
        image=image(Image.WATCHER), resources=_resources(spec.config_map_watcher)
    )
    return InstallRequest(
        version=VERSION,
        namespace=NAMESPACE,
        naming=Naming.V0_10,
        components=components,
        config_map_watcher=watcher,
        adopt=True,
        deletion=_DELETION,
        pull_secret=_pull_secret(spec),
        common_labels=spec.labels or {},
    )


def _of_release(spec: CertManagerSpec) -> InstallRequest:
    components = {
        component: ComponentRequest(
            enabled=component is not Component.WEBHOOK or spec.enable_webhook is not False,
            resources=_resources(settings),
            env=_env(spec),
            host_network=_host_network(spec) if component is Component.WEBHOOK else None,
            flags=_flags(spec) if component is Component.CONTROLLER else {},
        )
        for component, settings in _settings(spec).items()
    }
    return InstallRequest(
        version=_release(spec.version or ""),
        namespace=NAMESPACE,
        components=components,
        adopt=True,
        deletion=_DELETION,
        images=Images(
            registry=(spec.image_registry or "").rstrip("/"), tag_suffix=spec.image_post_fix or ""
        ),
        pull_secret=_pull_secret(spec),
        common_labels=spec.labels or {},
    )


def _release(version: str) -> str:
    return version if version.startswith("v") else f"v{version}"


def _settings(spec: CertManagerSpec) -> dict[Component, ComponentSettings | UnsetType]:
    return {
        Component.CONTROLLER: spec.cert_manager_controller,
        Component.CAINJECTOR: spec.cert_manager_ca_injector,
        Component.WEBHOOK: spec.cert_manager_webhook,
    }


def _resources(settings: ComponentSettings | UnsetType) -> JsonObject | None:
    """Return limits and requests that are given; what is absent or null is left to the default."""
    if not settings or not settings.resources:
        return None
    given = {"limits": settings.resources.limits, "requests": settings.resources.requests}
    return {name: value for name, value in given.items() if isinstance(value, dict)} or None


def _host_network(spec: CertManagerSpec) -> bool | None:
    return True if spec.disable_host_network is False else None


def _env(spec: CertManagerSpec) -> list[JsonObject]:
    return [_INSTANA] if spec.enable_instana_metric_collection is True else []


def _flags(spec: CertManagerSpec) -> dict[str, Any]:
    namespace = spec.resource_namespace
    return {RESOURCE_NAMESPACE_FLAG: namespace} if namespace else {}


def _flags_0_10(spec: CertManagerSpec, image: Any) -> dict[str, Any]:
    return {**_flags(spec), SOLVER_FLAG: image(Image.ACMESOLVER)}


def _pull_secret(spec: CertManagerSpec) -> PullSecret:
    given = spec.pull_secret
    if not given:
        return PullSecret(name=PULL_SECRET)
    return PullSecret(
        name=given.name or PULL_SECRET, source_namespace=given.namespace or "", required=True
    )
