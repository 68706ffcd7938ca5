"""A tour of certwright: each step says what is done and shows what came of it.

Run it with ``make demo``. It needs no cluster: the API server is in this process and its time is
virtual. A step that does not give what it should ends the tour with an error.
"""

import asyncio
import sys

import orjson

from certwright.api.certmanager import CertificateRequest
from certwright.api.managedresources import ManagedResource
from certwright.cli.cert.contents import of_certificate_request
from certwright.cli.cert.diagnostics import Horizon, diagnose
from certwright.cli.cert.table import drawn
from certwright.cli.up.demos import issuer_sample, managed_sample
from certwright.client import Request
from certwright.issuers.ca import app
from certwright.kube import Invalid, ObjectMeta
from certwright.kube.kinds import ConfigMap, Deployment
from certwright.managed import readiness
from certwright.operators.managedresource import Configuration, resource_operator
from certwright.runtime import configure_logs
from certwright.testkit import (
    Calls,
    EmbeddedCluster,
    VirtualLoop,
    crash_after_every_write,
    drop_each_event,
    stale_restart,
    survives,
)
from certwright.testkit.actors import approver, workload_controllers
from greeting import Greeting, GreetingSpec, controller

TABLE = (("accept", "application/json;as=Table;g=meta.k8s.io;v=v1"),)


def hello(count: int) -> Greeting:
    spec = GreetingSpec(count=count, text="good morning")
    return Greeting(metadata=ObjectMeta(name="hello", namespace="default"), spec=spec)


def step(number: int, title: str) -> None:
    print(f"\n{number}. {title}")


def show(line: str) -> None:
    print(f"   {line}")


def expect(what: str, *, holds: bool) -> None:
    if not holds:
        print(f"\nthe tour failed: {what}", file=sys.stderr)
        sys.exit(1)
    show(f"✓ {what}")


async def show_table(cluster: EmbeddedCluster, path: str) -> None:
    """Print what ``kubectl get`` would print: the server makes the table."""
    answer = await cluster.client.send(Request("list", "GET", path, (), TABLE))
    table = orjson.loads(answer.body)
    columns = [i for i, c in enumerate(table["columnDefinitions"]) if not c["priority"]]
    rows = [[table["columnDefinitions"][i]["name"].upper() for i in columns]]
    cells = [[row["cells"][i] for i in columns] for row in table["rows"]]
    rows += [["" if cell is None else str(cell) for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        show("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def tell(calls: Calls) -> None:
    show(f"calls: {calls.writes} writes, {calls.reads} reads, {calls.watches} watches opened")


async def tour() -> None:
    async with EmbeddedCluster() as cluster:
        step(1, "An API server in this process, and a Greeting that wants three ConfigMaps")
        await cluster.create(hello(count=3))
        calls = await cluster.settle(controller)
        await show_table(cluster, "/apis/demo.certwright.dev/v1/greetings")
        await show_table(cluster, "/api/v1/namespaces/default/configmaps")
        tell(calls)
        expect("three objects and one status: four writes", holds=calls.writes == 4)

        step(2, "Somebody edits one ConfigMap by hand")
        await cluster.patch(ConfigMap, "hello-1", {"data": {"text": "good night"}})
        calls = await cluster.settle()
        text = (await cluster.get(ConfigMap, "hello-1"))["data"]["text"]
        show(f"hello-1 says: {text}")
        tell(calls)
        expect("repaired with one write", holds=(text, calls.writes) == ("good morning", 1))

        step(3, "Somebody deletes one")
        await cluster.delete(ConfigMap, "hello-2")
        calls = await cluster.settle()
        tell(calls)
        names = await cluster.names(ConfigMap)
        expect("it is back, with one write", holds="hello-2" in names and calls.writes == 1)

        step(4, "The controller restarts with a cold cache")
        calls = await cluster.restart()
        tell(calls)
        expect("it looks, and writes nothing", holds=calls.writes == 0)

        step(5, "Ten minutes pass")
        calls = await cluster.advance(minutes=10)
        tell(calls)
        quiet = calls.writes == calls.reads == 0
        expect("silence, but for the renewal of watches", holds=quiet)

        step(6, "A Greeting that wants too many")
        try:
            await cluster.patch(Greeting, "hello", {"spec": {"count": 1000}})
        except Invalid as error:
            show(str(error))
            expect("refused by the schema made from the Python type", holds=True)
        else:
            expect("the server refuses it", holds=False)

        step(7, "One is enough")
        await cluster.patch(Greeting, "hello", {"spec": {"count": 1}})
        tell(await cluster.settle())
        await show_table(cluster, "/apis/demo.certwright.dev/v1/greetings")
        left = await cluster.names(ConfigMap, labels="greeting=hello")
        expect("the others are gone", holds=left == {"hello-0"})

        step(8, "The Greeting is deleted")
        await cluster.delete(Greeting, "hello")
        await cluster.settle()
        left = await cluster.names(ConfigMap, labels="greeting=hello")
        expect("what it owned went with it", holds=not left)


def torture() -> None:
    step(9, "All of it again, crashing after every write, starting on stale views, losing events")
    runs = survives(scenario, controller, crash_after_every_write, stale_restart, drop_each_event)
    expect(f"{runs} runs, each with a fault at another point, and one end state", holds=runs > 20)


async def keep() -> None:
    async with EmbeddedCluster() as cluster:
        step(10, "A ManagedResource that keeps a ConfigMap and a Deployment")
        await cluster.serve(ManagedResource)
        for manifest in managed_sample():
            await cluster.create(manifest)
        await cluster.settle(resource_operator(Configuration()), *workload_controllers())
        await show_table(cluster, "/apis/resources.gardener.cloud/v1alpha1/managedresources")
        state = readiness(await cluster.get(ManagedResource.resource, "sample"))
        expect("both are there, and healthy", holds=state.ready)

        step(11, "Somebody edits one of its objects, and deletes the other")
        await cluster.patch(ConfigMap, "sample-settings", {"data": {"color": "red"}})
        calls = await cluster.settle()
        color = (await cluster.get(ConfigMap, "sample-settings"))["data"]["color"]
        show(f"sample-settings has the color: {color}")
        expect("put right with one write", holds=(color, calls.by_kind["ConfigMap"]) == ("blue", 1))
        await cluster.delete(Deployment, "sample-web")
        await cluster.settle()
        expect("it is back", holds="sample-web" in await cluster.names(Deployment))
        calls = await cluster.restart()
        tell(calls)
        expect("after a restart nothing is written", holds=calls.writes == 0)


async def issue() -> None:
    async with EmbeddedCluster() as cluster:
        step(12, "A certificate authority, and a request to it that cert-manager would make")
        await cluster.serve(CertificateRequest, *app.kinds)
        for manifest in issuer_sample(cluster.clock.now()):
            await cluster.create(manifest)
        await cluster.settle(app.operator, approver())
        await show_table(cluster, "/apis/issuers.certwright.dev/v1alpha1/caissuers")
        await show_table(cluster, "/apis/cert-manager.io/v1/certificaterequests")
        request = await cluster.get(CertificateRequest, "sample")
        material = of_certificate_request("CertificateRequest default/sample", request)
        for line in drawn(material, cluster.clock.now()):
            show(line)
        expect("the request was signed", holds=bool(request.status.certificate))
        findings = diagnose(material, cluster.clock.now(), Horizon())
        expect("the certificate is what was asked for", holds=not findings)
        calls = await cluster.restart()
        tell(calls)
        expect("after a restart nothing is signed again", holds=calls.writes == 0)


async def scenario(cluster: EmbeddedCluster) -> None:
    """What users do in step 9."""
    await cluster.create(hello(count=2))
    await cluster.settle()
    await cluster.patch(Greeting, "hello", {"spec": {"count": 3}})
    await cluster.delete(ConfigMap, "hello-0")
    await cluster.settle()
    await cluster.patch(Greeting, "hello", {"spec": {"count": 1}})


if __name__ == "__main__":
    configure_logs(level="error")  # the faults of step 9 are on purpose
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(tour())
    torture()
    for part in (keep, issue):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(part())
    print("\nNext: `make up`, then kubectl; README.md shows the forty lines behind this.")
