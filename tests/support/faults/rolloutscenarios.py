"""What users do with workloads and what they consume, for simulations.

Workloads are StatefulSets: their generation counts restarts, and nothing else that happens here.
At the end of each scenario the digests on record are those of the present contents, and there were
no more restarts than new contents.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias

from tests.support.rollout import encoded, job_object, pod_spec, workload_object

from certwright.kube import JsonObject, Key, NotFound, key_of
from certwright.kube.kinds import ConfigMap, DaemonSet, Job, Secret, StatefulSet
from certwright.operators.rollout.decision.compare import Counted, compare
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.decision.restraint import RolloutLimits
from certwright.operators.rollout.dialects.certwright import RESTART, CertwrightDialect
from certwright.operators.rollout.dialects.reloader import ReloaderDialect
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
from certwright.operators.rollout.dialects.restraint import MINIMUM_INTERVAL, PAUSED, WINDOW
from certwright.operators.rollout.engine.contents import contents_of
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.engine.views import read_workload
from certwright.operators.rollout.operator import rollout_operator
from certwright.operators.rollout.workload import WorkloadKind
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map

RolloutScenario: TypeAlias = Callable[[EmbeddedCluster], Awaitable[None]]

KEY = b"k" * 32
DIALECT = CertwrightDialect()
SETTINGS = RolloutSettings(
    dialects=[DIALECT],
    quiet=timedelta(seconds=5),
    random_bytes=lambda _: KEY,
    home=Key("kube-system", "key"),
    kinds=(WorkloadKind.STATEFUL_SET, WorkloadKind.DAEMON_SET),
    budgets=False,
)
OPERATOR = rollout_operator(SETTINGS)
ONE_AT_A_TIME = rollout_operator(replace(SETTINGS, limits=RolloutLimits(per_cluster=1)))


class UnfilteredDialect(CertwrightDialect):
    """The same for all namespaces, so that none is watched."""

    reads_namespaces = False


LEAN = rollout_operator(
    replace(SETTINGS, dialects=[UnfilteredDialect()], kinds=(WorkloadKind.STATEFUL_SET,))
)
"""What costs least to simulate."""
WITH_JOBS = rollout_operator(
    replace(
        SETTINGS,
        dialects=[ReloaderDialect(ReloaderOptions())],
        kinds=(WorkloadKind.STATEFUL_SET, WorkloadKind.JOB),
    )
)
IGNORE = (
    "Job.metadata.annotations",
    "Job.spec.template.metadata.annotations",
    "StatefulSet.metadata.annotations",
    "StatefulSet.spec.template.metadata.annotations",
    "DaemonSet.metadata.annotations",
    "DaemonSet.spec.template.metadata.annotations",
)
ASKED = {RESTART: "true"}


# Words


async def secret(cluster: EmbeddedCluster, name: str = "s", **data: str) -> None:
    """Create a Secret, or replace its data."""
    wanted = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
    try:
        live = await cluster.get(Secret, name)
    except NotFound:
        await cluster.create({**wanted, "data": encoded(data)})
    else:
        await cluster.client.update({**live, "data": encoded(data)})


async def workload(
    cluster: EmbeddedCluster,
    name: str = "web",
    pod: JsonObject | None = None,
    annotations: Mapping[str, str] = ASKED,
    kind: str = "StatefulSet",
) -> None:
    """Create a workload that asks for restarts."""
    await cluster.create(workload_object(name, pod or pod_spec(["s"]), kind, annotations))


async def annotate(cluster: EmbeddedCluster, changes: Mapping[str, str | None]) -> None:
    """Change annotations of a workload."""
    await cluster.patch(StatefulSet, "web", {"metadata": {"annotations": dict(changes)}})


async def passing(cluster: EmbeddedCluster, seconds: float = 45) -> None:
    """Let everything that is due happen, also what is late."""
    await cluster.settle()
    await cluster.advance(seconds=seconds)
    await cluster.advance(seconds=seconds)


async def ended(cluster: EmbeddedCluster, **restarts: tuple[int, int]) -> None:
    """Check how often workloads restarted, at least and at most, and what is on record."""
    await passing(cluster)
    for name, (least, most) in restarts.items():
        obj = await cluster.get(StatefulSet, name)
        seen = obj["metadata"]["generation"] - 1
        assert least <= seen <= most, f"{name} restarted {seen} times, not {least} to {most}"
        await is_on_record(cluster, obj)


async def is_on_record(cluster: EmbeddedCluster, obj: JsonObject) -> None:
    """Check that what a workload consumes now is on record."""
    read = read_workload(WorkloadKind.STATEFUL_SET, obj)
    policy, key = DIALECT.policy(read), DigestKey(KEY)
    assert policy is not None
    present = []
    for candidate in policy.candidates:
        ref = candidate.use.ref
        kind = Secret if ref.kind == "Secret" else ConfigMap
        found = await cluster.find(kind, ref.name)
        contents = None if found is None else contents_of(ref, found, key)
        present.append(Counted(candidate.use, contents))
    judged = compare(read, policy, present, key)
    assert judged.recorded, f"{key_of(obj)}: on record are others than the present contents"
    assert not judged.changed


# Scenarios


async def one_renewal(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await secret(cluster, a="2")
    await ended(cluster, web=(1, 1))


async def two_renewals_at_once(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await secret(cluster, a="2")
    await cluster.advance(seconds=1)
    await secret(cluster, a="3")
    await ended(cluster, web=(1, 2))


async def two_renewals_apart(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await secret(cluster, a="2")
    await passing(cluster)
    await secret(cluster, a="3")
    await ended(cluster, web=(2, 2))


async def there_and_back(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await secret(cluster, a="2")
    await cluster.advance(seconds=2)
    await secret(cluster, a="1")
    await ended(cluster, web=(0, 2))


async def two_secrets(cluster: EmbeddedCluster) -> None:
    await secret(cluster, "s", a="1")
    await secret(cluster, "t", a="1")
    await workload(cluster, pod=pod_spec(["s", "t"]))
    await passing(cluster)
    await secret(cluster, "s", a="2")
    await secret(cluster, "t", a="2")
    await ended(cluster, web=(1, 2))


async def one_secret_of_three(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    for name in ("a", "b", "c"):
        await workload(cluster, name)
    await passing(cluster)
    await secret(cluster, a="2")
    await ended(cluster, a=(1, 1), b=(1, 1), c=(1, 1))


async def config_maps(cluster: EmbeddedCluster) -> None:
    await cluster.apply(config_map("c", {"a": "1"}))
    await workload(cluster, pod=pod_spec(config_maps=["c"]))
    await passing(cluster)
    await cluster.apply(config_map("c", {"a": "2"}))
    await ended(cluster, web=(1, 1))


async def metadata_only(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await cluster.patch(Secret, "s", {"metadata": {"labels": {"a": "b"}}})
    await ended(cluster, web=(0, 0))


async def deleted_and_the_same_again(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await cluster.delete(Secret, "s")
    await passing(cluster)
    await secret(cluster, a="1")
    await ended(cluster, web=(0, 0))


async def deleted_and_others_later(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await cluster.delete(Secret, "s")
    await cluster.settle()
    await secret(cluster, a="2")
    await ended(cluster, web=(1, 1))


async def a_late_workload(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await passing(cluster)
    await workload(cluster)
    await passing(cluster)
    await secret(cluster, a="2")
    await ended(cluster, web=(1, 1))


async def a_late_secret(cluster: EmbeddedCluster) -> None:
    await workload(cluster)
    await passing(cluster)
    await secret(cluster, a="1")
    await passing(cluster)
    await secret(cluster, a="2")
    await ended(cluster, web=(1, 1))


async def asked_later(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster, annotations={})
    await passing(cluster)
    await secret(cluster, a="2")
    await passing(cluster)
    await annotate(cluster, ASKED)
    await passing(cluster)
    await secret(cluster, a="3")
    await ended(cluster, web=(1, 1))


async def paused_and_resumed(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster, annotations={**ASKED, PAUSED: "true"})
    await passing(cluster)
    await secret(cluster, a="2")
    await passing(cluster)
    await secret(cluster, a="3")
    await passing(cluster)
    await annotate(cluster, {PAUSED: None})
    await ended(cluster, web=(1, 1))


async def another_template(cluster: EmbeddedCluster) -> None:
    await secret(cluster, "s", a="1")
    await secret(cluster, "t", a="1")
    await workload(cluster)
    await passing(cluster)
    await cluster.patch(StatefulSet, "web", {"spec": {"template": {"spec": pod_spec(["t"])}}})
    await passing(cluster)
    await secret(cluster, "s", a="2")
    await passing(cluster)
    await secret(cluster, "t", a="2")
    await ended(cluster, web=(2, 2))  # the edit, and the restart


async def a_window(cluster: EmbeddedCluster) -> None:
    opens = cluster.clock.now() + timedelta(minutes=8)
    window = f"{opens.minute} {opens.hour} * * * for 12h"  # clocks may be set meanwhile
    await secret(cluster, a="1")
    await workload(cluster, annotations={**ASKED, WINDOW: window})
    await passing(cluster)
    await secret(cluster, a="2")
    await passing(cluster)
    await secret(cluster, a="3")
    for _ in range(20):  # clocks are set back, too
        await cluster.advance(minutes=15)
        if cluster.clock.now() > opens + timedelta(minutes=15):
            break
    await ended(cluster, web=(1, 2))


async def an_interval(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster, annotations={**ASKED, MINIMUM_INTERVAL: "5m"})
    await passing(cluster)
    for value in ("2", "3", "4"):
        await secret(cluster, a=value)
        await passing(cluster)
    await cluster.advance(minutes=15)
    await ended(cluster, web=(1, 3))


async def keys_that_are_not_consumed(cluster: EmbeddedCluster) -> None:
    reference = {"name": "s", "key": "a"}
    variable = {"name": "A", "valueFrom": {"secretKeyRef": reference}}
    pod: JsonObject = {"containers": [{"name": "main", "image": "app", "env": [variable]}]}
    await secret(cluster, a="1", b="1")
    await workload(cluster, pod=pod)
    await passing(cluster)
    await secret(cluster, a="1", b="2")
    await passing(cluster)
    await secret(cluster, a="2", b="2")
    await ended(cluster, web=(1, 1))


async def a_deleted_key(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await cluster.delete(Secret, "kube-system/key")
    await passing(cluster)
    await secret(cluster, a="2")
    await ended(cluster, web=(1, 1))


async def the_same_name_again(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster)
    await passing(cluster)
    await cluster.delete(StatefulSet, "web")
    await secret(cluster, a="2")
    await passing(cluster)
    await workload(cluster)
    await ended(cluster, web=(0, 0))


async def other_kinds(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster, kind="DaemonSet")
    await workload(cluster, "also")
    await passing(cluster)
    await secret(cluster, a="2")
    await ended(cluster, also=(1, 1))
    daemons = await cluster.get(DaemonSet, "web")
    assert daemons["metadata"]["generation"] == 2


async def wrong_bookkeeping(cluster: EmbeddedCluster) -> None:
    await secret(cluster, a="1")
    await workload(cluster, annotations={**ASKED, "rollout.certwright.dev/consumed": "null"})
    await passing(cluster)
    await secret(cluster, a="2")
    await ended(cluster, web=(1, 1))


async def a_short_renewal(cluster: EmbeddedCluster) -> None:
    """Not among the others: as short as can be, for many storms."""
    await secret(cluster, a="1")
    await workload(cluster)
    await cluster.settle()
    await secret(cluster, a="2")
    await ended(cluster, web=(0, 1))


async def a_recreated_job(cluster: EmbeddedCluster) -> None:
    """Not among the others: `WITH_JOBS` is its operator."""
    await secret(cluster, a="1")
    await cluster.create(job_object("once", ["s"], {"reloader.stakater.com/auto": "true"}))
    await passing(cluster)
    await secret(cluster, a="2")
    await passing(cluster)
    [name] = await cluster.names(Job)
    assert name.startswith("once-")


SCENARIOS: list[Any] = [
    one_renewal,
    two_renewals_at_once,
    two_renewals_apart,
    there_and_back,
    two_secrets,
    one_secret_of_three,
    config_maps,
    metadata_only,
    deleted_and_the_same_again,
    deleted_and_others_later,
    a_late_workload,
    a_late_secret,
    asked_later,
    paused_and_resumed,
    another_template,
    a_window,
    an_interval,
    keys_that_are_not_consumed,
    a_deleted_key,
    the_same_name_again,
    other_kinds,
    wrong_bookkeeping,
]
