"""Which CertManagers count, what is written first, and what is not written at all."""

import pytest
from tests.component.operators.certmanager.ibm.conftest import CM, FINALIZER, HERE, Ibm

from certwright.kube.kinds import ClusterRole, Deployment, Lease, Namespace

NOT_ALLOWED = "Only one CR named default is allowed"


@pytest.mark.scenario("CM-1")
async def test_without_a_certmanager_nothing_happens(
    ibm: Ibm, capsys: pytest.CaptureFixture[str]
) -> None:
    await ibm.cluster.create(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "cert-manager-install-claim", "namespace": "kube-system"},
            "spec": {"holderIdentity": "CertManager/default/of-long-ago"},
        }
    )
    calls = [*await ibm.settle(), *await ibm.advance(60)]
    assert not [call for call in calls if call.verb in {"create", "update", "patch", "delete"}]
    assert await ibm.find(Namespace, HERE) is None
    assert "error" not in capsys.readouterr().out.lower()


@pytest.mark.scenario("CM-2")
async def test_another_name_is_refused_once(ibm: Ibm) -> None:
    await ibm.declare("foo", enableWebhook=True)
    await ibm.settle()
    calls = await ibm.advance(1800)
    assert len(calls) == calls.watches
    assert await ibm.find(Namespace, HERE) is None
    assert await ibm.events("Not Allowed") == [NOT_ALLOWED]
    found = await ibm.find(CM, "foo")
    assert "finalizers" not in found["metadata"]
    assert await ibm.conditions("foo") == {"Ready": "False/NameNotAllowed"}


async def test_another_name_with_our_finalizer_loses_it(ibm: Ibm) -> None:
    await ibm.declare("foo")
    await ibm.cluster.patch(CM, "foo", {"metadata": {"finalizers": [FINALIZER]}})
    await ibm.settle()
    assert "finalizers" not in (await ibm.find(CM, "foo"))["metadata"]


@pytest.mark.scenario("CM-3")
async def test_only_one_of_two_counts(ibm: Ibm) -> None:
    await ibm.declare("foo")
    await ibm.settle()
    await ibm.installed()
    await ibm.cluster.delete(CM, "foo")
    calls = await ibm.advance(60)
    assert calls.writes == 0
    assert await ibm.find(CM, "foo") is None
    assert await ibm.deployment("cert-manager-controller")
    assert (await ibm.conditions())["Ready"] == "True/Deployed"


@pytest.mark.scenario("CM-4")
async def test_the_finalizer_comes_before_all_other_writes(ibm: Ibm) -> None:
    await ibm.declare()
    calls = await ibm.settle()
    first = next(call for call in calls if call.verb in {"create", "patch", "update"})
    assert first.resource == CM
    assert b"finalizers" in (first.body or b"")
    assert FINALIZER.encode() in (first.body or b"")
    assert (await ibm.find(CM, "default"))["metadata"]["finalizers"] == [FINALIZER]


@pytest.mark.scenario("CM-5")
async def test_a_certmanager_that_vanishes_ends_quietly(
    ibm: Ibm, capsys: pytest.CaptureFixture[str]
) -> None:
    await ibm.declare("foo")
    await ibm.settle()
    capsys.readouterr()
    await ibm.cluster.delete(CM, "foo")
    calls = await ibm.advance(600)
    assert calls.writes == 0
    passes = [one for one in capsys.readouterr().out.splitlines() if "Reconciling" in one]
    assert len(passes) == 1
    assert await ibm.find(Lease, "kube-system/cert-manager-install-claim") is None


@pytest.mark.scenario("CM-6")
@pytest.mark.parametrize("webhook", [False, True])
async def test_a_stable_installation_costs_no_writes(ibm: Ibm, webhook: bool) -> None:  # noqa: FBT001
    await ibm.installed(enableWebhook=webhook)
    told = await ibm.told()
    for number in range(100):
        mark = {"metadata": {"annotations": {"example.com/pass": str(number)}}}
        await ibm.cluster.patch(CM, "default", mark)  # wakes it
        assert (await ibm.settle()).writes == 0
    assert (await ibm.advance(1800)).writes == 0
    assert (await ibm.restart()).writes == 0
    assert await ibm.told() == told


async def test_objects_say_that_they_were_created(ibm: Ibm) -> None:
    await ibm.installed()
    for kind, name in ((ClusterRole, "cert-manager"), (Deployment, f"{HERE}/configmap-watcher")):
        annotations = (await ibm.find(kind, name))["metadata"]["annotations"]
        assert annotations["operators.redhat.io/origin"] == "created"
