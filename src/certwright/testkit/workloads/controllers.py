"""The controllers together, and how objects without a controller find one."""

from collections.abc import Mapping

from certwright.kube import Key, LabelSelector, Resource
from certwright.kube.kinds import DaemonSet, Deployment, Job, Pod, ReplicaSet, StatefulSet
from certwright.runtime import DONE, Channel, Context, Controller, Outcome, select
from certwright.testkit.workloads.daemonsets import daemon_set_controller, node_watcher
from certwright.testkit.workloads.deployment.controller import deployment_controller
from certwright.testkit.workloads.endpointslices import endpoint_slice_controller, pod_watcher
from certwright.testkit.workloads.jobs import job_controller
from certwright.testkit.workloads.replicasets import replica_set_controller
from certwright.testkit.workloads.statefulsets import stateful_set_controller


def controller_manager(namespace: str = "") -> list[Controller]:
    """Return the controllers of workloads, of one namespace or all; pods are left to a node."""
    deployments, services = Channel(), Channel()
    owners = {kind: Channel() for kind in (ReplicaSet, StatefulSet, DaemonSet, Job)}
    return [
        deployment_controller(namespace, deployments),
        replica_set_controller(namespace, owners[ReplicaSet]),
        stateful_set_controller(namespace, owners[StatefulSet]),
        daemon_set_controller(namespace, owners[DaemonSet]),
        node_watcher(namespace, owners[DaemonSet]),
        job_controller(namespace, owners[Job]),
        endpoint_slice_controller(namespace, services),
        pod_watcher(namespace, services),
        _orphans(ReplicaSet, {Deployment: deployments}, namespace),
        _orphans(Pod, owners, namespace),
    ]


def _orphans(kind: Resource, owners: Mapping[Resource, Channel], namespace: str) -> Controller:
    """Return the controller that wakes those who would adopt an object."""

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        entry = ctx.store(kind).get(key)
        if entry is None or entry.meta.controller is not None or entry.meta.deleting:
            return DONE
        labels = entry.meta.labels
        for owner, channel in owners.items():
            for found in ctx.store(owner).by_namespace(key.namespace) if labels else ():
                selector = LabelSelector.from_spec(found.obj()["spec"].get("selector"))
                if selector.matches(labels):
                    channel.send(found.key)
        return DONE

    return Controller(
        select(kind, namespace=namespace),
        reconcile,
        name=f"orphan-{kind.plural}",
        reads=[select(owner, namespace=namespace) for owner in owners],
        conditions=(),
    )
