"""The values with which cert-manager's chart renders what a request asks for.

Fields of a request that the chart has no value for are expressed by more general values where that
is possible, such as arguments and variables. What cannot be expressed at all is listed in
`helmdifferences`, with the reason.
"""

from collections.abc import Callable, Mapping
from typing import Any

from certwright.kube import JsonObject
from certwright.operators.certmanager.request import Component, ComponentRequest, InstallRequest

Knows = Callable[[str], bool]
"""Whether the templates of a chart use a value, such as ``global.nodeSelector``."""

PREFIX = {
    Component.CONTROLLER: "",
    Component.CAINJECTOR: "cainjector.",
    Component.WEBHOOK: "webhook.",
}


def helm_values(request: InstallRequest, knows: Knows) -> dict[str, Any]:
    """Return the values for a request."""
    values = _general(request, knows)
    for component in Component:
        own = _component(request, component, knows)
        if component is Component.CONTROLLER:
            values.update(own)
        else:
            values[component.value] = own
    values["webhook"].update(_webhook(request))
    _images(values, request, knows)
    if request.service_monitor is not None:
        values["prometheus"]["servicemonitor"] = {"enabled": True, **request.service_monitor}
    if request.pod_monitor is not None:
        values["prometheus"]["podmonitor"] = {"enabled": True, **request.pod_monitor}
    return values


def _general(request: InstallRequest, knows: Knows) -> dict[str, Any]:
    for_all = _selects_for_all(request, knows)
    common: dict[str, Any] = {
        "commonLabels": dict(request.common_labels),
        "priorityClassName": request.priority_class_name,
        "nodeSelector": dict(request.node_selector) if for_all else {},
        "imagePullSecrets": [{"name": name} for name in request.images.pull_secrets],
        "rbac": {"aggregateClusterRoles": request.aggregate_cluster_roles},
        "runtimeClassName": request.runtime_class_name,
    }
    if request.revision_history_limit is not None:
        common["revisionHistoryLimit"] = request.revision_history_limit
    if request.log_level is not None:
        common["logLevel"] = request.log_level
    if request.leader_election_namespace:
        common["leaderElection"] = {"namespace": request.leader_election_namespace}
    if request.host_users is not None:
        common["hostUsers"] = request.host_users
    values: dict[str, Any] = {
        "global": common,
        "disableAutoApproval": not request.auto_approval,
        "prometheus": {"enabled": request.metrics},
    }
    if request.approve_signer_names:
        values["approveSignerNames"] = list(request.approve_signer_names)
    return values


def _selects_for_all(request: InstallRequest, knows: Knows) -> bool:
    """Return whether the selector for all components can be given as such.

    The chart merges the selector of each component into the one for all, which the next component
    then gets.
    """
    own = any(one.node_selector for one in request.components.values())
    return knows("global.nodeSelector") and not own


def _component(request: InstallRequest, component: Component, knows: Knows) -> dict[str, Any]:
    wanted = request.component(component)
    given = _pod(wanted)
    budget, policy = wanted.pod_disruption_budget, wanted.network_policy
    given |= {
        "podDisruptionBudget": None if budget is None else _budget(budget),
        "networkPolicy": None if policy is None else {"enabled": True, **policy},
        "featureGates": ",".join(
            f"{name}={str(on).lower()}" for name, on in sorted(wanted.feature_gates.items())
        ),
        "extraArgs": [*_arguments(wanted.flags), *wanted.unvalidated_args],
        "extraEnv": [*_proxies(request, wanted), *wanted.env],
        "tolerations": [*request.tolerations, *wanted.tolerations],
        "livenessProbe": wanted.liveness_probe,
        "readinessProbe": wanted.readiness_probe,
        "config": _config(component, wanted.config),
    }
    prefix = PREFIX[component]
    if component is Component.CONTROLLER and knows("maxConcurrentChallenges"):
        # The chart has a default for it that would beat an argument.
        flags = dict(wanted.flags)
        if (most := flags.pop("max-concurrent-challenges", None)) is not None:
            given["maxConcurrentChallenges"] = most
        given["extraArgs"] = [*_arguments(flags), *wanted.unvalidated_args]
    if not _selects_for_all(request, knows):
        given["nodeSelector"] = {**request.node_selector, **(wanted.node_selector or {})}
    if wanted.runtime_class_name:
        given["runtimeClassName"] = wanted.runtime_class_name
    if component is Component.CONTROLLER:
        given |= {
            "podDnsPolicy": wanted.dns_policy,
            "podDnsConfig": wanted.dns_config,
            "hostAliases": list(wanted.host_aliases),
            "extraContainers": list(wanted.extra_containers),
        }
    if component is Component.CAINJECTOR and not wanted.enabled:
        given["enabled"] = False
    found = {name: value for name, value in given.items() if value not in (None, "", [], {})}
    unknown = [name for name in found if name != "enabled" and not knows(f"{prefix}{name}")]
    assert not unknown, f"the chart has no values {unknown} for {component}"
    return found | {
        name: value
        for name, value in {
            "enableServiceLinks": wanted.enable_service_links,
            "replicaCount": wanted.replicas,
        }.items()
        if value is not None
    }


def _budget(wanted: JsonObject) -> JsonObject:
    # Some charts have a default for it, which would stand beside the other limit.
    default = {"minAvailable": None} if "maxUnavailable" in wanted else {}
    return {"enabled": True, **default, **wanted}


def _config(component: Component, config: JsonObject | None) -> JsonObject | None:
    """Return a file with its kind, which some charts do not add."""
    if config is None:
        return None
    kind = {"controller": "Controller", "cainjector": "CAInjector", "webhook": "Webhook"}[component]
    api_version = f"{component}.config.cert-manager.io/v1alpha1"
    return {"apiVersion": api_version, "kind": f"{kind}Configuration", **config}


def _pod(wanted: ComponentRequest) -> dict[str, Any]:
    return {
        "strategy": wanted.strategy,
        "resources": wanted.resources,
        "securityContext": wanted.pod_security_context,
        "containerSecurityContext": wanted.container_security_context,
        "podLabels": dict(wanted.pod_labels),
        "podAnnotations": dict(wanted.pod_annotations),
        "deploymentAnnotations": dict(wanted.deployment_annotations),
        "serviceAnnotations": dict(wanted.service_annotations),
        "serviceLabels": dict(wanted.service_labels),
        "volumes": list(wanted.volumes),
        "volumeMounts": list(wanted.volume_mounts),
        "nodeSelector": dict(wanted.node_selector or {}),
        "affinity": wanted.affinity,
        "topologySpreadConstraints": list(wanted.topology_spread_constraints),
        "serviceAccount": wanted.service_account,
    }


def _arguments(flags: Mapping[str, Any]) -> list[str]:
    args = []
    for name, value in flags.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, list):
            text = ",".join(value)
        args.append(f"--{name}={text}")
    return args


def _proxies(request: InstallRequest, wanted: ComponentRequest) -> list[dict[str, str]]:
    """Return the proxies as variables: the chart has values only for those of the controller."""
    own = {item["name"] for item in wanted.env}
    return [
        {"name": name, "value": value}
        for name, value in request.proxy.items()
        if value and name not in own
    ]


def _webhook(request: InstallRequest) -> dict[str, Any]:
    wanted, values = request.webhook, dict[str, Any]()
    if request.component(Component.WEBHOOK).host_network:
        values["hostNetwork"] = True
    if wanted.timeout_seconds is not None:
        values["timeoutSeconds"] = wanted.timeout_seconds
    if wanted.secure_port is not None:
        values["securePort"] = wanted.secure_port
    if wanted.url_host:
        values["url"] = {"host": wanted.url_host}
    if wanted.service_type:
        values["serviceType"] = wanted.service_type
    if wanted.load_balancer_ip:
        values["loadBalancerIP"] = wanted.load_balancer_ip
    if wanted.ip_family_policy:
        values["serviceIPFamilyPolicy"] = wanted.ip_family_policy
        values["serviceIPFamilies"] = list(wanted.ip_families)
    for name, selector in (
        ("validatingWebhookConfiguration", wanted.validating_namespace_selector),
        ("mutatingWebhookConfiguration", wanted.mutating_namespace_selector),
    ):
        if selector is not None:
            # Helm merges maps: what the default has must be taken out.
            default = {"matchExpressions": None, "matchLabels": None}
            values[name] = {"namespaceSelector": {**default, **selector}}
    return values


def _images(values: dict[str, Any], request: InstallRequest, knows: Knows) -> None:
    places = {
        Component.CONTROLLER.value: values,
        Component.CAINJECTOR.value: values["cainjector"],
        Component.WEBHOOK.value: values["webhook"],
        "acmesolver": values.setdefault("acmesolver", {}),
    }
    images = request.images
    for name, place in places.items():
        released = f"quay.io/jetstack/cert-manager-{name}"
        repository = _repository(name, request)
        image: dict[str, str] = {}
        if repository != released:
            image["repository"] = repository
        if digest := images.digests.get(name):
            image["digest"] = digest
        if images.pull_policy and name != "acmesolver":
            image["pullPolicy"] = images.pull_policy
        override = "" if name == "acmesolver" else request.component(Component(name)).image
        if override:
            repository, _, tag = override.rpartition(":")
            image |= {"repository": repository, "tag": tag}
        if name == "acmesolver" and image and not knows("acmesolver"):
            digest = f"@{images.digests[name]}" if name in images.digests else ""
            whole = f"{repository}:{request.version}{digest}"
            values["extraArgs"] = [
                *values.get("extraArgs", ()),
                f"--acme-http01-solver-image={whole}",
            ]
        elif image:
            place["image"] = image


def _repository(name: str, request: InstallRequest) -> str:
    """Return where an image is: a registry replaces the path, a mirror the beginning of it."""
    image = f"quay.io/jetstack/cert-manager-{name}"
    if request.images.registry:
        return f"{request.images.registry}/cert-manager-{name}"
    for prefix, mirror in request.images.mirrors.items():
        image = image.replace(f"{prefix}/", f"{mirror}/", 1)
    return image
