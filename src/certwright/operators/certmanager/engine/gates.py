"""Evidence that a step has come to its end.

That pods are ready says little: the API server may not trust the webhook yet, and the new
controller waits for the Lease of the old one, while nothing is issued. So the API server is asked
to judge a Certificate, without storing it, and nonsense, which it must refuse; and the Lease must
be held by a pod of the new version.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import orjson

from certwright.bundles.versions import Minor
from certwright.client import Client, Selection, TransportError
from certwright.clock import Clock
from certwright.kube import (
    ApiError,
    Forbidden,
    JsonObject,
    Key,
    NotFound,
    Resource,
    parse_time,
)
from certwright.kube.kinds import ConfigMap, Lease, Pod
from certwright.operators.certmanager.engine.observed import (
    ComponentState,
    DefinitionState,
    Observed,
    ca_bundles,
    first_container,
)
from certwright.operators.certmanager.engine.steps import COMPONENT_OF, Wanted, parsed
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import Component

PROBE_NAMESPACE: Final = "default"
"""Where Certificates are probed: the install namespace may be exempt from validation."""
PROBE_NAME: Final = "certwright-probe"
LEASE: Final = "cert-manager-controller"
CERTIFICATE: Final = Resource("cert-manager.io", "v1", "Certificate", "certificates")
EVIDENCE_SECONDS: Final = 300.0
"""How long evidence counts while nothing changes."""
_RECORD: Final = "control-plane.alpha.kubernetes.io/leader"
_FIRST_LEASE: Final = Minor(1, 4)
_WEBHOOK: Final = "admission webhook"
_CALL_FAILED: Final = "failed calling webhook"
_UNTRUSTED: Final = ("x509:", "certificate", "tls:")


class GateReason(StrEnum):
    """Why a step has not come to its end; also the reason of a condition."""

    PASSED = "Passed"
    DEFINITIONS = "CRDsNotEstablished"
    NOT_WRITTEN = "NotWritten"
    ROLLOUT = "DeploymentNotRolledOut"
    CA_MISSING = "WebhookCANotInjected"
    UNTRUSTED = "WebhookNotTrusted"
    UNREACHABLE = "WebhookNotReachable"
    UNUSED = "WebhookNotCalled"
    REFUSED = "WebhookRefusesCertificates"
    UNKNOWN = "WebhookNotChecked"
    NO_LEADER = "ControllerNotLeading"
    UNAVAILABLE = "APIServiceNotAvailable"


TOLD_BY_EVENTS: Final = frozenset(
    {GateReason.DEFINITIONS, GateReason.NOT_WRITTEN, GateReason.ROLLOUT, GateReason.CA_MISSING}
)
"""What ends with a change of an object that is watched; all else has to be asked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known about the end of one step."""

    step: InstallStep
    reason: GateReason = GateReason.PASSED
    subject: str = ""
    """The object or component it is about."""
    detail: str = ""
    """What the server said."""

    @property
    def passed(self) -> bool:
        """Whether the step has come to its end."""
        return self.reason is GateReason.PASSED


def definitions_gate(definitions: Iterable[DefinitionState]) -> Finding:
    """Judge whether all kinds are served."""
    late = sorted(one.name for one in definitions if not one.established)
    if late:
        return Finding(InstallStep.DEFINITIONS, GateReason.DEFINITIONS, ", ".join(late))
    return Finding(InstallStep.DEFINITIONS)


def rollout_gate(step: InstallStep, state: ComponentState | None, version: str) -> Finding:
    """Judge whether the pods of a component are those that are wanted, and available."""
    if state is None or not state.found:
        name = str(state.ref) if state is not None else str(step)
        return Finding(step, GateReason.NOT_WRITTEN, name)
    if state.version != version or not state.rolled_out:
        counts = (
            f"{state.updated} of {state.desired} pods updated, {state.available} available"
            f", {state.total} in all"
        )
        return Finding(step, GateReason.ROLLOUT, str(state.ref), counts)
    return Finding(step)


def injection_gate(registrations: Sequence[JsonObject], expected: int) -> Finding:
    """Judge whether the API server knows a CA for every webhook."""
    if len(registrations) < expected:
        return Finding(InstallStep.REGISTRATIONS, GateReason.NOT_WRITTEN, "webhook configurations")
    missing = [
        str(one["metadata"]["name"]) for one in registrations if "" in (ca_bundles([one]) or [""])
    ]
    if missing:
        return Finding(InstallStep.REGISTRATIONS, GateReason.CA_MISSING, ", ".join(missing))
    return Finding(InstallStep.REGISTRATIONS)


def availability_gate(registrations: Iterable[JsonObject]) -> Finding:
    """Judge whether the API server reaches what answers for an API of its own."""
    for one in registrations:
        if one.get("kind") != "APIService":
            continue
        conditions = (one.get("status") or {}).get("conditions") or ()
        found: JsonObject = next((c for c in conditions if c.get("type") == "Available"), {})
        if found.get("status") != "True":
            name = str(one["metadata"]["name"])
            said = str(found.get("message") or found.get("reason") or "")
            return Finding(InstallStep.REGISTRATIONS, GateReason.UNAVAILABLE, name, said)
    return Finding(InstallStep.REGISTRATIONS)


def is_0_x(version: str) -> bool:
    """Return whether a version is from before 1.0: little of it can be tried from outside."""
    return version.startswith("v0.")


def probe(name: str, *, sensible: bool) -> JsonObject:
    """Return a Certificate to be judged; one that is not *sensible* is for no name at all.

    The definition lets both pass, whichever version: only the webhook can refuse one.
    """
    spec: JsonObject = {
        "secretName": name,
        "issuerRef": {"name": name, "kind": "Issuer", "group": "cert-manager.io"},
    }
    if sensible:
        spec["dnsNames"] = [f"{name}.invalid"]
    return {
        "apiVersion": CERTIFICATE.api_version,
        "kind": CERTIFICATE.kind,
        "metadata": {"name": name, "namespace": PROBE_NAMESPACE},
        "spec": spec,
    }


def judge_refusal(error: ApiError | TransportError, *, sensible: bool) -> Finding:
    """Return what it means that a probe was refused."""
    said = str(error)
    denied = _WEBHOOK in said
    if isinstance(error, TransportError) or (isinstance(error, Forbidden) and not denied):
        return Finding(InstallStep.REGISTRATIONS, GateReason.UNKNOWN, CERTIFICATE.kind, said)
    if _CALL_FAILED in said:
        untrusted = any(word in said for word in _UNTRUSTED)
        reason = GateReason.UNTRUSTED if untrusted else GateReason.UNREACHABLE
        return Finding(InstallStep.REGISTRATIONS, reason, CERTIFICATE.kind, said)
    if not sensible and denied:
        return Finding(InstallStep.REGISTRATIONS)
    reason = GateReason.REFUSED if denied else GateReason.UNKNOWN
    return Finding(InstallStep.REGISTRATIONS, reason, CERTIFICATE.kind, said)


def leader_election(args: Iterable[str], namespace: str) -> str:
    """Return the namespace of the Lease that a controller with these arguments takes.

    *namespace* is where it runs. Empty if it does not elect a leader.
    """
    flags = dict(arg.removeprefix("--").partition("=")[::2] for arg in args)
    if flags.get("leader-elect", "true") == "false":
        return ""
    return flags.get("leader-election-namespace", "kube-system").replace(
        "$(POD_NAMESPACE)", namespace
    )


def lock_of(config_map: JsonObject | None) -> JsonObject | None:
    """Return what versions before 1.4 keep in a ConfigMap, as a Lease."""
    annotations = ((config_map or {}).get("metadata") or {}).get("annotations") or {}
    try:
        record = orjson.loads(annotations.get(_RECORD) or "")
    except orjson.JSONDecodeError:
        return None
    return {"spec": record} if isinstance(record, dict) else None


def leads(
    lease: JsonObject | None, pods: Sequence[JsonObject], image: str | None, now: datetime
) -> bool:
    """Return whether a pod with an image, or any, holds a Lease that has not run out."""
    spec: dict[str, Any] = (lease or {}).get("spec") or {}
    holder = str(spec.get("holderIdentity") or "")
    if not holder or _is_over(spec, now):
        return False
    return any(
        holder.startswith(str(pod["metadata"]["name"]))
        for pod in pods
        if image in {None, _image(pod)} and not pod["metadata"].get("deletionTimestamp")
    )


def _is_over(spec: JsonObject, now: datetime) -> bool:
    renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if not renewed or not seconds:
        return False
    return (now - parse_time(str(renewed))).total_seconds() > float(seconds)


def _image(pod: JsonObject) -> str:
    return str(first_container({"spec": {"template": pod}}).get("image") or "")


class Gates:
    """Collects evidence from the cluster, and remembers it as long as nothing changes."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[InstallStep, tuple[object, float]] = {}

    async def judge(
        self, wanted: Wanted, seen: Observed, steps: Iterable[InstallStep]
    ) -> list[Finding]:
        """Return what is known about the end of steps."""
        return [await self._judge(wanted, seen, step) for step in steps]

    async def _judge(self, wanted: Wanted, seen: Observed, step: InstallStep) -> Finding:
        webhook = seen.component(Component.WEBHOOK)
        if step is InstallStep.DEFINITIONS:
            return definitions_gate(seen.definitions)
        if step is InstallStep.REGISTRATIONS and wanted.registrations and webhook is not None:
            injected = injection_gate(seen.registrations, len(wanted.registrations))
            if not injected.passed:
                return injected
            if is_0_x(wanted.version):
                return availability_gate(seen.registrations)
            return await self.admission(webhook, seen.registrations)
        component = COMPONENT_OF.get(step)
        if component is None or component not in wanted.deployments:
            return Finding(step)
        state = seen.component(component)
        rolled_out = rollout_gate(step, state, wanted.version)
        leads = step is InstallStep.CONTROLLER and not is_0_x(wanted.version)
        if leads and rolled_out.passed and state is not None:
            args = map(str, first_container(seen.deployments[component]).get("args") or ())
            namespace = leader_election(args, state.ref.namespace)
            return await self.leadership(state, namespace) if namespace else rolled_out
        return rolled_out

    async def serving(self, wanted: Wanted, seen: Observed, *, stuck: bool = False) -> bool:
        """Return whether certificates can be issued by what runs, whichever version it is.

        A pod that is being replaced counts only if its replacement is *stuck*: else it goes at
        any moment, and until its Lease runs out nothing is issued.
        """
        webhook, controller = map(seen.component, (Component.WEBHOOK, Component.CONTROLLER))
        if webhook is None or controller is None or not (webhook.ready and controller.ready):
            return False
        injected = injection_gate(seen.registrations, len(wanted.registrations))
        if not injected.passed or not definitions_gate(seen.definitions).passed:
            return False
        if not (await self.admission(webhook, seen.registrations)).passed:
            return False
        args = first_container(seen.deployments[Component.CONTROLLER]).get("args") or ()
        namespace = leader_election(map(str, args), controller.ref.namespace)
        if not namespace:
            return True
        try:
            lease = await self._lease(controller.version, Key(namespace, LEASE))
            pods = await self._pods(controller)
        except (ApiError, TransportError):
            return False
        return leads(lease, pods, None if stuck else controller.image, self._clock.now())

    async def admission(
        self, state: ComponentState, registrations: Sequence[JsonObject]
    ) -> Finding:
        """Return whether the API server has Certificates judged by the webhook."""
        bundles = tuple(ca_bundles(registrations))
        seen = (state.uid, state.resource_version, bundles)
        if self._remembers(InstallStep.REGISTRATIONS, seen):
            return Finding(InstallStep.REGISTRATIONS)
        accepted = await self._probe(sensible=True)
        if not accepted.passed:
            return accepted
        refused = await self._probe(sensible=False)
        return self._noted(refused, seen)

    async def _probe(self, *, sensible: bool) -> Finding:
        body = probe(PROBE_NAME, sensible=sensible)
        try:
            await self._client.create(body, dry_run=True)
        except (ApiError, TransportError) as error:
            return judge_refusal(error, sensible=sensible)
        if sensible:
            return Finding(InstallStep.REGISTRATIONS)
        return Finding(InstallStep.REGISTRATIONS, GateReason.UNUSED, CERTIFICATE.kind)

    async def leadership(self, state: ComponentState, namespace: str) -> Finding:
        """Return whether a pod of the wanted version leads; *namespace* is where the Lease is."""
        seen = (state.uid, state.resource_version, namespace)
        if self._remembers(InstallStep.CONTROLLER, seen):
            return Finding(InstallStep.CONTROLLER)
        try:
            lease = await self._lease(state.version, Key(namespace, LEASE))
            pods = await self._pods(state)
        except (ApiError, TransportError) as error:
            return Finding(InstallStep.CONTROLLER, GateReason.NO_LEADER, LEASE, str(error))
        if leads(lease, pods, state.image, self._clock.now()):
            return self._noted(Finding(InstallStep.CONTROLLER), seen)
        holder = str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")
        return Finding(InstallStep.CONTROLLER, GateReason.NO_LEADER, f"{namespace}/{LEASE}", holder)

    def forget(self) -> None:
        """Drop all evidence."""
        self._known.clear()

    def _remembers(self, step: InstallStep, seen: object) -> bool:
        known, until = self._known.get(step, (None, 0.0))
        return known == seen and self._clock.monotonic() < until

    def _noted(self, finding: Finding, seen: object) -> Finding:
        if finding.passed:
            self._known[finding.step] = (seen, self._clock.monotonic() + EVIDENCE_SECONDS)
        return finding

    async def _lease(self, version: str, key: Key) -> JsonObject | None:
        if parsed(version).major and parsed(version).minor < _FIRST_LEASE:
            return lock_of(await self._get(ConfigMap, key))
        return await self._get(Lease, key)

    async def _get(self, kind: Resource, key: Key) -> JsonObject | None:
        try:
            return await self._client.get(kind, key)
        except NotFound:
            return None

    async def _pods(self, state: ComponentState) -> list[JsonObject]:
        labels = ",".join(f"{name}={value}" for name, value in (state.selector or {}).items())
        where = Selection(state.ref.namespace, labels)
        found: list[JsonObject] = []
        async for page in self._client.pages(Pod, where):
            found += (orjson.loads(memoryview(item)) for item in page.items)
        return found
