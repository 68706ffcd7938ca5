"""What the operator may do is enough for all it does, and nothing more is in its role."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

from tests.support.rollout import encoded, job_object, pod_spec, secret_object, workload_object
from tests.support.waits import until, until_allowed

from certwright.cli.controllers import built_controllers
from certwright.client import Client, Request
from certwright.kube import Key, Resource
from certwright.kube.kinds import CronJob, Deployment, Job, Secret
from certwright.operators.rollout.dialects.certwright import RESTART
from certwright.operators.rollout.dialects.choice import DEFAULT, dialects_of, kinds_of
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
from certwright.operators.rollout.engine.settings import BUILT_IN, RolloutSettings
from certwright.operators.rollout.operator import rollout_operator
from certwright.operators.rollout.policy import DIGEST, RECORD
from certwright.runtime import Manager, Operator, policy_rules
from certwright.testkit import Cluster

ACCOUNT = "roller"
AUTO = "reloader.stakater.com/auto"
KEY = "rollout-key"
RBAC = "rbac.authorization.k8s.io"


class Refusals:
    """Notes what the server forbids."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_request(self, request: Request, outcome: object, _seconds: float) -> None:
        if outcome == 403:
            self.seen.append(f"{request.verb} {request.path}")


def operator_of(cluster: Cluster) -> Operator:
    """Return an operator that leaves the namespaces of other tests alone."""
    settings = RolloutSettings(
        dialects=dialects_of(DEFAULT),
        kinds=kinds_of(DEFAULT, BUILT_IN, ReloaderOptions(recreate_jobs=True)),
        quiet=timedelta(seconds=0.5),
        namespace=cluster.namespace,
        home=Key(cluster.namespace, KEY),
    )
    return rollout_operator(settings)


async def allow(cluster: Cluster, operator: Operator) -> str:
    """Give an account the role that is generated for the operator; return who it is."""
    rules = policy_rules(built_controllers([operator]))
    verbs = {verb for rule in rules for verb in rule["verbs"]}
    assert not verbs & {"*", "escalate", "bind", "impersonate"}
    name = f"{ACCOUNT}-{cluster.namespace}"
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    await cluster.create({**head, "kind": "ClusterRole", "rules": rules})
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": cluster.namespace}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    binding = {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}
    await cluster.create({**head, **binding})
    user = f"system:serviceaccount:{cluster.namespace}:{ACCOUNT}"
    await until_allowed(cluster.client, user, cluster.namespace, rules)
    return user


@asynccontextmanager
async def running(client: Client, operator: Operator, cluster: Cluster) -> AsyncIterator[None]:
    manager = Manager(client, [operator], clock=cluster.clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(manager.run())
        try:
            yield
        finally:
            task.cancel()


async def annotated(cluster: Cluster, kind: Resource, name: str, annotation: str) -> bool:
    """Return whether a workload, or its pods, have an annotation."""
    obj = await cluster.get(kind, name)
    spec = obj["spec"]["jobTemplate"]["spec"] if kind == CronJob else obj["spec"]
    pods = spec["template"].get("metadata") or {}
    found = (obj["metadata"].get("annotations") or {}, pods.get("annotations") or {})
    return any(annotation in annotations for annotations in found)


async def new_jobs(cluster: Cluster) -> bool:
    """Return whether there are a Job of the CronJob and one in the place of the other."""
    names = sorted(name.rpartition("-")[0] for name in await cluster.names(Job))
    return names == ["nightly", "once"]


async def test_the_generated_role_is_enough(cluster: Cluster) -> None:
    operator = operator_of(cluster)
    user, refusals = await allow(cluster, operator), Refusals()
    client = Client(cluster.client.transport, clock=cluster.clock, observers=[refusals])
    await cluster.create(secret_object("web-tls", {"a": "1"}))
    await cluster.create(secret_object(KEY, {"no": "key"}))  # is deleted, and made anew
    web = workload_object("web", pod_spec(["web-tls"]), annotations={RESTART: "true"})
    nightly = workload_object("nightly", pod_spec(["web-tls"]), "CronJob", {AUTO: "true"})
    for obj in (web, nightly, job_object("once", ["web-tls"], {AUTO: "true"})):
        await cluster.create(obj)
    async with running(client.acting_as(user), operator, cluster):
        for kind, name in ((Deployment, "web"), (CronJob, "nightly"), (Job, "once")):
            await until(f"{name} is recorded", partial(annotated, cluster, kind, name, RECORD))
        late = workload_object("late", pod_spec(["late-tls"]), annotations={RESTART: "true"})
        await cluster.create(secret_object("late-tls", {"a": "1"}))
        await cluster.create(late)
        await until("late is recorded", lambda: annotated(cluster, Deployment, "late", RECORD))
        await cluster.delete(Secret, KEY)
        await until("the key is back", lambda: cluster.find(Secret, KEY))
        await cluster.patch(Secret, "web-tls", {"data": encoded({"a": "2"})})
        await until("web restarts", lambda: annotated(cluster, Deployment, "web", DIGEST))
        await until("nightly restarts", lambda: annotated(cluster, CronJob, "nightly", DIGEST))
        await until("one Job of each is new", lambda: new_jobs(cluster))
    assert refusals.seen == []
