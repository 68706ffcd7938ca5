"""What others say about Services that do not come up."""

from tests.component.operators.managedresource.conftest import Keeping

from certwright.kube import JsonObject
from certwright.kube.kinds import CoreEvent, Service
from certwright.testkit.builders import config_map

ADDRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}


def load_balancer(name: str) -> JsonObject:
    spec = {"type": "LoadBalancer", "selector": {"app": name}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def warning(keeping: Keeping, number: int, text: str, type_: str = "Warning") -> JsonObject:
    seen = f"2026-01-01T00:00:{number:02}Z"
    about = {"apiVersion": "v1", "kind": "Service", "name": "s", "namespace": keeping.namespace}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e{number}"},
        "involvedObject": about,
        "type": type_,
        "reason": "SyncLoadBalancerFailed",
        "message": text,
        "source": {"component": "cloud"},
        "firstTimestamp": seen,
        "lastTimestamp": seen,
        "count": 1,
    }


async def test_warnings_are_part_of_what_is_said_about_a_service(keeping: Keeping) -> None:
    await keeping.install()
    for number in range(7):
        await keeping.cluster.create(warning(keeping, number, f"no quota {number}"))
    await keeping.cluster.create(warning(keeping, 8, "all is fine", "Normal"))
    await keeping.declare("web", load_balancer("s"), load_balancer("t"))
    calls = await keeping.settle()
    assert calls.of("Event").reads == 2
    assert (await keeping.conditions("web"))["Healthy"] == "False/ServiceUnhealthy"
    head, _, block = (await keeping.message("web", "Healthy")).partition("\n\n")
    place = f'Service "{keeping.namespace}/s"'
    also = f'also unhealthy: Service "{keeping.namespace}/t"'
    assert head == f"{place} is unhealthy: service is missing ingress status; {also}"
    lines = [f"* cloud reported: no quota {number}" for number in range(2, 7)]
    assert block.splitlines() == ["-> Events:", *lines]
    assert await keeping.message("web", "Ready") == head


async def test_only_other_warnings_are_news(
    embedded_keeping: Keeping, healthy: dict[str, str]
) -> None:
    keeping = embedded_keeping
    await keeping.declare("web", load_balancer("s"), config_map("a"))
    await keeping.settle()
    assert "Events" not in await keeping.message("web", "Healthy")
    await keeping.cluster.create(warning(keeping, 1, "no quota"))
    await keeping.cluster.advance(minutes=2)
    assert (await keeping.message("web", "Healthy")).endswith("* cloud reported: no quota")
    for count in range(2, 5):
        again = {"count": count, "lastTimestamp": f"2026-01-01T00:0{count}:00Z"}
        await keeping.cluster.patch(CoreEvent, "e1", again)
        calls = await keeping.cluster.advance(minutes=5)
        assert calls.writes == 0
        assert 4 <= calls.of("Event").reads <= 6
    await keeping.cluster.patch(Service, "s", ADDRESS, subresource="status")
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    calls = await keeping.cluster.advance(hours=1)
    assert (calls.reads, calls.writes) == (0, 0)
