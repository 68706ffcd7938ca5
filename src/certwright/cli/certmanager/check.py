"""``certwright cert-manager check``: the chain from the API server to an issued certificate.

Each link needs those before it, so the first that is broken is the one to mend. Links are judged by
the functions with which the operator decides whether an installation is available.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import orjson

from certwright.cli.certmanager.advice import ADVICE
from certwright.cli.certmanager.found import (
    FoundInstallation,
    find_installation,
    webhook_services,
)
from certwright.cli.certmanager.trial import Trial, issue_one
from certwright.cli.connection import connected
from certwright.cli.options import Output, Target
from certwright.cli.terminal.output import document, table
from certwright.client import Client, TransportError, request
from certwright.clock import SYSTEM, Clock
from certwright.kube import ApiError, JsonObject, Key, NotFound
from certwright.kube.kinds import EndpointSlice, Service
from certwright.operators.certmanager.engine.gates import (
    Finding,
    GateReason,
    Gates,
    definitions_gate,
    injection_gate,
    leader_election,
    rollout_gate,
)
from certwright.operators.certmanager.engine.observed import first_container
from certwright.operators.certmanager.redhat.messages import finding_text, listed
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import Component


class LinkName(StrEnum):
    """The links, in the order of the chain."""

    SERVER = "API server"
    DEFINITIONS = "CRDs"
    PODS = "pods"
    REGISTRATIONS = "webhook registration"
    AUTHORITY = "caBundle"
    SERVICE = "webhook Service"
    ADMISSION = "dry-run Certificate"
    LEADER = "Lease of the controller"
    ISSUANCE = "issued certificate"


@dataclass(frozen=True, slots=True)
class Link:
    """One link: whether it holds, what was seen, and what to do about it."""

    name: LinkName
    holds: bool | None
    """None if it was not tried."""
    seen: str
    advice: str = ""


async def check(target: Target, output: Output, *, issue: bool, seconds: float) -> int:
    """Print the links as they are judged; 1 if one is broken."""
    async with connected(target) as session:
        links = [
            link
            async for link in judged(
                session.client, Trial(session.namespace, seconds) if issue else None
            )
        ]
    if output is Output.TABLE:
        print(chain_text(links))
    else:
        print(document([_document(link) for link in links], output))
    return 1 if any(link.holds is False for link in links) else 0


def chain_text(links: Sequence[Link]) -> str:
    """Return the chain for people, and below it what is broken and what to do."""
    marks = {True: "✓", False: "✗", None: "-"}
    rows = [(marks[link.holds], link.name, link.seen) for link in links]
    lines = [table(("", "LINK", "SEEN"), rows).replace("-   LINK", "    LINK", 1)]
    broken = [link for link in links if link.holds is False]
    lines += [f"broken: {link.name}\nwhat to do: {link.advice}" for link in broken if link.advice]
    return "\n".join(lines)


async def judged(client: Client, trial: Trial | None, clock: Clock = SYSTEM) -> AsyncIterator[Link]:
    """Yield the links up to the first that is broken, and then what was not tried."""
    tried: set[LinkName] = set()
    async for link in _links(client, trial, clock):
        tried.add(link.name)
        yield link
        if link.holds is False:
            for name in LinkName:
                if name not in tried:
                    yield Link(name, None, "not tried")
            return


async def _links(client: Client, trial: Trial | None, clock: Clock) -> AsyncIterator[Link]:
    try:
        version = orjson.loads((await client.send(request.raw("/version"))).body)
        found = await find_installation(client)
    except (ApiError, TransportError) as error:
        advice = "check the kubeconfig, and what you may read"
        yield Link(LinkName.SERVER, holds=False, seen=str(error), advice=advice)
        return
    yield Link(LinkName.SERVER, holds=True, seen=f"Kubernetes {version.get('gitVersion')}")
    definitions = definitions_gate(found.definitions)
    yield _link(LinkName.DEFINITIONS, definitions, f"{len(found.definitions)} are served")
    yield pods_link(found)
    yield registration_link(found.registrations)
    injected = injection_gate(found.registrations, len(found.registrations))
    yield _link(LinkName.AUTHORITY, injected, "the API server knows a CA for every webhook")
    for key in webhook_services(found.registrations):
        yield await _service(client, key)
    gates = Gates(client, clock)
    webhook = found.state(Component.WEBHOOK)
    assert webhook is not None, "pods_link has seen it"
    admission = await gates.admission(webhook, found.registrations)
    good = "a good one is accepted, a senseless one is refused"
    yield _link(LinkName.ADMISSION, admission, good)
    yield await _leader(gates, found)
    if trial is None:
        said = "not tried; --issue creates a certificate and deletes it"
        yield Link(LinkName.ISSUANCE, None, said)
    else:
        issued = await issue_one(client, trial, clock)
        advice = "see the CertificateRequest, and the logs of the controller"
        yield Link(LinkName.ISSUANCE, issued.ready, issued.seen, "" if issued.ready else advice)


def pods_link(found: FoundInstallation) -> Link:
    """Judge whether the three components run, once each."""
    steps = {
        Component.CAINJECTOR: InstallStep.CAINJECTOR,
        Component.WEBHOOK: InstallStep.WEBHOOK,
        Component.CONTROLLER: InstallStep.CONTROLLER,
    }
    versions = set()
    for component, step in steps.items():
        several = found.of(component)
        if len(several) > 1:
            places = [
                f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in several
            ]
            advice = "remove all installations but one: they work against each other"
            seen = f"there are {len(several)} of the {component}: {listed(places)}"
            return Link(LinkName.PODS, holds=False, seen=seen, advice=advice)
        state = found.state(component)
        if state is None:
            missing = Finding(step, GateReason.NOT_WRITTEN, f"a Deployment of the {component}")
            return _link(LinkName.PODS, missing, "")
        rolled_out = rollout_gate(step, state, state.version)
        if not rolled_out.passed:
            return _link(LinkName.PODS, rolled_out, "")
        versions.add(state.version or "an unknown version")
    return Link(LinkName.PODS, holds=True, seen=f"all of {', '.join(sorted(versions))}")


def registration_link(registrations: Sequence[JsonObject]) -> Link:
    """Judge whether the API server is told to ask the webhook."""
    names = [f"{one['metadata']['name']}" for one in registrations]
    if not names:
        finding = Finding(
            InstallStep.REGISTRATIONS, GateReason.NOT_WRITTEN, "a webhook configuration"
        )
        return _link(LinkName.REGISTRATIONS, finding, "")
    return Link(LinkName.REGISTRATIONS, holds=True, seen=listed(dict.fromkeys(names)))


def service_link(key: Key, service: JsonObject | None, slices: Sequence[JsonObject]) -> Link:
    """Judge whether a Service leads to a pod that is ready."""
    name = LinkName.SERVICE
    if service is None:
        advice = "create it again; an operator restores it, see: certwright cert-manager explain"
        return Link(name, holds=False, seen=f"Service {key} does not exist", advice=advice)
    ready = [
        address
        for one in slices
        for endpoint in one.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint.get("addresses") or ()
    ]
    if not ready:
        advice = "compare the selector of the Service with the labels of the webhook's pods"
        return Link(
            name, holds=False, seen=f"Service {key} has no endpoint that is ready", advice=advice
        )
    return Link(name, holds=True, seen=f"Service {key} leads to {listed(ready)}")


async def _service(client: Client, key: Key) -> Link:
    try:
        service = await client.get(Service, key)
    except NotFound:
        return service_link(key, None, ())
    labels = f"kubernetes.io/service-name={key.name}"
    slices = await client.list(EndpointSlice, key.namespace, labels=labels)
    return service_link(key, service, slices.items)


async def _leader(gates: Gates, found: FoundInstallation) -> Link:
    state = found.state(Component.CONTROLLER)
    assert state is not None, "pods_link has seen it"
    container = first_container(found.of(Component.CONTROLLER)[0])
    namespace = leader_election(map(str, container.get("args") or ()), state.ref.namespace)
    if not namespace:
        return Link(LinkName.LEADER, holds=True, seen="leaders are not elected")
    finding = await gates.leadership(state, namespace)
    return _link(LinkName.LEADER, finding, f"a pod of {state.version} holds it, in {namespace}")


def _link(name: LinkName, finding: Finding, good: str) -> Link:
    if finding.passed:
        return Link(name, holds=True, seen=good)
    return Link(
        name, holds=False, seen=finding_text(finding), advice=ADVICE.get(finding.reason, "")
    )


def _document(link: Link) -> JsonObject:
    return {
        "link": str(link.name),
        "holds": link.holds,
        "seen": link.seen,
        "advice": link.advice,
    }
