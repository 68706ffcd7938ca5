"""The Secret with which images are pulled: copied, followed, and never overwritten by nothing."""

import asyncio
from contextlib import suppress

import pytest
from tests.component.operators.certmanager.ibm.conftest import CM, HERE, Ibm

from certwright.kube.kinds import Pod, Secret
from certwright.testkit.cluster import DidNotSettle

RULE = {"name": "my", "namespace": "src"}
CONFIG = "kubernetes.io/dockerconfigjson"
COPY, SOURCE = f"{HERE}/my", "src/my"
ONE, TWO = {".dockerconfigjson": "e30="}, {".dockerconfigjson": "eyJhIjoxfQ=="}
MISSING = (
    'secrets "The image pull secret my does not exist in the deploy namespace cert-manager and'
    ' there was no copy pull secret found in the src namespace" not found'
)
ORIGIN = "operators.redhat.io/origin"


async def used(ibm: Ibm) -> list[str]:
    """Return the Secrets that the controller's pods name."""
    deployment = await ibm.deployment("cert-manager-controller")
    pod = deployment["spec"]["template"]["spec"]
    return [one["name"] for one in pod.get("imagePullSecrets") or ()]


async def pods(ibm: Ibm) -> set[str]:
    """Return the pods that run."""
    found = await ibm.cluster.client.list(Pod, HERE)
    return {pod["metadata"]["uid"] for pod in found.items}


@pytest.mark.scenario("CM-14")
async def test_the_secret_is_copied(ibm: Ibm) -> None:
    await ibm.secret(SOURCE, type_=CONFIG)
    await ibm.installed(pullSecret=RULE)
    copy = await ibm.find(Secret, COPY)
    assert (copy["data"], copy["type"]) == (ONE, CONFIG)
    assert copy["metadata"]["annotations"][ORIGIN] == "created"
    assert copy["metadata"]["annotations"]["pull-secret.certwright.dev/source"] == "src/my"
    assert await used(ibm) == ["my"]
    assert (await ibm.conditions())["PullSecretSynced"] == "True/Copied"


@pytest.mark.scenario("CM-15")
async def test_the_copy_follows_its_source_and_no_pod_restarts(ibm: Ibm) -> None:
    await ibm.secret(SOURCE, type_=CONFIG)
    await ibm.installed(pullSecret=RULE)
    before = await pods(ibm)
    await ibm.cluster.patch(Secret, SOURCE, {"data": TWO})
    await ibm.settle()
    assert await ibm.data(COPY) == TWO
    await ibm.advance(60)
    assert await pods(ibm) == before


async def test_metadata_of_the_source_are_not_copied(ibm: Ibm) -> None:
    await ibm.secret(SOURCE)
    await ibm.installed(pullSecret=RULE)
    await ibm.cluster.patch(Secret, SOURCE, {"metadata": {"labels": {"a": "b"}}})
    assert (await ibm.settle()).writes == 0


@pytest.mark.scenario("CM-16")
async def test_a_secret_of_the_user_is_updated_and_survives(ibm: Ibm) -> None:
    await ibm.secret(SOURCE, type_=CONFIG)
    await ibm.secret(COPY, "bm8=", type_=CONFIG, theirs="yes")
    await ibm.installed(pullSecret=RULE)
    found = await ibm.find(Secret, COPY)
    assert found["data"] == ONE
    assert found["metadata"]["labels"]["theirs"] == "yes"
    assert found["metadata"]["annotations"][ORIGIN] == "adopted"
    await ibm.cluster.delete(CM, "default")
    await ibm.advance(120)
    assert await ibm.find(CM, "default") is None
    found = await ibm.find(Secret, COPY)
    assert found["data"] == ONE
    assert found["metadata"]["labels"] == {"theirs": "yes"}
    assert ORIGIN not in (found["metadata"].get("annotations") or {})


@pytest.mark.scenario("CM-17")
async def test_without_any_secret_nothing_runs(ibm: Ibm) -> None:
    await ibm.declare(pullSecret=RULE)
    await ibm.advance(60)
    assert await ibm.events("PrereqsFailed") == [MISSING]
    assert await ibm.deployment("cert-manager-controller") is None
    assert await ibm.deployment("configmap-watcher") is None
    assert await ibm.text() == "Error deploying cert-manager, prereqs not met"
    assert (await ibm.conditions())["PullSecretSynced"] == "False/PullSecretMissing"


@pytest.mark.scenario("CM-18")
async def test_the_installation_goes_on_as_soon_as_the_secret_appears(ibm: Ibm) -> None:
    await ibm.declare(pullSecret=RULE)
    await ibm.advance(1800)
    await ibm.secret(SOURCE)
    await ibm.settle()  # no time passes
    assert await ibm.data(COPY) == ONE
    assert await ibm.deployment("cert-manager-controller")


@pytest.mark.scenario("CM-19")
async def test_a_secret_without_source_is_left_as_it_is(ibm: Ibm) -> None:
    await ibm.secret(COPY, theirs="yes")
    before = await ibm.find(Secret, COPY)
    await ibm.installed(pullSecret={"name": "my"})
    assert await ibm.find(Secret, COPY) == before
    assert await used(ibm) == ["my"]


@pytest.mark.scenario("CM-20")
@pytest.mark.parametrize("code", [403, 503])
async def test_a_source_that_cannot_be_read_overwrites_nothing(ibm: Ibm, code: int) -> None:
    await ibm.secret(SOURCE)
    await ibm.installed(pullSecret=RULE)
    await ibm.cluster.stop()
    await ibm.cluster.patch(Secret, SOURCE, {"data": TWO})
    ibm.refuses.update({(verb, "Secret", "src/secrets"): code for verb in ("list", "watch")})
    ibm.running = None
    with suppress(DidNotSettle):  # it cannot see the Secret
        await ibm.settle()
    await asyncio.sleep(120)
    assert await ibm.data(COPY) == ONE
    assert (await ibm.conditions())["PullSecretSynced"] == "False/PullSecretUnreadable"
    assert SOURCE in await ibm.message("PullSecretSynced")


async def test_an_empty_source_overwrites_nothing(ibm: Ibm) -> None:
    await ibm.secret(SOURCE)
    await ibm.installed(pullSecret=RULE)
    await ibm.cluster.patch(Secret, SOURCE, {"data": {".dockerconfigjson": None}})
    await ibm.advance(60)
    assert await ibm.data(COPY) == ONE
    assert "is empty" in await ibm.message("PullSecretSynced")


async def test_a_source_that_is_deleted_leaves_its_copy(ibm: Ibm) -> None:
    await ibm.secret(SOURCE)
    await ibm.installed(pullSecret=RULE)
    await ibm.cluster.delete(Secret, SOURCE)
    await ibm.advance(60)
    assert await ibm.data(COPY) == ONE
    assert len(await ibm.events("PullSecretSourceMissing")) == 1
    assert (await ibm.conditions())["Ready"] == "True/Deployed"


@pytest.mark.scenario("CM-21")
async def test_without_a_rule_and_a_secret_there_are_no_pull_secrets(ibm: Ibm) -> None:
    await ibm.installed()
    assert await used(ibm) == []
    assert (await ibm.conditions())["PullSecretSynced"] == "True/NotConfigured"


async def test_without_a_rule_the_usual_secret_is_used(ibm: Ibm) -> None:
    await ibm.secret(f"{HERE}/image-pull-secret")
    await ibm.installed()
    assert await used(ibm) == ["image-pull-secret"]


@pytest.mark.scenario("CM-22")
async def test_the_same_namespace_is_no_source(ibm: Ibm) -> None:
    await ibm.secret(COPY)
    before = await ibm.find(Secret, COPY)
    await ibm.installed(pullSecret={"name": "my", "namespace": HERE})
    assert await ibm.find(Secret, COPY) == before
    assert await used(ibm) == ["my"]


@pytest.mark.scenario("CM-23")
async def test_a_source_of_another_type_is_copied_anew(ibm: Ibm) -> None:
    await ibm.secret(SOURCE)
    await ibm.installed(pullSecret=RULE)
    before = await ibm.find(Secret, COPY)
    await ibm.cluster.delete(Secret, SOURCE)
    await ibm.secret(SOURCE, type_=CONFIG)
    await ibm.advance(10)
    after = await ibm.find(Secret, COPY)
    assert (before["type"], after["type"]) == ("Opaque", CONFIG)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_a_copy_that_is_not_wanted_any_more_goes(ibm: Ibm) -> None:
    await ibm.secret(SOURCE)
    await ibm.installed(pullSecret=RULE)
    await ibm.change(pullSecret=None)
    await ibm.advance(30)
    assert await ibm.find(Secret, COPY) is None
    assert await used(ibm) == []
    assert await ibm.data(SOURCE) == ONE
