"""Which nodes pods run on."""

import pytest
from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, rendered

from certwright.kube import JsonObject

EVERYWHERE = {"operator": "Exists"}
ARM = {"key": "arm", "operator": "Exists"}


def test_nodes_are_chosen_for_all_and_for_each() -> None:
    view = rendered(node_selector={"a": "1", "b": "1"}, webhook={"node_selector": {"b": "2"}})
    assert view.pod(WEBHOOK)["nodeSelector"] == {"kubernetes.io/os": "linux", "a": "1", "b": "2"}
    assert view.pod(CONTROLLER)["nodeSelector"]["b"] == "1"


def test_tolerations_add_up() -> None:
    view = rendered(tolerations=[EVERYWHERE], cainjector={"tolerations": [ARM]})
    assert view.pod(CAINJECTOR)["tolerations"] == [EVERYWHERE, ARM]
    assert view.pod(WEBHOOK)["tolerations"] == [EVERYWHERE]


@pytest.mark.scenario("CMD-14")
def test_affinity_and_spread_are_those_of_the_component() -> None:
    affinity: JsonObject = {"podAntiAffinity": {}}
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
    wanted = {"affinity": affinity, "topology_spread_constraints": spread}
    view = rendered(webhook=wanted)
    assert view.pod(WEBHOOK)["affinity"] == affinity
    assert view.pod(WEBHOOK)["topologySpreadConstraints"] == spread
    assert "affinity" not in view.pod(CONTROLLER)


def test_priority_and_runtime_class() -> None:
    view = rendered(
        priority_class_name="high",
        runtime_class_name="gvisor",
        webhook={"priority_class_name": "higher", "runtime_class_name": "kata"},
    )
    pods = [view.pod(component) for component in (CONTROLLER, WEBHOOK)]
    assert [pod["priorityClassName"] for pod in pods] == ["high", "higher"]
    assert [pod["runtimeClassName"] for pod in pods] == ["gvisor", "kata"]
