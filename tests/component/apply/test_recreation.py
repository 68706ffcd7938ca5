"""What cannot be changed: refused, or deleted and created anew where that is allowed."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.component.apply.conftest import Bench

from certwright.apply import Action, Adopt, Live, Owner, Rules
from certwright.kube import Invalid, JsonObject, Key, Resource
from certwright.kube.kinds import ConfigMap, Job, RoleBinding
from certwright.testkit.builders import config_map, deployment, job, secret

FINALIZER = "example.com/hold"
OWNER = Owner("example.com/owner", "ours")


def binding(role: str) -> JsonObject:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "x", "namespace": "default"}],
    }


@pytest.mark.scenario("MR-44")
async def test_a_refused_change_leaves_the_object_and_says_why(bench: Bench) -> None:
    await bench.apply(binding("view"))
    before = await bench.cluster.get(RoleBinding, "b")
    changes = await bench.apply(binding("edit"))
    entry = changes.entries[0]
    assert entry.action is Action.FAILED
    place = f"rbac.authorization.k8s.io/v1/RoleBinding/{bench.cluster.namespace}/b"
    assert entry.reason.startswith(f'error during apply of object "{place}": ')
    assert "is invalid:" in entry.reason
    assert await bench.cluster.get(RoleBinding, "b") == before


@pytest.mark.scenario("MR-44")
async def test_where_allowed_it_is_created_anew_in_the_same_pass(bench: Bench) -> None:
    await bench.apply(binding("view"))
    before = await bench.cluster.get(RoleBinding, "b")
    changes = await bench.apply(binding("edit"), rules=Rules(recreate=True))
    assert changes.entries[0].action is Action.RECREATED
    after = await bench.cluster.get(RoleBinding, "b")
    assert after["roleRef"]["name"] == "edit"
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.scenario("MR-44")
async def test_an_impossible_propagation_is_told_and_nothing_deleted(bench: Bench) -> None:
    await bench.apply(binding("view"))
    before = await bench.cluster.get(RoleBinding, "b")
    rules = Rules(recreate=True, recreate_propagation="Bogus")
    changes = await bench.apply(binding("edit"), rules=rules)
    place = f"rbac.authorization.k8s.io/v1/RoleBinding/{bench.cluster.namespace}/b"
    assert (
        f'invalid deletion propagation policy on object "{place}": "Bogus" is invalid, '
        "supported values: [Background Foreground Orphan]" in changes.entries[0].reason
    )
    assert await bench.cluster.get(RoleBinding, "b") == before


@pytest.mark.scenario("MR-37")
async def test_a_job_with_another_template_is_refused_or_replaced(bench: Bench) -> None:
    await bench.apply(job("j", image="one"))
    changed = job("j", image="two")
    changes = await bench.apply(changed)
    assert changes.entries[0].action is Action.FAILED
    rules = Rules(recreate=True, recreate_propagation="Background")
    changes = await bench.apply(changed, rules=rules)
    if changes.entries[0].action is Action.BLOCKED:  # the cluster's collector takes its time
        await bench.cluster.gone(Job, "j")
        changes = await bench.apply(changed, rules=rules)
    assert changes.entries[0].action in {Action.RECREATED, Action.CREATED}
    pod = (await bench.cluster.get(Job, "j"))["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "two"


async def test_a_valid_change_keeps_the_object_although_recreation_is_allowed(bench: Bench) -> None:
    rules = Rules(recreate=True)
    await bench.apply(config_map("a", {"k": "1"}), rules=rules)
    before = await bench.cluster.get(ConfigMap, "a")
    await bench.apply(config_map("a", {"k": "2"}), rules=rules)
    after = await bench.cluster.get(ConfigMap, "a")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


@pytest.mark.scenario("MR-45")
async def test_immutable_configuration_is_replaced_without_asking(bench: Bench) -> None:
    await bench.apply({**config_map("a", {"k": "1"}), "immutable": True})
    changes = await bench.apply({**config_map("a", {"k": "2"}), "immutable": True})
    assert changes.entries[0].action is Action.RECREATED
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "2"}


@pytest.mark.scenario("MR-97")
async def test_what_is_on_its_way_out_is_never_edited_and_comes_back(bench: Bench) -> None:
    await bench.apply(config_map("a", {"k": "1"}, finalizers=[FINALIZER]))
    await bench.cluster.delete(ConfigMap, "a")
    before = await bench.cluster.get(ConfigMap, "a")
    changes = await bench.apply(config_map("a", {"k": "2"}))
    assert changes.entries[0].action is Action.BLOCKED
    assert FINALIZER in changes.entries[0].reason
    assert await bench.cluster.get(ConfigMap, "a") == before
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})
    changes = await bench.apply(config_map("a", {"k": "2"}))
    assert changes.entries[0].action is Action.CREATED


@pytest.mark.scenario("MR-97")
async def test_a_replacement_waits_for_finalizers(bench: Bench) -> None:
    immutable = {"immutable": True}
    first = {**config_map("a", {"k": "1"}, finalizers=[FINALIZER]), **immutable}
    await bench.apply(first)
    wanted = {**config_map("a", {"k": "2"}), **immutable}
    changes = await bench.apply(wanted)
    assert changes.entries[0].action is Action.BLOCKED
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})
    await bench.apply(wanted)
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "2"}


class Interferer:
    """Changes an object right before each of our first writes to it."""

    def __init__(self, bench: Bench, times: int, change: Callable[..., Awaitable[Any]]) -> None:
        self._bench = bench
        self._left = times
        self._change = change
        self._apply = bench.direct.apply
        bench.direct.apply = self.apply

    async def apply(self, resource: Resource, obj: JsonObject, **options: bool) -> Any:
        if self._left:
            self._left -= 1
            await self._change(self._left)
        return await self._apply(resource, obj, **options)


@pytest.mark.scenario("MR-92")
async def test_a_change_in_between_is_looked_at_again_not_lost(bench: Bench) -> None:
    rules = Rules(preserve_replicas=True)
    wanted = {**config_map("a", {"k": "1"}, finalizers=[FINALIZER])}
    await bench.apply(wanted, rules=rules)

    async def drop_finalizer(turn: int) -> None:
        change = {"metadata": {"finalizers": [f"example.com/{turn}"]}}
        await bench.cluster.patch(ConfigMap, "a", change)

    Interferer(bench, 2, drop_finalizer)
    # The manifest says nothing of the finalizer that is ours: it is sent as it was read,
    # guarded by the version it was read at.
    changes = await bench.apply(config_map("a", {"k": "2"}), rules=rules)
    assert changes.entries[0].action is Action.CONFIGURED
    found = await bench.cluster.get(ConfigMap, "a")
    assert found["metadata"]["finalizers"] == ["example.com/0"], "nothing was overwritten"
    assert found["data"] == {"k": "2"}
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})


@pytest.mark.scenario("MR-93")
async def test_a_stale_view_after_creation_is_no_failure(bench: Bench) -> None:
    await bench.apply(config_map("a", {"k": "1"}))

    async def nothing(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = nothing
    bench.direct.sees_all = False
    changes = await bench.apply(config_map("a", {"k": "2"}))
    assert changes.complete, str(changes)
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "2"}


async def test_an_object_nobody_saw_is_not_overwritten_blindly(bench: Bench) -> None:
    """A cache of some objects does not show those of others: creating is done without force."""
    await bench.cluster.create(config_map("a", {"k": "theirs"}))
    seen = []

    async def nothing(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        seen.append(fresh)
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = nothing
    bench.direct.sees_all = False
    changes = await bench.apply(config_map("a", {"k": "ours"}))
    assert changes.entries[0].action is Action.CONFIGURED, "adopted, after a look"
    assert seen == [False, True]


async def test_an_object_nobody_saw_is_brought_in_line_although_nothing_collides(
    bench: Bench,
) -> None:
    """The answer to a creation shows the hands of others: then all rules hold at once."""
    await bench.cluster.create(config_map("a", {"k": "same"}, labels={"theirs": "1"}))

    async def nothing(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = nothing
    bench.direct.sees_all = False
    await bench.apply(config_map("a", {"k": "same"}), rules=Rules(exact_labels=True))
    assert "labels" not in (await bench.cluster.get(ConfigMap, "a"))["metadata"]


@pytest.mark.parametrize(
    "rules",
    [Rules(adopt=Adopt.NEVER), Rules(fall_back=True), Rules(preserve_replicas=True)],
    ids=["never adopt", "fall back", "preserve"],
)
async def test_careful_rules_look_before_they_create(bench: Bench, rules: Rules) -> None:
    await bench.cluster.create(deployment("d", replicas=1))
    looks = []

    async def nothing(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        looks.append(fresh)
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = nothing
    bench.direct.sees_all = False
    changes = await bench.apply(deployment("d", replicas=1), rules=rules, owner=OWNER)
    assert looks == [False, True]
    expected = Action.FAILED if rules.adopt is Adopt.NEVER else Action.UNCHANGED
    assert changes.entries[0].action is (Action.CONFIGURED if rules.preserve_replicas else expected)


async def test_an_object_nobody_saw_on_its_way_out_is_reported(bench: Bench) -> None:
    await bench.apply(config_map("a", {"k": "1"}, finalizers=[FINALIZER]))
    await bench.cluster.delete(ConfigMap, "a")

    async def nothing(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = nothing
    bench.direct.sees_all = False
    changes = await bench.apply(config_map("a", {"k": "1"}, finalizers=[FINALIZER]))
    assert changes.entries[0].action is Action.BLOCKED
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})


async def test_a_refusal_is_looked_into_where_nobody_saw_an_object(bench: Bench) -> None:
    """A Service that exists unseen keeps its address instead of failing for it."""
    service: JsonObject = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}]},
    }
    await bench.apply(service)

    async def nothing(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = nothing
    bench.direct.sees_all = False
    service["spec"]["clusterIP"] = "10.0.0.250"
    changes = await bench.apply(service)
    assert changes.complete, str(changes)


@pytest.mark.scenario("MR-95")
async def test_a_crash_between_deletion_and_creation_is_made_good(bench: Bench) -> None:
    class Crash(BaseException):
        """The process ends here."""

    await bench.apply(binding("view"))
    delete = bench.direct.delete

    async def crash(*args: Live | Resource, **options: None) -> None:
        await delete(*args, **options)
        raise Crash

    bench.direct.delete = crash
    with pytest.raises(Crash):
        await bench.apply(binding("edit"), rules=Rules(recreate=True))
    assert await bench.cluster.find(RoleBinding, "b") is None
    bench.direct.delete = delete
    bench.restart()
    await bench.apply(binding("edit"), rules=Rules(recreate=True))
    assert (await bench.cluster.get(RoleBinding, "b"))["roleRef"]["name"] == "edit"


async def test_who_is_faster_in_creating_it_anew_keeps_it(bench: Bench) -> None:
    await bench.apply(binding("view"), owner=OWNER)
    delete = bench.direct.delete

    async def overtaken(*args: Live | Resource, **options: None) -> None:
        await delete(*args, **options)
        theirs = binding("admin")
        theirs["metadata"]["annotations"] = {OWNER.annotation: "theirs"}
        await bench.cluster.create(theirs)

    bench.direct.delete = overtaken
    changes = await bench.apply(binding("edit"), rules=Rules(recreate=True), owner=OWNER)
    assert changes.entries[0].action is Action.FAILED
    assert "it belongs to theirs" in changes.entries[0].reason


async def test_a_newcomer_that_goes_already_is_waited_for(bench: Bench) -> None:
    await bench.apply({**config_map("a", {"k": "1"}), "immutable": True})
    wanted = {**config_map("a", {"k": "2"}), "immutable": True}
    delete = bench.direct.delete

    async def overtaken(*args: Live | Resource, **options: None) -> None:
        await delete(*args, **options)
        await bench.cluster.create(
            {**config_map("a", {"k": "2"}, finalizers=[FINALIZER]), "immutable": True}
        )
        await bench.cluster.delete(ConfigMap, "a")

    bench.direct.delete = overtaken
    changes = await bench.apply(wanted)
    assert changes.entries[0].action is Action.BLOCKED
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})


async def test_values_of_secrets_are_not_quoted_when_one_comes_anew(bench: Bench) -> None:
    await bench.apply(secret("s", {"password": "hunter2"}))
    apply = bench.direct.apply

    async def refusing(
        resource: Resource, obj: JsonObject, *, force: bool = True, **options: bool
    ) -> Any:
        if force:  # it is there already
            raise Invalid('data[password]: Invalid value: "hunter3": field is immutable')
        return await apply(resource, obj, force=force, **options)

    bench.direct.apply = refusing
    changes = await bench.apply(secret("s", {"password": "hunter3"}), rules=Rules(recreate=True))
    (entry,) = changes.entries
    assert entry.action is Action.RECREATED
    assert 'Invalid value: "***"' in entry.reason
    assert "hunter" not in entry.reason
