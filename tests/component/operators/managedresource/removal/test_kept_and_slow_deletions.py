"""What stays when it is no longer wanted, what takes its time, and whose business it is."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Deployment, ServiceAccount
from certwright.operators.managedresource.configuration import GarbageCollectorSettings
from certwright.testkit.builders import config_map, deployment, namespace

PREFIX = "resources.gardener.cloud"
OURS = "resources.certwright.dev"
FINALIZER = f"{PREFIX}/gardener-resource-manager"
COLLECTABLE = {f"{PREFIX}/garbage-collectable-reference": "true"}
HOLD = ["example.com/hold"]


async def remove_from_input(keeping: Keeping) -> None:
    await keeping.change("web", secretRefs=[])


async def delete(keeping: Keeping) -> None:
    await keeping.cluster.delete(keeping.kind, "web")


@pytest.mark.parametrize("leave", [remove_from_input, delete])
async def test_an_object_to_be_kept_stays(
    keeping: Keeping, healthy: dict[str, str], leave: Callable[..., Awaitable[Any]]
) -> None:
    kept = config_map("kept", annotations={f"{PREFIX}/keep-object": "true"})
    await keeping.declare("web", kept, config_map("other"))
    await keeping.settle()
    await leave(keeping)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "kept", "other") == {"kept"}
    if leave is delete:
        await keeping.cluster.gone(keeping.kind, "web")
    else:
        assert await keeping.conditions("web") == healthy


@pytest.mark.parametrize("leave", [remove_from_input, delete])
@pytest.mark.parametrize(
    ("collector", "collected"),
    [
        (GarbageCollectorSettings(enabled=True), True),
        (GarbageCollectorSettings(), False),
        (GarbageCollectorSettings(enabled=True, sync_period=timedelta()), False),
    ],
    ids=["enabled", "disabled", "never runs"],
)
async def test_what_the_garbage_collector_decides_about_is_left_to_it(
    keeping: Keeping,
    leave: Callable[..., Awaitable[Any]],
    collector: GarbageCollectorSettings,
    *,
    collected: bool,
) -> None:
    account: JsonObject = {"apiVersion": "v1", "kind": "ServiceAccount"}
    account["metadata"] = {"name": "sa", "labels": COLLECTABLE}
    keeping.running = keeping.operator(garbage_collector=collector)
    await keeping.declare("web", config_map("cm", labels=COLLECTABLE), account)
    await keeping.settle()
    await leave(keeping)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "cm") == ({"cm"} if collected else set())
    assert await keeping.exists(ServiceAccount, "sa") == set(), "only ConfigMaps and Secrets"


async def test_finalizers_are_cleared_after_their_time_and_not_before(
    embedded_keeping: Keeping,
) -> None:
    """Embedded, for the hour that has to pass."""
    keeping = embedded_keeping
    marks = {f"{PREFIX}/finalize-deletion-after": "1h"}
    await keeping.declare("web", config_map("stuck", annotations=marks))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "stuck", {"metadata": {"finalizers": HOLD}})
    await keeping.settle()
    await remove_from_input(keeping)
    await keeping.settle()
    await keeping.cluster.advance(minutes=59, seconds=50)
    assert await keeping.exists(ConfigMap, "stuck") == {"stuck"}
    assert (await keeping.conditions("web"))["Applied"] == "Progressing/DeletionPending"
    await keeping.cluster.advance(seconds=30)
    assert await keeping.exists(ConfigMap, "stuck") == set()
    assert (await keeping.conditions("web"))["Applied"] == "True/ApplySucceeded"


async def test_another_class_is_somebody_elses_business(keeping: Keeping) -> None:
    await keeping.declare("web", config_map("a"), **{"class": "theirs"})
    calls = await keeping.settle()
    assert calls.writes == 0
    assert await keeping.exists(ConfigMap, "a") == set()
    assert await keeping.conditions("web") == {}


async def test_what_another_class_has_not_let_go_of_is_waited_for(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    theirs = f"{FINALIZER}-theirs"
    await keeping.install()
    await keeping.cluster.create(keeping.secret_with("web", config_map("a")))
    resource = keeping.managed_resource("web", "web", **{"class": "theirs"})
    resource["metadata"]["finalizers"] = [theirs]
    await keeping.cluster.create(resource)
    await keeping.settle()
    await keeping.change("web", **{"class": None})
    calls = await keeping.settle()
    assert calls.writes == 0
    assert (await keeping.get("web"))["metadata"]["finalizers"] == [theirs]
    await keeping.cluster.patch(keeping.kind, "web", {"metadata": {"finalizers": None}})
    await keeping.settle()
    assert (await keeping.get("web"))["metadata"]["finalizers"] == [FINALIZER]
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    assert await keeping.conditions("web") == healthy


@pytest.mark.parametrize("never", ["0", "0s"])
async def test_finalizers_are_never_cleared_after_no_time(
    embedded_keeping: Keeping, never: str
) -> None:
    """Embedded, for the time that has to pass."""
    keeping = embedded_keeping
    marks = {f"{PREFIX}/finalize-deletion-after": never}
    await keeping.declare("web", config_map("stuck", annotations=marks, finalizers=HOLD))
    await keeping.settle()
    await delete(keeping)
    await keeping.settle()
    await keeping.cluster.advance(minutes=10)
    assert await keeping.exists(ConfigMap, "stuck") == {"stuck"}


async def test_what_lingers_holds_back_only_what_it_needs(keeping: Keeping) -> None:
    await keeping.declare("web", deployment("slow"), config_map("used"), config_map("stuck"))
    elsewhere = f"{keeping.namespace}-else"
    await keeping.cluster.install(namespace(elsewhere))
    await keeping.declare("other", config_map("free", namespace=elsewhere), deployment("slow2"))
    await keeping.settle()
    for name in ("slow", "slow2"):
        await keeping.cluster.patch(Deployment, name, {"metadata": {"finalizers": HOLD}})
    await keeping.cluster.delete(keeping.kind, "web")
    await keeping.cluster.delete(keeping.kind, "other")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "used", "stuck") == {"used", "stuck"}
    assert await keeping.find(ConfigMap, f"{elsewhere}/free") is None
    assert f"waits for Deployment {keeping.namespace}/slow" in await keeping.message("web")
    for name in ("slow", "slow2"):
        await keeping.cluster.patch(Deployment, name, {"metadata": {"finalizers": None}})
    await keeping.cluster.gone(keeping.kind, "web")
    await keeping.cluster.gone(keeping.kind, "other")
    assert await keeping.exists(ConfigMap, "used", "stuck") == set()


@pytest.mark.parametrize("when", ["before", "later"])
async def test_what_holds_up_a_deletion_is_forced_on_request(
    embedded_keeping: Keeping, when: str
) -> None:
    """Embedded, for the time it is given. Objects of others are theirs to release."""
    keeping = embedded_keeping
    force = f"{OURS}/force-delete"
    await keeping.declare("web", config_map("stuck"), config_map("lost"), config_map("quick"))
    await keeping.settle()
    await keeping.cluster.patch(ConfigMap, "stuck", {"metadata": {"finalizers": HOLD}})
    marks = {f"{PREFIX}/origin": "elsewhere:a/b"}
    label = {f"{PREFIX}/managed-by": "elsewhere"}
    theirs = config_map("lost", finalizers=HOLD, annotations=marks, labels=label)
    await keeping.cluster.apply(theirs, field_manager="certwright:elsewhere")
    if when == "before":
        await keeping.annotate("web", force, "true")
    await delete(keeping)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "stuck", "lost", "quick") == {"stuck", "lost"}
    if when == "later":
        await keeping.cluster.advance(minutes=5)
        assert await keeping.exists(ConfigMap, "stuck") == {"stuck"}
        await keeping.annotate("web", force, "true")
        await keeping.settle()
    else:
        await keeping.cluster.advance(seconds=9)
        assert await keeping.exists(ConfigMap, "stuck") == {"stuck"}, "it has ten seconds"
        await keeping.cluster.advance(seconds=10)
    assert await keeping.exists(ConfigMap, "stuck") == set()
    assert await keeping.find(keeping.kind, "web") is None
    lost = (await keeping.find(ConfigMap, "lost"))["metadata"]
    assert (lost["finalizers"], "deletionTimestamp" in lost) == (HOLD, False)
