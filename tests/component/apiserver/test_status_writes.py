from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api

from certwright.kube import JsonObject

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"


def test_a_status_that_loses_all_it_had_by_apply_is_refused(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))
    applied = {**widget("a"), "status": {"size": 1}}
    del applied["spec"]
    assert api.apply(f"{widgets}/a/status", applied, fieldManager="me").status == 200

    refusal = api.apply(f"{widgets}/a/status", {**applied, "status": {}}, fieldManager="me")

    assert refusal.status == 422
    assert refusal.body["details"]["causes"][0]["field"] == "status"


def test_a_status_of_the_wrong_type_is_described_from_within(
    api: Api, widgets: str, widget: Callable[..., Any]
) -> None:
    api.create(widgets, widget("a"))

    refusal = api.merge(f"{widgets}/a/status", {"status": {"size": "x"}})

    (cause,) = refusal.body["details"]["causes"]
    assert cause["field"] == "status.size"
    assert cause["message"].endswith(': size in body must be of type integer: "string"')


def deployment() -> JsonObject:
    labels = {"app": "a"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2}, []),
        ({"replicas": 1, "readyReplicas": 2}, ["status.readyReplicas"]),
        ({"replicas": 2, "readyReplicas": 1, "availableReplicas": 2}, ["status.availableReplicas"]),
        ({"observedGeneration": -1}, ["status.observedGeneration"]),
    ],
)
def test_a_deployment_counts_its_replicas_soberly(
    api: Api, status: JsonObject, fields: list[str]
) -> None:
    api.create(DEPLOYMENTS, deployment())

    answer = api.merge(f"{DEPLOYMENTS}/a/status", {"status": status})

    causes = answer.body.get("details", {}).get("causes", [])
    assert [cause["field"] for cause in causes] == fields
    assert answer.status == (422 if fields else 200)


def service(**spec: Any) -> JsonObject:
    metadata = {"name": "a"}
    spec = {"ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("type_", "status"), [("ClusterIP", 422), ("LoadBalancer", 200)])
def test_only_load_balancers_have_an_entrance(api: Api, type_: str, status: int) -> None:
    api.create(SERVICES, service(type=type_))
    entrance = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}

    assert api.merge(f"{SERVICES}/a/status", {"status": entrance}).status == status


def test_wishes_of_headless_services_that_do_nothing_are_warned_about(api: Api) -> None:
    wish = service(clusterIP="None", sessionAffinity="ClientIP", selector={"a": "b"})

    answer = api.create(SERVICES, wish)

    warning = '299 - "spec.SessionAffinity is ignored for headless services"'
    assert answer.headers["warning"] == warning


def test_a_headless_service_that_finds_pods_has_one_family(api: Api) -> None:
    api.create(SERVICES, service(clusterIP="None"))

    refusal = api.merge(f"{SERVICES}/a", {"spec": {"selector": {"a": "b"}}})

    fields = [cause["field"] for cause in refusal.body["details"]["causes"]]
    assert fields == ["spec.ipFamilyPolicy", "spec.ipFamilies[1]"]
