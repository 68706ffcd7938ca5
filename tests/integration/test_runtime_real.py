"""Controllers on the real control plane: leadership, their own rights, kinds that come and go."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.waits import until, until_allowed

from certwright.client import Client, Request, connect
from certwright.kube import Key, NotFound, ObjectMeta, crd_manifest
from certwright.kube.kinds import ConfigMap, CustomResourceDefinition, Lease, ServiceAccount
from certwright.runtime import Controller, LeaderElection, Manager, WatchState, policy_rules
from certwright.testkit import RealCluster
from certwright.testkit.cluster import GARBAGE_SECONDS
from greeting import Greeting, GreetingSpec, controller

pytestmark = pytest.mark.real

PATIENCE_SECONDS = 60
RBAC = "rbac.authorization.k8s.io"


def greeting(name: str, count: int = 1) -> Greeting:
    return Greeting(metadata=ObjectMeta(name=name), spec=GreetingSpec(count=count))


def election(cluster: RealCluster, identity: str) -> LeaderElection:
    return LeaderElection(
        name="greetings",
        namespace=cluster.namespace,
        identity=identity,
        lease_duration=timedelta(seconds=15),  # a busy machine takes its time for a renewal
        renew_deadline=timedelta(seconds=12),
        retry_period=timedelta(seconds=1),
    )


class Freezer:
    """A transport that can stop answering, as a stopped process or a dead link does."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.frozen = False

    async def send(self, request: Request) -> Any:
        if self.frozen:
            await asyncio.Event().wait()
        return await self._inner.send(request)

    def stream(self, request: Request) -> Any:
        return self._inner.stream(request)

    async def close(self) -> None:
        """The connection belongs to the cluster."""


async def eventually(holds: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until something holds; *holds* may be async."""

    async def held() -> object:
        found = holds()
        return await found if asyncio.iscoroutine(found) else found

    await until(f"what line {holds.__code__.co_firstlineno} waits for", held, seconds)


class LeaseReads:
    """Counts how often a replica has looked at the Lease."""

    def __init__(self) -> None:
        self.count = 0

    def on_request(self, request: Request, _outcome: object, _seconds: float) -> None:
        self.count += request.verb == "get" and request.resource == Lease

    def client(self, cluster: RealCluster) -> Client:
        return Client(cluster.client.transport, observers=[self])

    async def again(self, times: int = 2) -> None:
        """Return when it was read so often more."""
        seen = self.count
        await eventually(lambda: self.count >= seen + times)


@asynccontextmanager
async def running(
    client: Client, *controllers: Controller, **options: Any
) -> AsyncIterator[Manager]:
    """Run a manager; leaving the context stops it gracefully."""
    manager = Manager(client, controllers or [controller], **options)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(manager.run())
        try:
            yield manager
        except BaseException:
            task.cancel()
            raise
        manager.stop()


def metric(manager: Manager, name: str, /, **labels: str) -> float:
    return manager.metrics.registry.get_sample_value(name, labels) or 0.0


def leads(manager: Manager) -> bool:
    return metric(manager, "leader_election_master_status", name="greetings") == 1


async def copies(cluster: RealCluster) -> set[str]:
    """The ConfigMaps of all greetings."""
    return await cluster.names(ConfigMap, labels="greeting")


@pytest.fixture
async def greetings(real_cluster: RealCluster) -> RealCluster:
    await real_cluster.install(crd_manifest(Greeting))
    return real_cluster


async def test_a_standby_takes_over_when_the_leader_stops(greetings: RealCluster) -> None:
    client = greetings.client
    async with running(client, leader_election=election(greetings, "one")) as one:
        await eventually(lambda: leads(one))
        looks = LeaseReads()
        standby = looks.client(greetings)
        async with running(standby, leader_election=election(greetings, "two")) as two:
            await greetings.create(greeting("hi"))
            await eventually(lambda: two.cache.informers and not two.cache.unsynced())
            await looks.again()
            assert not leads(two)
            one.stop()
            await eventually(lambda: leads(two))
            assert not leads(one)
            await greetings.create(greeting("bye"))
            await eventually(lambda: _has(greetings, {"hi-0", "bye-0"}))
    lease = await client.get(Lease, Key(greetings.namespace, "greetings"))
    assert not lease["spec"].get("holderIdentity"), "the last one gave it back"


async def _has(cluster: RealCluster, names: set[str]) -> bool:
    return await copies(cluster) == names


async def test_a_frozen_leader_has_stopped_before_the_next_one_starts(
    greetings: RealCluster,
) -> None:
    ice, looks = Freezer(greetings.client.transport), LeaseReads()
    first = Client(ice, observers=[looks])
    both = []
    async with running(first, leader_election=election(greetings, "one")) as one:
        await eventually(lambda: leads(one))
        second = election(greetings, "two")
        async with running(greetings.client, leader_election=second) as two:
            ice.frozen = True

            def taken_over() -> bool:
                both.append(leads(one) and leads(two))
                return leads(two)

            await eventually(taken_over)
            assert not any(both)
            await greetings.create(greeting("hi"))
            await eventually(lambda: _has(greetings, {"hi-0"}))
            ice.frozen = False
            await looks.again()
            assert (leads(one), leads(two)) == (False, True)


class Refusals:
    """Counts what the server forbids."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def on_request(self, request: Request, outcome: object, _seconds: float) -> None:
        if outcome == 403:
            self.seen[f"{request.verb} {request.path}"] += 1


class Robot:
    """A user of its own for the controller, with rights that can be taken away."""

    def __init__(self, cluster: RealCluster, kubeconfig: Path, folder: Path) -> None:
        self._cluster = cluster
        self._kubeconfig = kubeconfig
        self._folder = folder
        self.name = f"robot-{cluster.namespace}"

    async def allow(self, rules: list[dict[str, Any]]) -> None:
        """Give the robot these rights and no others."""
        namespace = self._cluster.namespace
        subject = {"kind": "ServiceAccount", "name": "robot", "namespace": namespace}
        head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": self.name}}
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": self.name}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await self._cluster.apply(account)
        await self._cluster.apply({**head, "kind": "ClusterRole", "rules": rules})
        bound = {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}
        await self._cluster.apply({**head, **bound})
        user = f"system:serviceaccount:{namespace}:robot"
        await until_allowed(self._cluster.client, user, namespace, rules)

    @asynccontextmanager
    async def connected(self, refusals: Refusals) -> AsyncIterator[Client]:
        """Connect with a token of the robot's."""
        key = Key(self._cluster.namespace, "robot")
        made = await self._cluster.client.create_subresource(ServiceAccount, key, "token", {})
        token = made["status"]["token"]
        async with connect(kubeconfig=self._written(token)) as client:
            yield Client(client.transport, observers=[refusals])

    def _written(self, token: str) -> Path:
        config = yaml.safe_load(self._kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        path = self._folder / "robot"
        path.write_text(yaml.safe_dump(config))
        return path


@pytest.fixture
def robot(greetings: RealCluster, control_plane_kubeconfig: Path, tmp_path: Path) -> Robot:
    return Robot(greetings, control_plane_kubeconfig, tmp_path)


async def test_a_controller_needs_no_more_than_its_printed_rules(
    greetings: RealCluster, robot: Robot
) -> None:
    refusals = Refusals()
    await robot.allow(policy_rules([controller]))
    async with (
        robot.connected(refusals) as client,
        running(client, leader_election=election(greetings, "robot")),
    ):
        await greetings.create(greeting("hi", 2))
        await eventually(lambda: _has(greetings, {"hi-0", "hi-1"}))
        await greetings.patch(Greeting, "hi", {"spec": {"count": 3, "text": "ho"}})
        await eventually(lambda: _has(greetings, {"hi-0", "hi-1", "hi-2"}))
        await greetings.patch(Greeting, "hi", {"spec": {"count": 1}})
        await eventually(lambda: _has(greetings, {"hi-0"}))
        await eventually(lambda: _kept(greetings, 1))
        await greetings.delete(ConfigMap, "hi-0")
        await eventually(lambda: _has(greetings, {"hi-0"}))
        await greetings.delete(Greeting, "hi")
        # The garbage collector looks for new kinds twice a minute.
        await eventually(lambda: _has(greetings, set()), GARBAGE_SECONDS)
    assert not refusals.seen


async def _kept(cluster: RealCluster, count: int, name: str = "hi") -> bool:
    return (await cluster.get(Greeting, name)).status.kept == count


@pytest.mark.parametrize("lost", ["configmaps", "greetings", "greetings/status", "leases"])
async def test_a_right_that_is_missing_shows(
    greetings: RealCluster, robot: Robot, lost: str
) -> None:
    refusals = Refusals()
    rules = [rule for rule in policy_rules([controller]) if rule["resources"] != [lost]]
    assert len(rules) == len(policy_rules([controller])) - 1
    await robot.allow(rules)
    await greetings.create(greeting("hi"))

    def shows(manager: Manager) -> bool:
        errors = "controller_runtime_reconcile_errors_total"
        failed = metric(manager, errors, controller="greeting") > 0
        return failed or any("forbidden" in (check.problem or "") for check in manager.readiness())

    async with (
        robot.connected(refusals) as client,
        running(client, leader_election=election(greetings, "robot")) as manager,
    ):
        await eventually(lambda: refusals.seen)
        if lost == "leases":
            assert not leads(manager)
            assert not await copies(greetings)
        else:
            await eventually(lambda: shows(manager))
        await robot.allow(policy_rules([controller]))
        await eventually(lambda: _kept(greetings, 1))


async def test_a_kind_that_goes_and_comes_back(greetings: RealCluster) -> None:
    definition = Key("", crd_manifest(Greeting)["metadata"]["name"])
    async with running(greetings.client) as manager:
        await greetings.create(greeting("hi"))
        await eventually(lambda: _has(greetings, {"hi-0"}))
        await greetings.client.delete(CustomResourceDefinition, definition)
        await eventually(lambda: _is_gone(greetings, definition))
        await eventually(lambda: _states(manager)["Greeting"] is WatchState.MISSING)
        assert _states(manager)["ConfigMap"] is WatchState.WATCHING
        await greetings.install(crd_manifest(Greeting))
        await greetings.create(greeting("again", 2))
        await eventually(lambda: _kept(greetings, 2, "again"))
        assert {"again-0", "again-1"} <= await copies(greetings)
        assert not any(check.problem for check in manager.liveness())
        await eventually(lambda: set(_states(manager).values()) == {WatchState.WATCHING})


def _states(manager: Manager) -> dict[str, WatchState]:
    return {
        informer.view.resource.kind: informer.watch.state for informer in manager.cache.informers
    }


async def _is_gone(cluster: RealCluster, key: Key) -> bool:
    try:
        await cluster.client.get(CustomResourceDefinition, key)
    except NotFound:
        return True
    return False
