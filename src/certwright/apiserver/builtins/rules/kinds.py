"""Which rules belong to which built-in kind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from certwright.apiserver.builtins.rules import (
    access,
    batch,
    config,
    coordination,
    network,
    pods,
    services,
    storage,
    webhooks,
    workloads,
)
from certwright.apiserver.builtins.rules import autoscalers as scaling
from certwright.apiserver.builtins.rules.checks import name_causes
from certwright.apiserver.builtins.rules.services import ServiceAllocator
from certwright.apiserver.crds import rules as crd_rules
from certwright.apiserver.crds import status as crd_status
from certwright.apiserver.kinds.kind import no_causes, no_changes, no_defaults, no_warnings
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject, Resource

Complete = Callable[[JsonObject], None]
Prepare = Callable[[JsonObject, JsonObject | None], None]
Validate = Callable[[JsonObject, JsonObject | None], list[Cause]]
Warnings = Callable[[JsonObject], list[str]]


@dataclass(frozen=True, slots=True)
class KindRules:
    """The hooks of a kind."""

    complete: Complete = no_defaults
    prepare: Prepare = no_changes
    validate: Validate = no_causes
    warnings: Warnings = no_warnings
    admit: Prepare = no_changes


_RULES: Final = {
    "configmaps": KindRules(validate=config.validate_config_map),
    "secrets": KindRules(config.complete_secret, validate=config.validate_secret),
    "namespaces": KindRules(
        config.complete_namespace, config.prepare_namespace, config.validate_namespace
    ),
    "events": KindRules(validate=coordination.validate_core_event),
    "events.events.k8s.io": KindRules(validate=coordination.validate_event),
    "limitranges": KindRules(storage.complete_limit_range),
    "nodes": KindRules(prepare=storage.prepare_node),
    "podtemplates": KindRules(pods.complete_pod_template),
    "pods": KindRules(pods.complete_pod, pods.prepare_pod, pods.validate_pod, admit=pods.admit_pod),
    "replicationcontrollers": KindRules(
        workloads.complete_replication_controller,
        validate=workloads.validate_replication_controller,
    ),
    "persistentvolumeclaims": KindRules(
        storage.complete_claim, storage.prepare_claim, storage.validate_claim
    ),
    "persistentvolumes": KindRules(prepare=storage.prepare_volume),
    "deployments.apps": KindRules(
        workloads.complete_deployment, validate=workloads.validate_deployment
    ),
    "replicasets.apps": KindRules(
        workloads.complete_template, validate=workloads.validate_replica_set
    ),
    "statefulsets.apps": KindRules(
        workloads.complete_stateful_set, validate=workloads.validate_stateful_set
    ),
    "daemonsets.apps": KindRules(
        workloads.complete_daemon_set, workloads.prepare_daemon_set, workloads.validate_daemon_set
    ),
    "jobs.batch": KindRules(batch.complete_job, batch.prepare_job, batch.validate_job),
    "cronjobs.batch": KindRules(batch.complete_cron_job, validate=batch.validate_cron_job),
    "horizontalpodautoscalers.autoscaling": KindRules(
        scaling.complete_autoscaler, validate=scaling.validate_autoscaler
    ),
    "poddisruptionbudgets.policy": KindRules(validate=scaling.validate_budget),
    "ingresses.networking.k8s.io": KindRules(validate=network.validate_ingress),
    "networkpolicies.networking.k8s.io": KindRules(network.complete_network_policy),
    "endpointslices.discovery.k8s.io": KindRules(validate=network.validate_endpoint_slice),
    "storageclasses.storage.k8s.io": KindRules(validate=storage.validate_storage_class),
    "priorityclasses.scheduling.k8s.io": KindRules(validate=storage.validate_priority_class),
    "roles.rbac.authorization.k8s.io": KindRules(
        prepare=access.prepare_role, validate=access.validate_role
    ),
    "clusterroles.rbac.authorization.k8s.io": KindRules(
        prepare=access.prepare_role, validate=access.validate_cluster_role
    ),
    "rolebindings.rbac.authorization.k8s.io": KindRules(
        access.complete_binding, validate=access.validate_binding
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": KindRules(
        access.complete_binding, validate=access.validate_binding
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": KindRules(
        validate=webhooks.validate_webhooks
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": KindRules(
        validate=webhooks.validate_webhooks
    ),
    "certificatesigningrequests.certificates.k8s.io": KindRules(
        validate=access.validate_signing_request
    ),
    "leases.coordination.k8s.io": KindRules(validate=coordination.validate_lease),
    "customresourcedefinitions.apiextensions.k8s.io": KindRules(
        crd_status.complete, crd_status.prepare, crd_rules.validate
    ),
}


def rules_for(resource: Resource, allocator: ServiceAllocator) -> KindRules:
    """Return the hooks of a kind; every kind has at least a rule for names."""
    rules = _RULES.get(resource.qualified, KindRules())
    if resource.qualified == "services":
        rules = KindRules(
            services.complete, allocator.prepare, services.validate, services.warnings
        )

    def validate(new: JsonObject, old: JsonObject | None) -> list[Cause]:
        causes = name_causes(resource.kind, new["metadata"]) if old is None else []
        return causes + rules.validate(new, old)

    return KindRules(rules.complete, rules.prepare, validate, rules.warnings, rules.admit)
