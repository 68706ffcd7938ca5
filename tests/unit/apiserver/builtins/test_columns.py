from collections.abc import Callable
from typing import Any

import pytest

from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube import JsonObject


@pytest.fixture
def cells(kinds: dict[str, ServedKind], admit: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def of(resource: str, status: JsonObject | None = None, **content: Any) -> dict[str, Any]:
        obj, _ = admit(resource, **content)
        if status is not None:
            obj["status"] = status
        return {c.name: c.value(obj) for c in kinds[resource].columns if c.value is not None}

    return of


def test_every_column_copes_with_a_bare_object(kinds: dict[str, ServedKind]) -> None:
    for kind in kinds.values():
        bare = {"metadata": {"name": "x"}, "spec": {}}
        for column in kind.columns:
            if column.value is not None:
                column.value(bare)


def test_every_row_has_a_name(kinds: dict[str, ServedKind]) -> None:
    for kind in kinds.values():
        named = [column for column in kind.columns if column.format == "name"]
        assert len(named) == (1 if kind.columns else 0), kind.resource


def test_deployments(cells: Callable[..., Any]) -> None:
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"spec": {"containers": [{"name": "c", "image": "x"}]}},
    }

    row = cells("deployments.apps", {"readyReplicas": 1, "updatedReplicas": 2}, spec=spec)

    assert row == {
        "Ready": "1/3",
        "Up-to-date": 2,
        "Available": 0,
        "Containers": "c",
        "Images": "x",
        "Selector": "a=b",
    }


def test_pods(cells: Callable[..., Any]) -> None:
    status: JsonObject = {
        "phase": "Pending",
        "containerStatuses": [
            {"ready": True, "restartCount": 2, "state": {"running": {}}},
            {"restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ],
    }
    status["containerStatuses"][0]["state"]["running"]["startedAt"] = "2026-01-01T00:00:00Z"
    spec = {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]}

    row = cells("pods", status, spec=spec)

    assert (row["Ready"], row["Status"], row["Restarts"]) == ("1/2", "CrashLoopBackOff", "3")


@pytest.mark.parametrize(
    ("spec", "status", "address", "ports"),
    [
        ({"ports": [{"port": 80}]}, {}, "<none>", "80/TCP"),
        ({"type": "ExternalName", "externalName": "a.b"}, {}, "a.b", "<none>"),
        (
            {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30005}]},
            {},
            "<pending>",
            "80:30005/TCP",
        ),
        (
            {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30006}]},
            {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            "1.2.3.4",
            "80:30006/TCP",
        ),
    ],
)
def test_services(
    cells: Callable[..., Any], spec: JsonObject, status: JsonObject, address: str, ports: str
) -> None:
    row = cells("services", status, spec=spec)

    assert (row["External-IP"], row["Port(s)"]) == (address, ports)


def test_jobs(cells: Callable[..., Any]) -> None:
    done = {
        "succeeded": 1,
        "startTime": "2026-01-01T00:00:00Z",
        "completionTime": "2026-01-01T00:03:20Z",
        "conditions": [{"type": "Complete", "status": "True"}],
    }
    template = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}

    row = cells("jobs.batch", done, spec={"template": template})

    assert (row["Status"], row["Completions"], row["Duration"]) == ("Complete", "1/1", "3m20s")


def test_events(cells: Callable[..., Any]) -> None:
    row = cells(
        "events",
        involvedObject={"kind": "Pod", "name": "web", "namespace": "n"},
        message=" pulled\n",
        source={"component": "kubelet", "host": "node"},
        lastTimestamp="2026-01-01T00:00:00Z",
    )

    assert row["Object"] == "pod/web"
    assert row["Message"] == "pulled"
    assert row["Source"] == "kubelet, node"
    assert row["Count"] == 1
    assert row["Last Seen"] == "2026-01-01T00:00:00Z"
