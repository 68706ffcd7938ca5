"""The cluster as a pass sees it: the installation, and what is around it.

What is kept is read from stores, which cost nothing. What is not ours is asked for, and only where
it decides: before objects are created that were not there before.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import orjson

from certwright.apply import Declared, ObjectRef
from certwright.client import Client, request
from certwright.clock import Clock
from certwright.kube import ApiError, JsonObject, Key, NotFound
from certwright.kube.kinds import Deployment, Namespace
from certwright.operators.certmanager.engine.observed import (
    ComponentState,
    DefinitionState,
    Observed,
    ca_bundles,
    component_state,
    definition_state,
    is_inherited,
    runs_controller,
)
from certwright.operators.certmanager.engine.port import Previous, refs_of
from certwright.operators.certmanager.engine.preflight import Surroundings
from certwright.operators.certmanager.engine.pullsecret import PullSecretDecision
from certwright.operators.certmanager.engine.secretview import PullSecrets
from certwright.operators.certmanager.engine.steps import Wanted
from certwright.operators.certmanager.render import InstallStep
from certwright.operators.certmanager.request import Component, InstallRequest

CONCURRENCY: Final = 8
_UNGUARDED: Final = frozenset({"CustomResourceDefinition", "Namespace"})
"""What may be there from before: definitions stay when an installation is removed."""


Foreign = Mapping[ObjectRef, JsonObject]
"""Objects that are wanted, exist, and are not ours."""


class SeenObject(Protocol):
    """An object of the installation; the same one as long as it does not change."""

    def obj(self) -> JsonObject:
        """Return the object."""
        ...


class InstalledObjects(Protocol):
    """The objects of the installation, as an `Installer` or a `KeptPreview` has them."""

    @property
    def annotation(self) -> str:
        """The annotation that tells our objects."""
        ...

    @property
    def field_manager(self) -> str:
        """As whom they are written."""
        ...

    async def entry(self, ref: ObjectRef) -> SeenObject | None:
        """Return one of our objects; None if there is none."""
        ...


class ClusterView:
    """Reads the installation from what the installer keeps, and the rest from the server."""

    def __init__(
        self,
        installer: InstalledObjects,
        client: Client,
        clock: Clock,
        secrets: PullSecrets | None = None,
    ) -> None:
        self.client = client
        self.clock = clock
        self._installer = installer
        self._secrets = secrets
        self._definitions: dict[ObjectRef, tuple[SeenObject, DefinitionState]] = {}
        self._components: dict[ObjectRef, tuple[JsonObject | None, ComponentState]] = {}
        self._decoded: dict[ObjectRef, tuple[SeenObject, JsonObject]] = {}
        self._authorities: dict[ObjectRef, Sequence[str]] = {}
        self._trusted: dict[ObjectRef, tuple[Declared, Declared]] = {}
        self._kubernetes = ""

    async def observe(self, wanted: Wanted, foreign: Foreign | None = None) -> Observed:
        """Return how the installation is; *foreign* objects stand for those that are not ours."""
        deployments: dict[Component, JsonObject] = {}
        for component, ref in wanted.deployments.items():
            found = await self._object(ref) or (foreign or {}).get(ref)
            if found is not None:
                deployments[component] = found
        registrations = {ref: await self._object(ref) for ref in wanted.registrations}
        registered = {ref: one for ref, one in registrations.items() if one is not None}
        found_bundles = {ref: ca_bundles([one]) for ref, one in registered.items()}
        self._authorities |= {ref: found for ref, found in found_bundles.items() if all(found)}
        return Observed(
            deployments=deployments,
            components=tuple(
                self._component(
                    component, wanted.deployments[component], deployments.get(component)
                )
                for component in Component
                if component in wanted.deployments
            ),
            definitions=tuple(
                [await self._definition(one.ref) for one in wanted.of(InstallStep.DEFINITIONS)]
            ),
            registrations=tuple(registered.values()),
            helpers=tuple([await self._helper(ref) for ref in wanted.helpers]),
        )

    def trusting(self, wanted: Wanted) -> Wanted:
        """Return what is wanted with registrations that come back with the CA bundles they had.

        Until the cainjector has found them again, the API server would refuse what the webhook
        is to judge.
        """
        found = [self._trusting_one(one) for one in wanted.of(InstallStep.REGISTRATIONS)]
        return wanted.with_step(InstallStep.REGISTRATIONS, found)

    def _trusting_one(self, one: Declared) -> Declared:
        """Return the same object for the same: what does not change is not looked at again."""
        known = self._trusted.get(one.ref)
        if known is None or known[0] is not one:
            rules = replace(one.rules, created_as=self._with_authorities)
            known = self._trusted[one.ref] = (one, Declared(one.obj, rules))
        return known[1]

    def _with_authorities(self, obj: JsonObject) -> JsonObject:
        webhooks = obj.get("webhooks") or ()
        bundles = self._authorities.get(ObjectRef.of(obj), ())
        if not bundles or len(bundles) != len(webhooks):
            return obj
        trusted = [
            {**webhook, "clientConfig": {**webhook["clientConfig"], "caBundle": bundle}}
            for webhook, bundle in zip(webhooks, bundles, strict=True)
        ]
        return {**obj, "webhooks": trusted}

    async def _helper(self, ref: ObjectRef) -> ComponentState:
        return self._component(None, ref, await self._object(ref))

    def _component(
        self, component: Component | None, ref: ObjectRef, found: JsonObject | None
    ) -> ComponentState:
        """Return how a component runs; it is judged once, for each step looks."""
        known = self._components.get(ref)
        if known is None or known[0] is not found:
            known = self._components[ref] = (found, component_state(component, ref, found))
        return known[1]

    async def _object(self, ref: ObjectRef) -> JsonObject | None:
        """Return one of our objects, not to be changed; it is decoded once, for each step looks."""
        entry = await self._entry(ref)
        if entry is None:
            self._decoded.pop(ref, None)
            return None
        known = self._decoded.get(ref)
        if known is None or known[0] is not entry:
            known = self._decoded[ref] = (entry, entry.obj())
        return known[1]

    async def _entry(self, ref: ObjectRef) -> SeenObject | None:
        """Return what a store has of an object; nothing if it may not be read, as writing tells."""
        try:
            return await self._installer.entry(ref)
        except ApiError:
            return None

    async def _definition(self, ref: ObjectRef) -> DefinitionState:
        """Return how a definition is; it is decoded once, for it is large."""
        entry = await self._entry(ref)
        if entry is None:
            return definition_state(ref.name, None)
        known = self._definitions.get(ref)
        if known is None or known[0] is not entry:
            known = self._definitions[ref] = (entry, definition_state(ref.name, entry.obj()))
        return known[1]

    async def surroundings(
        self,
        wish: InstallRequest,
        wanted: Wanted,
        before: Previous,
        window: tuple[str, str] | None,
        versions: Sequence[str],
    ) -> tuple[Surroundings, Wanted, Foreign]:
        """Return what preflight has to know, and what is wanted without a namespace of others."""
        recorded = {ref.identity: ref for ref in refs_of(before.inventory)}
        namespace, ours = await self._namespace(wish.namespace)
        if namespace is not None and not ours:
            wanted = wanted.without_namespaces()
        unknown = {
            one.ref: one.rules
            for one in wanted.objects
            if one.ref.identity not in recorded
            and (one.ref.kind not in _UNGUARDED or one.rules.fall_back)
        }
        existing = await self._existing(unknown)
        wanted = wanted.taking_over(ref for ref, obj in existing.items() if is_inherited(obj))
        foreign = {ref: obj for ref, obj in existing.items() if not self._is_ours(obj)}
        left_alone = {ref for ref in foreign if unknown[ref].fall_back}
        wanted = wanted.without(left_alone)
        foreign = {ref: obj for ref, obj in foreign.items() if ref not in left_alone}
        others = () if recorded else await self._others(wanted)
        places = {ref.namespace for ref in recorded.values() if ref.kind == "Deployment"}
        around = Surroundings(
            kubernetes=await self._version() if window else "",
            window=window,
            foreign=tuple(foreign),
            others=tuple(others),
            left_alone=tuple(ref for ref in unknown if ref in left_alone),
            namespace=namespace if not ours else None,
            namespace_terminating=bool(
                namespace and namespace["metadata"].get("deletionTimestamp")
            ),
            installed_in=min(places, default="") if wish.namespace not in places else "",
            known_versions=versions,
        )
        return around, wanted, foreign

    async def _namespace(self, name: str) -> tuple[JsonObject | None, bool]:
        """Return a namespace, and whether it is ours."""
        entry = await self._entry(ObjectRef("v1", "Namespace", "", name))
        if entry is not None:
            return entry.obj(), True
        try:
            found = await self.client.get(Namespace, Key("", name))
        except NotFound:
            return None, True
        return found, self._is_ours(found)

    async def pull_secret(self, owner: Key, wish: InstallRequest) -> PullSecretDecision | None:
        """Return what to do about the Secret with which images are pulled, if one is meant."""
        if self._secrets is None or wish.pull_secret is None:
            return None
        return await self._secrets.pull_secret(owner, wish.pull_secret, wish.namespace)

    def forget(self, owner: Key) -> None:
        """Stop watching for a custom resource that is gone."""
        if self._secrets is not None:
            self._secrets.forget(owner)

    async def _existing(self, refs: Iterable[ObjectRef]) -> dict[ObjectRef, JsonObject]:
        """Return those of some objects that exist."""
        found: dict[ObjectRef, JsonObject] = {}
        slots = asyncio.Semaphore(CONCURRENCY)

        async def look(ref: ObjectRef) -> None:
            async with slots:
                obj = await self._read(ref)
            if obj is not None:
                found[ref] = obj

        async with asyncio.TaskGroup() as group:
            for ref in refs:
                group.create_task(look(ref))
        return {ref: found[ref] for ref in refs if ref in found}

    async def _read(self, ref: ObjectRef) -> JsonObject | None:
        if (entry := await self._entry(ref)) is not None:
            return entry.obj()
        try:
            resource = await self.client.discovery.resource_for(ref.gvk)
            return await self.client.get(resource, ref.key)
        except ApiError:
            return None  # it is not there, or applying it tells

    def _is_ours(self, obj: JsonObject) -> bool:
        metadata: JsonObject = obj["metadata"]
        marked = self._installer.annotation in (metadata.get("annotations") or {})
        # What a removal leaves, definitions above all, loses its mark, and was written by us.
        writers = {entry.get("manager") for entry in metadata.get("managedFields") or ()}
        return marked or self._installer.field_manager in writers or is_inherited(obj)

    async def _others(self, wanted: Wanted) -> list[ObjectRef]:
        """Return the Deployments of other cert-managers, wherever they are."""
        found: list[ObjectRef] = []
        own = set(wanted.deployments.values())
        async for page in self.client.pages(Deployment):
            for item in page.items:
                obj = orjson.loads(memoryview(item))
                ref = ObjectRef.of({"apiVersion": "apps/v1", "kind": "Deployment", **obj})
                if ref not in own and runs_controller(obj) and not self._is_ours(obj):
                    found.append(ref)
        return found

    async def _version(self) -> str:
        """Return the minor version of Kubernetes, asked for once."""
        if not self._kubernetes:
            answer = orjson.loads((await self.client.send(request.raw("/version"))).body)
            minor = "".join(filter(str.isdecimal, str(answer.get("minor") or "")))
            self._kubernetes = f"{answer.get('major') or 1}.{minor or 0}"
        return self._kubernetes
