"""What an apply does to a server: as little as possible, and nothing of others."""

import pytest
from tests.component.apply.conftest import Bench, Toys

from certwright.apply import Action, Live, Rules
from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import ConfigMap, Deployment, Secret
from certwright.testkit.builders import config_map, daemon_set, deployment, secret, stateful_set

KEEPER = Rules(exact_owners=True, drop_annotations=("reference.example.com/",))


async def test_creates_then_leaves_alone(bench: Bench) -> None:
    objects = [config_map("a", {"k": "v"}), secret("s", {"p": "x"})]
    assert bench.told(await bench.apply(*objects)) == {
        "Secret/s": "created",
        "ConfigMap/a": "created",
    }
    with bench.counted() as calls:
        changes = await bench.apply(*objects)
    assert {e.action for e in changes.entries} == {Action.UNCHANGED}
    assert calls[0].writes == 0


def zeros() -> JsonObject:
    """A workload full of what the server normalises, defaults or does not store."""
    workload = deployment("zeros", replicas=0)
    pod = workload["spec"]["template"]["spec"]
    pod |= {
        "hostNetwork": False,
        "volumes": [
            {
                "name": "token",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "token"}},
                        {
                            "downwardAPI": {
                                "items": [
                                    {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}
                                ]
                            }
                        },
                    ]
                },
            },
            {"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}},
        ],
    }
    pod["containers"][0] |= {
        "env": [
            {"name": "EMPTY", "value": ""},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": 1}},
        "ports": [{"containerPort": 80}],
        "securityContext": {},
    }
    return workload


def policy() -> JsonObject:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "np", "creationTimestamp": None},
        "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 53}], "from": []}]},
    }


def claiming() -> JsonObject:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1024Mi"}},
        },
    }
    workload = stateful_set("sts")
    workload["spec"]["volumeClaimTemplates"] = [claim]
    return workload


def webhook() -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "svc"},
        "spec": {"ports": [{"port": 80}, {"port": 53, "protocol": "UDP", "name": "dns"}]},
    }


@pytest.mark.scenario("MR-50")
@pytest.mark.parametrize(
    "obj",
    [
        config_map("a", {"k": "v"}),
        secret("s", {"p": "x"}),
        {**secret("lines"), "data": {"p": "aGVs\nbG8="}},
        deployment("d", replicas=2),
        daemon_set("ds"),
        zeros(),
        policy(),
        claiming(),
        webhook(),
    ],
    ids=lambda obj: f"{obj['kind']}-{obj['metadata']['name']}",
)
async def test_a_restart_writes_nothing(bench: Bench, obj: JsonObject) -> None:
    if "ports" in obj.get("spec", {}):
        obj["spec"]["ports"][0].setdefault("name", "http")
    await bench.apply(obj)
    bench.restart()
    with bench.counted() as calls:
        changes = await bench.apply(obj)
    assert calls[0].writes == 0, calls
    assert changes.entries[0].action is Action.UNCHANGED


@pytest.mark.scenario("MR-50")
async def test_always_writes_when_asked_to(bench: Bench) -> None:
    for _ in range(3):
        changes = await bench.apply(config_map("a"), always=True)
    assert changes.entries[0].action is Action.UNCHANGED, "the server found no difference"
    assert bench.log.all().writes == 3


async def test_what_is_no_longer_wanted_disappears_and_what_others_set_stays(bench: Bench) -> None:
    await bench.apply(config_map("a", {"old": "1", "kept": "2"}))
    await bench.cluster.patch(ConfigMap, "a", {"data": {"foreign": "3"}})
    changes = await bench.apply(config_map("a", {"kept": "2", "new": "4"}))
    data = (await bench.cluster.get(ConfigMap, "a"))["data"]
    assert data == {"kept": "2", "new": "4", "foreign": "3"}
    entry = changes.entries[0]
    assert entry.action is Action.CONFIGURED
    assert {c.path for c in entry.diff.changes} == {"data.old", "data.new"}


async def test_a_key_of_a_secret_disappears_although_it_was_given_as_text(bench: Bench) -> None:
    await bench.apply(secret("s", {"old": "1", "kept": "2"}))
    await bench.apply(secret("s", {"kept": "2"}))
    assert (await bench.cluster.get(Secret, "s"))["data"] == {"kept": "Mg=="}


async def test_drift_is_repaired_and_its_author_named(bench: Bench) -> None:
    await bench.apply(config_map("a", {"k": "v"}))
    await bench.cluster.patch(ConfigMap, "a", {"data": {"k": "drift"}})
    with bench.counted() as calls:
        changes = await bench.apply(config_map("a", {"k": "v"}))
    assert calls[0].writes == 1
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "v"}
    writer = changes.entries[0].writer
    assert writer is not None
    assert writer.manager == "test"


async def test_only_what_differs_is_written(bench: Bench) -> None:
    await bench.apply(*(config_map(f"c{i}", {"k": "v"}) for i in range(5)))
    with bench.counted() as calls:
        await bench.apply(*(config_map(f"c{i}", {"k": "w" if i == 3 else "v"}) for i in range(5)))
    assert calls[0].writes == 1


@pytest.mark.scenario("MR-25")
async def test_foreign_metadata_stays_unless_it_must_not(bench: Bench) -> None:
    wanted = config_map("a", labels={"ours": "1"}, annotations={"ours": "1"})
    await bench.apply(wanted)
    foreign = {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}}
    await bench.cluster.patch(ConfigMap, "a", {"metadata": foreign})
    with bench.counted() as calls:
        await bench.apply(wanted)
    assert calls[0].writes == 0
    exact = Rules(exact_labels=True, exact_annotations=True)
    with bench.counted() as calls:
        changes = await bench.apply(wanted, rules=exact)
    assert calls[0].writes == 1
    metadata = (await bench.cluster.get(ConfigMap, "a"))["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"ours": "1"}, {"ours": "1"})
    assert changes.entries[0].action is Action.CONFIGURED
    with bench.counted() as calls:
        await bench.apply(wanted, rules=exact)
    assert calls[0].writes == 0


@pytest.mark.scenario("MR-26")
async def test_a_label_no_longer_wanted_goes_unless_somebody_changed_it(bench: Bench) -> None:
    await bench.apply(config_map("a", labels={"gone": "1", "changed": "1", "kept": "1"}))
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"labels": {"changed": "2"}}})
    await bench.apply(config_map("a", labels={"kept": "1"}))
    labels = (await bench.cluster.get(ConfigMap, "a"))["metadata"]["labels"]
    assert labels == {"kept": "1", "changed": "2"}


@pytest.mark.scenario("MR-27")
async def test_stale_references_go(bench: Bench) -> None:
    name = "reference.example.com/"
    await bench.apply(config_map("a"))
    stale = {f"{name}stale": "x", "other": "y"}
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"annotations": stale}})
    await bench.apply(config_map("a", annotations={f"{name}new": "z"}), rules=KEEPER)
    annotations = (await bench.cluster.get(ConfigMap, "a"))["metadata"]["annotations"]
    assert annotations == {f"{name}new": "z", "other": "y"}


@pytest.mark.scenario("MR-28")
async def test_finalizers_are_set_on_creation_only_and_never_removed(bench: Bench) -> None:
    ours, theirs, late = "example.com/ours", "example.com/theirs", "example.com/late"
    await bench.apply(config_map("a", {"k": "1"}, finalizers=[ours]))
    both = {"metadata": {"finalizers": [ours, theirs]}}
    await bench.cluster.patch(ConfigMap, "a", both)
    await bench.apply(config_map("a", {"k": "2"}, finalizers=[late]))
    found = await bench.cluster.get(ConfigMap, "a")
    assert found["data"] == {"k": "2"}
    assert set(found["metadata"]["finalizers"]) == {ours, theirs}
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})


@pytest.mark.scenario("MR-29")
async def test_owner_references_are_those_of_the_manifest(bench: Bench) -> None:
    owner = await bench.cluster.create(config_map("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    await bench.apply(config_map("a"), rules=KEEPER)
    await bench.cluster.patch(ConfigMap, "a", {"metadata": {"ownerReferences": [reference]}})
    await bench.apply(config_map("a"))
    assert "ownerReferences" in (await bench.cluster.get(ConfigMap, "a"))["metadata"]
    with bench.counted() as calls:
        await bench.apply(config_map("a"), rules=KEEPER)
    assert calls[0].writes == 1
    assert "ownerReferences" not in (await bench.cluster.get(ConfigMap, "a"))["metadata"]


@pytest.mark.scenario("MR-30")
async def test_status_is_left_to_those_who_write_it(bench: Bench, toy: Toys) -> None:
    await bench.cluster.install(toy.crd(status_subresource=False))
    wanted = {**toy("a", size=1), "status": {"phase": "New"}}
    await bench.apply(wanted)
    assert (await bench.cluster.get(toy.resource, "a"))["status"] == {"phase": "New"}
    await bench.cluster.patch(toy.resource, "a", {"status": {"phase": "Ready", "more": 1}})
    await bench.apply({**toy("a", size=2), "status": {"phase": "New"}})
    found = await bench.cluster.get(toy.resource, "a")
    assert (found["spec"], found["status"]) == ({"size": 2}, {"phase": "Ready", "more": 1})


@pytest.mark.scenario("MR-51")
async def test_fields_nobody_here_knows_arrive(bench: Bench, toy: Toys) -> None:
    await bench.cluster.install(toy.crd())
    await bench.apply(toy("a", future={"deep": [{"x": 1.5}]}))
    assert (await bench.cluster.get(toy.resource, "a"))["spec"] == {
        "future": {"deep": [{"x": 1.5}]}
    }


@pytest.mark.scenario("MR-52")
async def test_what_is_only_created_is_never_touched_again(bench: Bench) -> None:
    rules = Rules(create_only=True)
    changes = await bench.apply(config_map("a", {"k": "1"}), rules=rules)
    assert changes.entries[0].action is Action.CREATED
    await bench.cluster.patch(ConfigMap, "a", {"data": {"k": "edited"}})
    with bench.counted() as calls:
        changes = await bench.apply(config_map("a", {"k": "2"}), rules=rules)
    assert changes.entries[0].action is Action.UNCHANGED
    assert calls[0].writes == 0
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "edited"}


@pytest.mark.scenario("MR-52")
async def test_what_is_only_created_is_not_overwritten_when_nobody_saw_it(bench: Bench) -> None:
    await bench.cluster.create(config_map("a", {"k": "theirs"}))

    async def nothing(resource: Resource, key: Key, *, fresh: bool = False) -> Live | None:
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = nothing
    bench.direct.sees_all = False
    changes = await bench.apply(config_map("a", {"k": "ours"}), rules=Rules(create_only=True))
    assert changes.entries[0].action is Action.UNCHANGED
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {"k": "theirs"}


@pytest.mark.parametrize(
    "broken",
    [
        {"apiVersion": "v1", "metadata": {"name": "x"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ""}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a/b"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": "x"},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"k": 2**70}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": ["x"]},
    ],
    ids=["no kind", "no name", "bad name", "bad metadata", "bad number", "bad spec"],
)
@pytest.mark.scenario("MR-13")
async def test_an_object_that_makes_no_sense_fails_alone(bench: Bench, broken: JsonObject) -> None:
    if isinstance(broken["metadata"], dict):
        broken = bench.placed(broken)
    changes = await bench.apply_as_is(broken, bench.placed(config_map("good")))
    assert sorted(e.action for e in changes.entries) == [Action.CREATED, Action.FAILED]
    failure = changes.with_action(Action.FAILED)[0]
    assert failure.reason.startswith(f'error during apply of object "{failure.ref.id}": ')


async def test_a_manifest_that_was_exported_can_be_applied(bench: Bench) -> None:
    await bench.cluster.create(deployment("d"))
    exported = await bench.cluster.get(Deployment, "d")
    await bench.cluster.patch(Deployment, "d", {"metadata": {"labels": {"x": "y"}}})
    changes = await bench.apply(exported)
    assert changes.complete, str(changes)


async def test_the_order_of_items_counts(bench: Bench) -> None:
    workload = deployment("d")
    container = workload["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}]
    await bench.apply(workload)
    container["env"] = container["env"][::-1]
    bench.restart()
    await bench.apply(workload)
    found = await bench.cluster.get(Deployment, "d")
    env = found["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [item["name"] for item in env] == ["B", "A"]
