"""What the spec and annotations say about how objects are kept, as far as the server sees it."""

import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, RoleBinding, StatefulSet
from certwright.testkit.builders import config_map, stateful_set

PREFIX = "resources.gardener.cloud"
RECREATE = f"{PREFIX}/delete-on-invalid-update"
PROPAGATION = f"{PREFIX}/deletion-propagation-on-invalid-update"


@pytest.mark.scenario("MR-25")
@pytest.mark.parametrize("force", [True, False])
async def test_what_others_wrote_on_an_object_stays_unless_it_is_overwritten(
    keeping: Keeping, *, force: bool
) -> None:
    forced = {"forceOverwriteLabels": force, "forceOverwriteAnnotations": force}
    wanted = config_map("a", labels={"ours": "yes"}, annotations={"ours": "yes"})
    await keeping.declare("web", wanted, **forced)
    await keeping.settle()
    theirs = {"metadata": {"labels": {"theirs": "yes"}, "annotations": {"theirs": "yes"}}}
    await keeping.cluster.patch(ConfigMap, "a", theirs)
    await keeping.settle()
    metadata = (await keeping.find(ConfigMap, "a"))["metadata"]
    for kind in ("labels", "annotations"):
        assert metadata[kind]["ours"] == "yes"
        assert ("theirs" in metadata[kind]) is not force
    assert {f"{PREFIX}/origin", f"{PREFIX}/description"} <= set(metadata["annotations"])
    assert (await keeping.restart()).writes == 0


@pytest.mark.scenario("MR-26")
async def test_a_label_that_is_no_longer_wanted_goes(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", config_map("a", labels={"old": "yes", "stays": "yes"}))
    await keeping.settle()
    await keeping.rewrite("web", config_map("a", labels={"stays": "yes"}))
    await keeping.settle()
    labels = (await keeping.find(ConfigMap, "a"))["metadata"]["labels"]
    assert "old" not in labels
    assert labels["stays"] == "yes"
    assert await keeping.conditions("web") == healthy


def claims(obj: JsonObject, size: str) -> JsonObject:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }
    return {**obj, "spec": {**obj["spec"], "volumeClaimTemplates": [claim]}}


@pytest.mark.scenario("MR-36")
async def test_a_change_that_cannot_be_made_is_ignored_and_told(keeping: Keeping) -> None:
    await keeping.declare("web", claims(stateful_set("db"), "1Gi"))
    await keeping.settle()
    await keeping.rewrite("web", claims(stateful_set("db", replicas=3), "2Gi"))
    await keeping.settle()
    spec = (await keeping.find(StatefulSet, "db"))["spec"]
    [claim] = spec["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    assert spec["replicas"] == 3
    assert (await keeping.conditions("web"))["Applied"] == "True/ApplySucceeded"
    [note] = await keeping.events("QuestionableInput")
    assert "volumeClaimTemplates" in note


def binding(role: str, **annotations: str) -> JsonObject:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "annotations": annotations},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": [],
    }


@pytest.mark.scenario("MR-44")
async def test_a_reference_to_another_role_needs_leave_to_recreate(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    await keeping.declare("web", binding("one"), config_map("a"))
    await keeping.settle()
    before = (await keeping.find(RoleBinding, "b"))["metadata"]["uid"]
    await keeping.rewrite("web", binding("two"), config_map("a", {"n": "2"}))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    id_ = f"rbac.authorization.k8s.io/v1/RoleBinding/{keeping.namespace}/b"
    assert f'error during apply of object "{id_}": ' in await keeping.message("web")
    assert (await keeping.find(ConfigMap, "a"))["data"] == {"n": "2"}

    bogus = binding("two", **{RECREATE: "true", PROPAGATION: "Bogus"})
    await keeping.rewrite("web", bogus, config_map("a"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert '"Bogus" is invalid, supported values: [Background Foreground Orphan]' in (
        await keeping.message("web")
    )
    assert (await keeping.find(RoleBinding, "b"))["metadata"]["uid"] == before

    await keeping.rewrite("web", binding("two", **{RECREATE: "true"}), config_map("a"))
    await keeping.settle()
    found = await keeping.find(RoleBinding, "b")
    assert found["roleRef"]["name"] == "two"
    assert found["metadata"]["uid"] != before
    assert await keeping.conditions("web") == healthy
