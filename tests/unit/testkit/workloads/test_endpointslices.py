"""The slices and Endpoints of a Service, from the pods it selects."""

from typing import Any

from certwright.testkit.workloads.endpointslices import SlicePlan, decide_slices, endpoints_of


def service(**spec: Any) -> dict[str, Any]:
    ports = [{"name": "web", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    return {
        "metadata": {"name": "web", "namespace": "default", "labels": {"team": "a"}},
        "spec": {"clusterIP": "10.0.0.1", "ports": ports, "ipFamilies": ["IPv4"], **spec},
    }


def pod(number: int, *, ready: bool = True, port: int = 8080, **metadata: Any) -> dict[str, Any]:
    name = f"web-{number:03}"
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    container = {"ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}]}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, **metadata},
        "spec": {"nodeName": "n", "containers": [container]},
        "status": {"phase": "Running", "podIP": f"10.1.0.{number}", "conditions": [condition]},
    }


def stored(plan: SlicePlan) -> list[dict[str, Any]]:
    """Return what a plan makes as if it had been created."""
    return [{**each, "metadata": {**each["metadata"], "name": "s"}} for each in plan.create]


def test_pods_become_endpoints() -> None:
    plan = decide_slices(service(), [], [pod(1), pod(2, ready=False)])
    [created] = plan.create
    assert created["metadata"]["labels"] == {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert created["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    first, second = created["endpoints"]
    assert first == {
        "addresses": ["10.1.0.1"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "targetRef": {"kind": "Pod", "namespace": "default", "name": "web-001", "uid": "web-001"},
        "nodeName": "n",
    }
    assert second["conditions"]["ready"] is False
    again = decide_slices(service(), stored(plan), [pod(2, ready=False), pod(1)])
    assert again == SlicePlan([], [], []), "the order of pods does not count"


def test_pods_that_have_ended_or_have_no_address_are_left_out() -> None:
    ended, without = pod(1), pod(2)
    ended["status"]["phase"] = "Succeeded"
    del without["status"]["podIP"]
    [created] = decide_slices(service(), [], [ended, without, pod(3)]).create
    assert [each["addresses"] for each in created["endpoints"]] == [["10.1.0.3"]]


def test_pods_that_stop_serve_but_are_not_ready() -> None:
    [created] = decide_slices(service(), [], [pod(1, deletionTimestamp="now")]).create
    [endpoint] = created["endpoints"]
    assert endpoint["conditions"] == {"ready": False, "serving": True, "terminating": True}
    early = service(publishNotReadyAddresses=True)
    [created] = decide_slices(early, [], [pod(1, ready=False)]).create
    assert created["endpoints"][0]["conditions"]["ready"] is True


def test_slices_are_reused_and_the_last_one_stays_empty() -> None:
    found = stored(decide_slices(service(), [], [pod(1)]))
    [(same, change)] = decide_slices(service(), found, [pod(1), pod(2)]).change
    assert (same, len(change["endpoints"])) == (found[0], 2)
    [(_, emptied)] = decide_slices(service(), found, []).change
    assert (emptied["endpoints"], emptied["ports"]) == ([], [])
    many = decide_slices(service(), [], [pod(n) for n in range(250)])
    assert [len(each["endpoints"]) for each in many.create] == [100, 100, 50]
    assert len(decide_slices(service(), stored(many), [pod(1)]).delete) == 2


def test_other_ports_make_other_slices() -> None:
    plan = decide_slices(service(), [], [pod(1), pod(2, port=9090)])
    assert [each["ports"][0]["port"] for each in plan.create] == [8080, 9090]
    headless = service(clusterIP="None")
    [created] = decide_slices(headless, [], [pod(1)]).create
    assert created["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_endpoints_tell_ready_addresses_from_others() -> None:
    going = pod(3, deletionTimestamp="now")
    [subset] = endpoints_of(service(), [pod(2, ready=False), pod(1), going])
    assert [each["ip"] for each in subset["addresses"]] == ["10.1.0.1"]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.1.0.2"]
    assert subset["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    assert endpoints_of(service(), []) == []
