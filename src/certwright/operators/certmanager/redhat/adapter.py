"""From a `CertManagerDeployment` to an `InstallRequest`, without a cluster."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from certwright.api.certmanagercomponents import ComponentSpec, WebhookSpec
from certwright.api.certmanagerdeployments import (
    CertManagerDeployment,
    CertManagerDeploymentSpec,
    DangerZone,
    DeletionPolicySpec,
    ImagesSpec,
    UpgradeSpec,
)
from certwright.kube.durations import parse_duration
from certwright.operators.certmanager.request import (
    Component,
    ComponentRequest,
    DeletionPolicy,
    Images,
    InstallRequest,
    Management,
    Naming,
    TlsProfile,
    UpgradePolicy,
    WebhookRequest,
)

PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
MANUAL: Final = "Manual"
_WEBHOOK_ONLY: Final = frozenset(
    {
        "timeout_seconds",
        "secure_port",
        "validating_namespace_selector",
        "mutating_namespace_selector",
        "url_host",
        "service_type",
        "load_balancer_ip",
        "ip_family_policy",
        "ip_families",
    }
)

V = TypeVar("V")


def install_request(
    resource: CertManagerDeployment,
    default_version: str,
    environment: Mapping[str, str] | None = None,
) -> InstallRequest:
    """Return what a CertManagerDeployment asks for.

    Without a version it means the operator's default, or, with the policy Manual, the version that
    is installed. *environment* is the operator's own, whose proxies the components get.
    """
    spec = resource.spec
    policy = _given(spec.upgrade_policy, "Automatic")
    installed = resource.status.installed_version
    stays = policy == MANUAL and bool(installed)
    version = _given(spec.version, installed if stays else default_version)
    return InstallRequest(
        version=version,
        version_is_default=spec.version is UNSET,
        namespace=_given(spec.namespace, "cert-manager"),
        leader_election_namespace=_given(spec.leader_election_namespace, ""),
        naming=Naming(_given(spec.naming_profile, Naming.RELEASE)),
        management=Management(_given(spec.management_state, Management.MANAGED)),
        adopt=_given(spec.adopt, False),
        components=_components(spec),
        webhook=_webhook(_given(spec.webhook, WebhookSpec())),
        images=_images(_given(spec.images, ImagesSpec())),
        log_level=_given(spec.log_level, None),
        common_labels=spec.common_labels,
        node_selector=spec.node_selector,
        tolerations=spec.tolerations,
        priority_class_name=_given(spec.priority_class_name, ""),
        proxy=_proxy(spec, environment or {}),
        trusted_ca_config_map=_given(spec.trusted_ca_config_map, ""),
        service_monitor=_given(spec.service_monitor, None),
        pod_monitor=_given(spec.pod_monitor, None),
        alerts=_given(spec.alerts, None),
        metrics=_given(spec.metrics, True),
        tls=_tls(spec),
        high_availability=_given(spec.high_availability, False),
        runtime_class_name=_given(spec.runtime_class_name, ""),
        revision_history_limit=_given(spec.revision_history_limit, None),
        host_users=_given(spec.host_users, None),
        aggregate_cluster_roles=_given(spec.aggregate_cluster_roles, True),
        auto_approval=_given(spec.auto_approval, True),
        approve_signer_names=spec.approve_signer_names,
        upgrade=_upgrade(policy, _given(spec.upgrade, UpgradeSpec())),
        deletion=_deletion(_given(spec.deletion_policy, DeletionPolicySpec())),
    )


def _components(spec: CertManagerDeploymentSpec) -> dict[Component, ComponentRequest]:
    zone = _given(spec.danger_zone, DangerZone())
    given = {
        Component.CONTROLLER: spec.controller,
        Component.CAINJECTOR: spec.cainjector,
        Component.WEBHOOK: spec.webhook,
    }
    return {
        component: _component(component, _given(one, ComponentSpec()), zone)
        for component, one in given.items()
    }


def _component(component: Component, spec: ComponentSpec, zone: DangerZone) -> ComponentRequest:
    overrides, unvalidated = zone.container_arg_overrides, zone.unvalidated_args
    flags = UNSET if isinstance(overrides, UnsetType) else getattr(overrides, component)
    args = () if isinstance(unvalidated, UnsetType) else getattr(unvalidated, component)
    fields: dict[str, Any] = {
        name: value
        for name, value in asdict(spec).items()
        if value is not UNSET and name not in _WEBHOOK_ONLY
    }
    return ComponentRequest(
        image=zone.image_overrides.get(component, ""),
        flags={} if isinstance(flags, UnsetType) else flags or {},
        unvalidated_args=args,
        **fields,
    )


def _webhook(spec: WebhookSpec) -> WebhookRequest:
    fields = {
        name: value
        for name, value in asdict(spec).items()
        if value is not UNSET and name in _WEBHOOK_ONLY
    }
    return WebhookRequest(**fields)


def _images(spec: ImagesSpec) -> Images:
    return Images(
        registry=_given(spec.registry, ""),
        mirrors=spec.mirrors,
        digests=spec.digests,
        pull_policy=_given(spec.pull_policy, ""),
        pull_secrets=spec.pull_secrets,
    )


def _proxy(spec: CertManagerDeploymentSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies of the components: those given, else the operator's own."""
    inherited = {name: environment[name] for name in PROXIES if environment.get(name)}
    if isinstance(spec.proxy, UnsetType):
        return inherited
    given = (spec.proxy.http_proxy, spec.proxy.https_proxy, spec.proxy.no_proxy)
    chosen = dict(zip(PROXIES, given, strict=True))
    kept = {
        name: inherited.get(name, "") if isinstance(value, UnsetType) else value
        for name, value in chosen.items()
    }
    return {name: value for name, value in kept.items() if value}


def _tls(spec: CertManagerDeploymentSpec) -> TlsProfile | None:
    if isinstance(spec.tls, UnsetType):
        return None
    suites = tuple(spec.tls.cipher_suites)
    return TlsProfile(min_version=_given(spec.tls.min_version, ""), cipher_suites=suites)


def _upgrade(policy: str, spec: UpgradeSpec) -> UpgradePolicy:
    defaults = UpgradePolicy()
    timeout = spec.step_timeout
    return UpgradePolicy(
        automatic=policy != MANUAL,
        allow_skip=_given(spec.allow_skip, False),
        allow_downgrade=_given(spec.allow_downgrade, False),
        rollback=_given(spec.on_failure, "Stop") == "Rollback",
        step_seconds=defaults.step_seconds
        if isinstance(timeout, UnsetType)
        else parse_duration(timeout).total_seconds(),
    )


def _deletion(spec: DeletionPolicySpec) -> DeletionPolicy:
    return DeletionPolicy(
        delete_crds=_given(spec.crds, "Retain") == "Delete",
        delete_namespace=_given(spec.namespace, "IfEmpty") == "Delete",
        force=_given(spec.force, False),
    )


def _given(value: V | UnsetType, default: V) -> V:
    return default if isinstance(value, UnsetType) else value
