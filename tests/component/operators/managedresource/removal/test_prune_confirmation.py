"""Deletions that somebody has to agree to, or that do not get on."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, PersistentVolumeClaim, StatefulSet
from certwright.testkit.builders import config_map, stateful_set

PREFIX = "resources.gardener.cloud"
CONFIRM = "resources.certwright.dev/confirm-prune"
HOLD = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASE = {"metadata": {"finalizers": None}}
NAMES = [f"cm-{number:02}" for number in range(12)]


@pytest.mark.scenario("MR-70")
@pytest.mark.parametrize("answer", ["true", "7"])
async def test_a_sudden_loss_of_most_objects_has_to_be_confirmed(
    keeping: Keeping, healthy: dict[str, str], answer: str
) -> None:
    await keeping.declare("web", *map(config_map, NAMES))
    await keeping.settle()
    await keeping.rewrite("web", *map(config_map, NAMES[:5]), config_map("new"))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, *NAMES, "new") == {*NAMES, "new"}
    assert (await keeping.conditions("web"))["Applied"] == "Progressing/DeletionPending"
    assert len(await keeping.inventory("web")) == 13
    assert f"{CONFIRM}=7" in await keeping.message("web")
    assert all(f"{CONFIRM}=7" in note for note in await keeping.events("PruneUnconfirmed"))
    assert await keeping.events("PruneUnconfirmed")
    await keeping.annotate("web", CONFIRM, answer)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, *NAMES, "new") == {*NAMES[:5], "new"}
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-70")
async def test_what_has_to_be_confirmed_still_has_to_be_after_another_pass(
    keeping: Keeping,
) -> None:
    await keeping.declare("web", *map(config_map, NAMES))
    await keeping.settle()
    await keeping.rewrite("web", *[config_map(f"other-{name}") for name in NAMES])
    await keeping.settle()
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES)
    for _ in range(2):
        await keeping.restart()
        assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES)
        assert (await keeping.conditions("web"))["Applied"] == "Progressing/DeletionPending"


@pytest.mark.scenario("MR-70")
@pytest.mark.parametrize(("before", "after"), [(12, 6), (9, 0)])
async def test_half_of_many_or_all_of_a_few_may_go(
    keeping: Keeping, healthy: dict[str, str], before: int, after: int
) -> None:
    await keeping.declare("web", *map(config_map, NAMES[:before]))
    await keeping.settle()
    await keeping.rewrite("web", *map(config_map, NAMES[:after]))
    await keeping.settle()
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES[:after])
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-59")
async def test_what_holds_an_object_is_named_with_its_age(embedded_keeping: Keeping) -> None:
    """Embedded, for the time."""
    keeping = embedded_keeping
    await keeping.declare("web", config_map("held"), config_map("stays"))
    await keeping.settle()
    finalizers = {"metadata": {"finalizers": ["example.com/hold"]}}
    await keeping.cluster.patch(ConfigMap, "held", finalizers)
    await keeping.settle()
    await keeping.rewrite("web", config_map("stays"))
    await keeping.settle()
    await keeping.cluster.advance(minutes=5)
    message = await keeping.message("web")
    pending = f'deletion of old resource "v1/ConfigMap/{keeping.namespace}/held" is still pending'
    assert f"{pending}: " in message
    assert "example.com/hold" in message
    assert "5m" in message or "4m" in message


def with_claims(obj: JsonObject) -> JsonObject:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return {**obj, "spec": {**obj["spec"], "volumeClaimTemplates": [claim]}}


def claim_of(name: str, app: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


@pytest.mark.scenario("MR-62")
@pytest.mark.parametrize(("along", "left"), [(True, {"other"}), (False, {"data-db-0", "other"})])
async def test_volumes_go_with_their_stateful_set_if_the_spec_says_so(
    keeping: Keeping, *, along: bool, left: set[str]
) -> None:
    database = with_claims(stateful_set("db"))
    await keeping.declare("web", database, deletePersistentVolumeClaims=along)
    await keeping.settle()
    await keeping.cluster.create(claim_of("data-db-0", "db"))
    await keeping.cluster.create(claim_of("other", "other"))
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    await keeping.cluster.gone(StatefulSet, "db")
    await keeping.cluster.gone(keeping.kind, "web")
    claims = await keeping.cluster.list(PersistentVolumeClaim)
    # Claims are protected; those that were deleted may linger.
    kept = {c["metadata"]["name"] for c in claims if "deletionTimestamp" not in c["metadata"]}
    assert kept == left


async def test_volumes_go_with_a_stateful_set_that_is_going_already(keeping: Keeping) -> None:
    database = with_claims(stateful_set("db"))
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await keeping.declare("web", database, deletePersistentVolumeClaims=True)
    await keeping.settle()
    await keeping.cluster.create(claim_of("data-db-0", "db"))
    await keeping.cluster.patch(StatefulSet, "db", held)
    await keeping.cluster.stop()
    await keeping.cluster.delete(StatefulSet, "db")
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.settle()
    claims = await keeping.cluster.list(PersistentVolumeClaim)
    assert all("deletionTimestamp" in claim["metadata"] for claim in claims)
    await keeping.cluster.patch(StatefulSet, "db", {"metadata": {"finalizers": None}})
    await keeping.cluster.gone(keeping.kind, "web")


@pytest.mark.scenario("MR-70")
@pytest.mark.parametrize("answer", ["true", "12"])
async def test_a_confirmation_holds_for_one_deletion(
    keeping: Keeping, healthy: dict[str, str], answer: str
) -> None:
    await keeping.declare("web", *map(config_map, NAMES))
    await keeping.settle()
    await keeping.annotate("web", CONFIRM, answer)
    await keeping.rewrite("web", *map(config_map, NAMES[:11]))  # nothing that needs it
    await keeping.settle()
    assert CONFIRM in (await keeping.get("web"))["metadata"]["annotations"]
    await keeping.rewrite("web", *map(config_map, NAMES[:5]))
    calls = await keeping.settle()
    assert CONFIRM not in (await keeping.get("web"))["metadata"]["annotations"]
    assert calls.of("ManagedResource").writes == 3
    assert await keeping.conditions("web") == healthy
    others = [f"other-{name}" for name in NAMES]
    await keeping.rewrite("web", *map(config_map, others))
    await keeping.settle()
    await keeping.rewrite("web")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, *others) == set(others)


@pytest.mark.scenario("MR-70")
async def test_what_lingers_was_confirmed_and_what_goes_later_was_not(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", *map(config_map, NAMES))
    await keeping.settle()
    for name in NAMES[5:]:
        await keeping.cluster.patch(ConfigMap, name, HOLD)
    await keeping.annotate("web", CONFIRM, "true")
    await keeping.rewrite("web", *map(config_map, NAMES[:5]))
    await keeping.settle()
    assert CONFIRM not in (await keeping.get("web"))["metadata"]["annotations"]
    await keeping.restart()
    assert "is still pending" in await keeping.message("web")
    for name in NAMES[5:]:
        await keeping.cluster.patch(ConfigMap, name, RELEASE)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, *NAMES) == set(NAMES[:5])
    assert await keeping.conditions("web") == healthy
