"""What cannot be done as asked is refused or reported, and stops nothing else."""

import pytest
from tests.component.operators.discoveryservice.service.conftest import DS, Serving

from certwright.kube import ApiError
from certwright.kube.kinds import Deployment, Service


@pytest.mark.scenario("DS-37")
async def test_of_two_the_older_is_served(serving: Serving) -> None:
    await serving.served("a")
    await serving.namespace("b")
    await serving.cluster.advance(seconds=2)
    await serving.declare("b", name="younger")
    await serving.advance(30)
    old, new = await serving.conditions(), await serving.conditions("younger")
    assert (old["Ready"], old["Conflict"]) == ("True/Serving", "True/MoreThanOne")
    assert (new["Ready"], new["Conflict"]) == ("False/Conflict", "True/MoreThanOne")
    assert "younger" in await serving.message("Conflict")
    assert "x, the oldest, is served" in await serving.message("Conflict", "younger")
    assert await serving.is_injected("a")
    assert await serving.find(Deployment, "infra/marin3r-younger") is None
    await serving.cluster.delete(DS, "younger")
    await serving.advance(30)
    assert (await serving.conditions())["Conflict"] == "False/NoOther"
    assert await serving.find(Deployment, "infra/marin3r-x") is not None


@pytest.mark.scenario("DS-37")
async def test_the_younger_follows_when_the_older_is_gone(serving: Serving) -> None:
    await serving.served("a")
    await serving.cluster.advance(seconds=2)
    await serving.declare("a", name="younger")
    await serving.settle()
    await serving.cluster.delete(DS, "x")
    await serving.until_ready("younger")
    assert (await serving.conditions("younger"))["Conflict"] == "False/NoOther"
    assert (await serving.labels("a"))["discovery-service"] == "younger"


@pytest.mark.scenario("DS-42", "DS-43")
@pytest.mark.parametrize(
    ("annotations", "says"),
    [
        ({}, "annotation marin3r.3scale.net/node-id is missing"),
        ({"node_id": ""}, "annotation marin3r.3scale.net/node-id is empty"),
        ({"node_id": "a", "ports": "http:80"}, "'http:80': port 80 is not between"),
        ({"node_id": "a", "ports": "a:4000i"}, "'4000i' is not a port"),
    ],
)
async def test_a_pod_that_cannot_be_injected_is_denied(
    serving: Serving, annotations: dict[str, str], says: str
) -> None:
    await serving.served("a")
    with pytest.raises(ApiError) as denied:
        await serving.pod("a", **annotations)
    assert denied.value.status_code == 400
    assert says in denied.value.message


@pytest.mark.scenario("DS-46")
async def test_old_names_are_honoured_and_reported(serving: Serving) -> None:
    await serving.served(
        "a",
        xdsPort=19001,
        ServiceConfig={"name": "xds", "type": "ClusterIP"},
        pkiConfg={"serverCertificate": {"secretName": "own-cert", "duration": "100h"}},
    )
    service = await serving.find(Service, "infra/xds")
    assert {one["name"]: one["port"] for one in service["spec"]["ports"]}["discovery"] == 19001
    deployment = await serving.find(Deployment, "infra/marin3r-x")
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert {one["secret"]["secretName"] for one in volumes} == {"own-cert"}
    found = set((await serving.status())["deprecatedFields"])
    assert found == {"spec.xdsPort", "spec.ServiceConfig", "spec.pkiConfg"}


async def test_the_namespace_of_the_control_plane_may_come_later(serving: Serving) -> None:
    await serving.namespace("a")
    await serving.declare("a")
    await serving.advance(30)
    assert (await serving.conditions())["Ready"] == "False/NamespaceNotFound"
    assert "namespace infra" in await serving.message("Ready")
    await serving.namespace("infra")
    await serving.until_ready()


async def test_what_the_server_refuses_is_named(serving: Serving) -> None:
    await serving.served("a")
    await serving.change(resources={"limits": {"memory": "much"}})
    await serving.advance(30)
    assert (await serving.conditions())["Ready"] == "False/ApplyFailed"
    assert "Deployment" in await serving.message("Ready")
    assert await serving.is_injected("a")
    await serving.change(resources=None)
    await serving.until_ready()
