"""What documents mean: lists, namespaces, scalars, repetitions, contradictions, wrong types."""

from random import Random

import pytest
from tests.component.operators.managedresource.conftest import Keeping, Toys

from certwright.kube import ApiError, JsonObject, Key
from certwright.kube.kinds import ClusterRole, ConfigMap, Secret
from certwright.testkit.builders import config_map


def cluster_role(name: str, **metadata: str) -> JsonObject:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, **metadata},
        "rules": [],
    }


async def applied_and_failed(keeping: Keeping, name: str = "web") -> tuple[int, int]:
    """Return the numbers of the summary."""
    summary = (await keeping.status(name))["summary"]
    return summary.get("applied", 0), summary.get("failed", 0)


@pytest.mark.scenario("MR-14")
@pytest.mark.parametrize(
    "head", [{"apiVersion": "v1", "kind": "List"}, {"apiVersion": "v1", "kind": "ConfigMapList"}]
)
async def test_a_list_is_its_items(
    keeping: Keeping, healthy: dict[str, str], head: dict[str, str]
) -> None:
    items = [keeping.placed(config_map(name)) for name in "abc"]
    await keeping.declare("web", {**head, "metadata": {}, "items": items})
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == ["ConfigMap/a", "ConfigMap/b", "ConfigMap/c"]
    assert calls.of("ConfigMap").writes == 3
    await keeping.rewrite("web", {**head, "metadata": {}, "items": items[1:]})
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b", "c") == {"b", "c"}


@pytest.mark.scenario("MR-15")
async def test_objects_land_where_their_kind_belongs(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    # Names are the test's own: "default" and what is cluster-wide are shared on a real server.
    name = f"placed-{keeping.namespace}"
    homeless = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}"
    await keeping.declare("web", homeless, cluster_role(name, namespace="elsewhere"))
    await keeping.settle()
    try:
        assert await keeping.conditions("web") == healthy
        assert await keeping.cluster.client.get(ConfigMap, Key("default", name))
        role = await keeping.find(ClusterRole, name)
        assert "namespace" not in role["metadata"]
        resources = (await keeping.status("web"))["resources"]
        assert [entry.get("namespace", "") for entry in resources] == ["default", ""]
    finally:
        await keeping.cluster.delete(keeping.kind, "web")
        await keeping.settle()


@pytest.mark.scenario("MR-15")
async def test_an_unknown_kind_is_looked_for_in_default_and_a_namespace_nowhere(
    keeping: Keeping, toys: Toys
) -> None:
    elsewhere = {"apiVersion": f"{toys.group}/v1", "kind": "Namespace", "metadata": {"name": "n"}}
    await keeping.declare("web", str(toys.toy("bear")), str(elsewhere), config_map("a"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    message = await keeping.message("web")
    assert f'error during apply of object "{toys.group}/v1/Toy/default/bear": ' in message
    if keeping.reports_objects:
        objects = {item["kind"]: item for item in (await keeping.status("web"))["objects"]}
        assert objects["Toy"]["namespace"] == "default"
        assert not objects["Namespace"].get("namespace")
    assert await keeping.exists(ConfigMap, "a") == {"a"}


@pytest.mark.scenario("MR-16")
@pytest.mark.parametrize(("written", "meant"), [("yes", True), ("on", True), ("off", False)])
async def test_scalars_are_those_of_yaml_1_1(
    keeping: Keeping, healthy: dict[str, str], written: str, *, meant: bool
) -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: a, namespace: {keeping.namespace}}}\n"
        f"immutable: {written}\ndata: {{quoted: \"{written}\", single: '{written}'}}\n"
    )
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    found = await keeping.find(ConfigMap, "a")
    assert found["immutable"] is meant
    assert found["data"] == {"quoted": written, "single": written}


@pytest.mark.scenario("MR-16")
async def test_of_duplicate_keys_the_last_wins_and_somebody_is_told(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: a, namespace: {keeping.namespace}}}\n"
        "data:\n  color: red\n  color: blue\n"
    )
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"color": "blue"}
    [note] = await keeping.events("QuestionableInput")
    assert "'color'" in note
    assert "line 6" in note


@pytest.mark.scenario("MR-17")
async def test_data_that_is_not_base64_is_the_servers_to_refuse(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a"))
    await keeping.settle()
    with pytest.raises(ApiError, match="base64"):
        await keeping.cluster.patch(Secret, "web", {"data": {"objects.yaml": "%not base64%"}})
    assert (await keeping.settle()).writes == 0
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a") == {"a"}


@pytest.mark.scenario("MR-17")
async def test_no_data_means_no_objects(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle()
    await keeping.rewrite_data("web", {})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a", "b") == set()
    assert await keeping.inventory("web") == []


@pytest.mark.scenario("MR-18")
async def test_no_secrets_mean_no_objects(keeping: Keeping, healthy: dict[str, str]) -> None:
    await keeping.install()
    await keeping.cluster.create(keeping.managed_resource("web"))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == []
    assert (await keeping.status("web"))["observedGeneration"] == 1
    assert calls.writes == 2


@pytest.mark.scenario("MR-20")
async def test_a_secret_referred_to_twice_counts_once_and_is_told(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.install()
    await keeping.cluster.create(keeping.secret_with("web", config_map("a")))
    await keeping.cluster.create(keeping.managed_resource("web", "web", "web"))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == ["ConfigMap/a"]
    assert calls.of("ConfigMap").writes == 1
    [note] = await keeping.events("QuestionableInput")
    assert f"secret '{keeping.namespace}/web' is referred to 2 times" in note


@pytest.mark.scenario("MR-20")
async def test_an_object_of_two_secrets_counts_once_and_is_told(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.install()
    for name in ("one", "two"):
        await keeping.cluster.create(keeping.secret_with(name, config_map("a")))
    await keeping.cluster.create(keeping.managed_resource("web", "one", "two"))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == ["ConfigMap/a"]
    assert calls.of("ConfigMap").writes == 1
    [note] = await keeping.events("QuestionableInput")
    assert f"ConfigMap {keeping.namespace}/a is defined 2 times" in note


@pytest.mark.scenario("MR-21")
async def test_what_is_defined_in_two_ways_is_not_written_at_all(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a", {"n": "1"}), config_map("gone"))
    await keeping.settle()
    two = {
        "y": keeping.json(config_map("a", {"n": "2"})),
        "x": keeping.json(config_map("a", {"n": "3"})) + keeping.json(config_map("good")),
    }
    await keeping.rewrite_data("web", two)
    await keeping.settle()
    message = await keeping.message("web")
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    problem = "Conflict: it is defined differently in several documents: "
    named = f'error during apply of object "v1/ConfigMap/{keeping.namespace}/a": '
    assert message.startswith(f"{named}{problem}")
    assert f"secret '{keeping.namespace}/web', x: document 1" in message.split("; ")[0]
    assert f"secret '{keeping.namespace}/web', y: document 1" in message.split("; ")[1]
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"n": "1"}
    assert await keeping.exists(ConfigMap, "gone", "good") == {"gone", "good"}
    await keeping.rewrite_data("web", dict(reversed(two.items())))
    assert (await keeping.settle()).of("ConfigMap").writes == 0
    assert await keeping.message("web") == message


@pytest.mark.scenario("MR-22")
async def test_an_inventory_that_does_not_fit_overflows(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    # Annotations are part of the inventory: 300 objects are enough for more than 1.5 MiB of it.
    note = "x" * 5000
    names = [f"cm-{number:03}" for number in range(300)]
    await keeping.install()
    for part in range(3):
        some = [config_map(name, annotations={"n": note}) for name in names[part::3]]
        await keeping.cluster.create(keeping.secret_with(f"part-{part}", *some))
    secrets = [f"part-{part}" for part in range(3)]
    await keeping.cluster.create(keeping.managed_resource("web", *secrets))
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    status = await keeping.status("web")
    assert len(status.get("resources", ())) < 300
    companions = await keeping.shards("web")
    assert await keeping.exists(ConfigMap, *companions) == set(companions)
    assert (await keeping.restart()).writes == 0

    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    assert not await keeping.cluster.list(ConfigMap, labels=keeping.label)
    await keeping.cluster.gone(ConfigMap, companions[0])


@pytest.mark.scenario("MR-22")
async def test_five_thousand_documents(embedded_keeping: Keeping, healthy: dict[str, str]) -> None:
    """Embedded: a real server takes half a minute for this, and says nothing new."""
    keeping = embedded_keeping
    await keeping.install()
    filling = "x" * 1900
    for part in range(10):
        some = [config_map(f"cm-{part}-{n:03}", {"filling": filling}) for n in range(500)]
        secret = keeping.secret_with(f"part-{part}", *some)
        assert 0.9 * 2**20 < len(secret["data"]["objects.yaml"]) * 3 / 4 < 2**20
        await keeping.cluster.create(secret)
    await keeping.cluster.create(keeping.managed_resource("web", *[f"part-{p}" for p in range(10)]))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    if keeping.reports_objects:
        assert (await keeping.status("web"))["summary"]["applied"] == 5000
    assert calls.of("ConfigMap").writes >= 5000
    assert calls.reads == 0


@pytest.mark.scenario("MR-13")
@pytest.mark.parametrize(
    ("document", "object_id", "problem"),
    [
        ("{kind: ConfigMap, metadata: {name: x}}", "", "apiVersion is missing"),
        ("{apiVersion: v1, metadata: {name: x}}", "", "kind is missing"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {}}", "v1/ConfigMap", "metadata.name is"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: 7}", "v1/ConfigMap", "metadata.name is"),
        ("{apiVersion: v1, kind: 7, metadata: {name: x}}", "", "kind is not a text"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {n: 1}}}", "/x", "labels"),
    ],
)
async def test_an_object_that_is_none_fails_alone(
    keeping: Keeping, document: str, object_id: str, problem: str
) -> None:
    await keeping.declare("web", config_map("a"), config_map("b"))
    await keeping.settle()
    await keeping.rewrite("web", document, config_map("b", {"new": "yes"}))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    message = await keeping.message("web")
    assert message.startswith('error during apply of object "')
    assert problem in message
    assert object_id in message
    assert (await keeping.find(ConfigMap, "b"))["data"] == {"new": "yes"}
    assert await keeping.exists(ConfigMap, "a") == {"a"}, "nothing is deleted while in doubt"
    if keeping.reports_objects:
        assert await applied_and_failed(keeping) == (1, 1)


async def test_a_field_that_the_server_does_not_know_is_told_and_no_failure(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    """As for any client that creates such an object."""
    odd = {**config_map("a", {"n": "1"}), "dta": {"m": "2"}}
    await keeping.declare("web", odd, config_map("b"))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert calls.of("ConfigMap").writes == 2
    [note] = await keeping.events("QuestionableInput")
    assert note == f"ConfigMap {keeping.namespace}/a: the server does not know dta and dropped it"
    assert (await keeping.settle()).writes == 0
    assert (await keeping.restart()).writes <= 1, "a new process sees that it differs, once"
    assert (await keeping.settle()).writes == 0
    await keeping.rewrite("web", {**odd, "data": {"n": "2"}}, config_map("b"))
    await keeping.settle()
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"n": "2"}
    assert await keeping.conditions("web") == healthy


@pytest.mark.parametrize("wrong", [{"data": {"n": 1}}, {"data": "text"}])
async def test_a_field_of_the_wrong_type_is_the_servers_to_refuse(
    keeping: Keeping, wrong: JsonObject
) -> None:
    await keeping.declare("web", {**config_map("bad"), **wrong}, config_map("good"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    named = f'error during apply of object "v1/ConfigMap/{keeping.namespace}/bad": '
    assert (await keeping.message("web")).startswith(named)
    assert await keeping.exists(ConfigMap, "bad", "good") == {"good"}


async def test_an_object_that_is_too_large_fails_alone(keeping: Keeping) -> None:
    large = config_map("large", {"k": Random(7).randbytes(800_000).hex()})  # noqa: S311
    await keeping.declare("web", config_map("good"))
    await keeping.settle()
    await keeping.rewrite("web", large, config_map("good"), brotli=True)
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert f"v1/ConfigMap/{keeping.namespace}/large" in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "large", "good") == {"good"}
