"""The whole pass over a DiscoveryService: what is there, what is wanted, the writes, the report."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from certwright.api.discoveryservices import (
    READY,
    DiscoveryCondition,
    DiscoveryService,
    DiscoveryServiceCertificate,
    DiscoveryServiceCertificateStatus,
)
from certwright.apply import ObjectRef
from certwright.apply.objectset.prune import NO_PRUNE
from certwright.keep import Installer, KeptChanges, StatusInventory
from certwright.keep.installer import CONFIRMED
from certwright.keep.retry import Retries
from certwright.kube import Key
from certwright.kube.kinds import Deployment, Namespace, Pod, Secret, Service
from certwright.operators.discoveryservice.service.interests import Interests
from certwright.operators.discoveryservice.service.metrics import PlaneMetrics
from certwright.operators.discoveryservice.service.namespaces import labels_to_remove
from certwright.operators.discoveryservice.service.objects import pki
from certwright.operators.discoveryservice.service.objects.workload import lacks_address
from certwright.operators.discoveryservice.service.observed import (
    DeploymentState,
    deployment_state,
    found_namespaces,
    rivals,
    server_certificate,
    write_failures,
)
from certwright.operators.discoveryservice.service.plan import FoundPlane, PlanePlan, make_plan
from certwright.operators.discoveryservice.service.plane import (
    DiscoveryPlane,
    ServiceDefaults,
    control_plane,
)
from certwright.operators.discoveryservice.service.probe import (
    EVIDENCE_SECONDS,
    UNTRIED,
    WebhookEvidence,
)
from certwright.operators.discoveryservice.service.removal import removal_groups
from certwright.operators.discoveryservice.service.sidecars import without_sidecar
from certwright.operators.discoveryservice.service.status import (
    PlaneReport,
    is_urgent,
    ready_events,
    service_status,
)
from certwright.runtime import DONE, Backoff, BadObject, Context, Outcome, again

STATUS_SECONDS: Final = 10.0
"""How often progress and counts are brought up to date in the status."""
RECHECK_SECONDS: Final = 60.0
"""How often obstacles are looked at again that events announce."""
REMOVAL_SECONDS: Final = 1.0
"""How often objects that are being deleted are looked at."""

LabelPatches = Iterable[tuple[str, Mapping[str, str | None]]]


class ServiceController:
    """Installs, repairs and removes the control planes of DiscoveryServices."""

    def __init__(
        self,
        installer: Installer,
        interests: Interests,
        defaults: ServiceDefaults,
        backoff: Backoff,
        metrics: PlaneMetrics,
    ) -> None:
        self._installer = installer
        self._interests = interests
        self._defaults = defaults
        self._metrics = metrics
        self._evidence = WebhookEvidence()
        self._retries = Retries[Key](backoff)
        self._told: dict[Key, float] = {}

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make one pass over a DiscoveryService."""
        obj = ctx.get(DiscoveryService, key)
        if obj is None:
            self._forget(ctx, key)
            return DONE
        plane = control_plane(obj, self._defaults)
        if obj.metadata.deletion_timestamp is not None:
            return await self._remove(ctx, obj, plane)
        first, others = rivals(obj, ctx.list(DiscoveryService))
        report = PlaneReport(
            plane=plane, first=first, others=others, inventory=obj.status.inventory
        )
        if first != plane.name:
            self._installer.channel.send(Key("", first))  # it has to tell of this one
            return await self._tell(ctx, obj, report)
        self._interests.note(key, plane)
        await self._installer.hold(ctx, obj)
        server = ctx.get(Secret, Key(plane.namespace, plane.server_secret))
        authority = ctx.get(Secret, Key(plane.namespace, plane.ca_secret))
        namespaces = found_namespaces(ctx.list(Namespace))
        if plane.namespace not in namespaces:
            return await self._tell(ctx, obj, replace(report, homeless=True))
        certificate = server_certificate(server, authority)
        plan = make_plan(plane, FoundPlane(namespaces, others, certificate))
        changes, listed = await self._install(ctx, obj, plane, plan)
        report = await self._observe(ctx, replace(report, inventory=listed), plan, changes)
        self._metrics.tell(plane.name, len(report.bare_pods))
        kept = self._installer.outcome(key, changes)
        told = await self._tell(ctx, obj, report)
        return told if kept == DONE else kept

    async def _install(
        self, ctx: Context, obj: DiscoveryService, plane: DiscoveryPlane, plan: PlanePlan
    ) -> tuple[KeptChanges, list[str]]:
        """Write what is wanted; return what became of it, and the inventory.

        A namespace loses its labels before what its Pods need, and gets them after that.
        """
        inventory = StatusInventory(ctx, obj, obj.status.inventory, plan.refs)
        options = CONFIRMED if plan.complete else NO_PRUNE
        await self._label(ctx, plan.namespaces.unlabelled)
        service = ObjectRef(Service.api_version, Service.kind, plane.namespace, plane.service)
        found = await self._installer.entry(service)
        if found is not None and lacks_address(found.obj(), plane):
            await self._installer.delete(ctx, obj, inventory, only=[service])
        changes = await self._installer.install(ctx, obj, inventory, plan.objects, options=options)
        await self._label(ctx, plan.namespaces.labels)
        return changes, inventory.listed

    async def _label(self, ctx: Context, patches: LabelPatches) -> None:
        """Bring labels of namespaces up to date."""
        for name, labels in patches:
            namespace = ctx.get(Namespace, Key("", name))
            if namespace is not None:
                await ctx.patch(namespace, {"metadata": {"labels": dict(labels)}})

    # Looking

    async def _observe(
        self, ctx: Context, report: PlaneReport, plan: PlanePlan, changes: KeptChanges
    ) -> PlaneReport:
        """Return a report of what was done, and of how the control plane is now."""
        plane, served = report.plane, plan.namespaces.served
        failures = write_failures(changes.done.all.entries, served)
        deployment = await self._deployment(plane)
        finding = UNTRIED
        if plan.complete and deployment is not None and deployment.available:
            facts = (plan.bundle, deployment.generation, served)
            now, key = ctx.clock.monotonic(), Key("", plane.name)
            due = self._retries.is_due(key, now)
            finding = await self._evidence.find(key, ctx.client, now, facts, served, due=due)
        return replace(
            report,
            certified=plan.complete,
            certificate=await self._certificate_status(pki.server_ref(plane)),
            authority=await self._certificate_status(pki.authority_ref(plane)),
            deployment=deployment,
            probe=finding,
            failed=failures.own,
            unserved=(*plan.namespaces.unserved, *failures.namespaces),
            bare_pods=tuple(without_sidecar(ctx.list(Pod), served)),
        )

    async def _deployment(self, plane: DiscoveryPlane) -> DeploymentState | None:
        name = plane.object_name
        ref = ObjectRef(Deployment.api_version, Deployment.kind, plane.namespace, name)
        entry = await self._installer.entry(ref)
        return None if entry is None else deployment_state(entry.obj())

    async def _certificate_status(self, ref: ObjectRef) -> DiscoveryServiceCertificateStatus | None:
        entry = await self._installer.entry(ref)
        try:
            return None if entry is None else entry.as_(DiscoveryServiceCertificate).status
        except BadObject:
            return None

    # Removing

    async def _remove(self, ctx: Context, obj: DiscoveryService, plane: DiscoveryPlane) -> Outcome:
        """Take everything away in order, then let the DiscoveryService go."""
        inventory = StatusInventory(ctx, obj, obj.status.inventory)
        refs = [ObjectRef.parse(text) for text in obj.status.inventory]
        for group in removal_groups(refs, pki.authority_ref(plane)):
            changes = await self._installer.delete(ctx, obj, inventory, only=group)
            if not changes.complete:
                left = inventory.listed
                report = PlaneReport(
                    plane=plane, first=plane.name, removed=tuple(left), inventory=left
                )
                await self._tell(ctx, obj, report)
                return again(REMOVAL_SECONDS)
        namespaces = found_namespaces(ctx.list(Namespace))
        await self._label(ctx, labels_to_remove(plane.name, namespaces))
        await self._installer.let_go(ctx, obj)
        return DONE

    def _forget(self, ctx: Context, key: Key) -> None:
        """Forget a DiscoveryService that is gone; of the others, one may be the oldest now."""
        self._interests.forget(key)
        self._metrics.forget(key.name)
        self._evidence.forget(key)
        self._retries.forget(key)
        self._told.pop(key, None)
        for other in ctx.list(DiscoveryService):
            self._installer.channel.send(other.key)

    # Telling

    async def _tell(self, ctx: Context, obj: DiscoveryService, report: PlaneReport) -> Outcome:
        """Write the status if it says something else, and return when to look again."""
        key, now = obj.key, ctx.clock.monotonic()
        live = ctx.get(DiscoveryService, key)
        if live is None:
            return DONE
        status = service_status(live, report, ctx.clock.now())
        outcome = self._outcome(
            key, now, report, next(c for c in status.conditions if c.type == READY)
        )
        waited = now - self._told.get(key, float("-inf"))
        if status != live.status:
            if not is_urgent(live.status, status) and waited < STATUS_SECONDS:
                return again(min(STATUS_SECONDS - waited, outcome.after or STATUS_SECONDS))
            self._told[key] = now
            for event in ready_events(live.status, status):
                ctx.event(live, *event)
            await ctx.status(live, status)
        return outcome

    def _outcome(
        self, key: Key, now: float, report: PlaneReport, ready: DiscoveryCondition
    ) -> Outcome:
        """Return when to look again."""
        if ready.status == "True":
            self._retries.forget(key)
            return again(EVIDENCE_SECONDS)
        if ready.reason == report.probe.result and report.probe != UNTRIED:
            return again(self._retries.failed(key, now))
        return again(RECHECK_SECONDS)
