"""How components and definitions are, read from their objects; pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from certwright.apply import ObjectRef
from certwright.kube import JsonObject
from certwright.operators.certmanager.request import Component

VERSION_ANNOTATION: Final = "operators.redhat.io/cert-manager-version"
"""On each Deployment: which version it was written for. Its images may be named otherwise."""
VERSION_LABEL: Final = "app.kubernetes.io/version"


FORMER_OWNERS: Final = frozenset({"CertManagerDeployment", "CertManager"})
"""Kinds that earlier operators named as the owner of what they installed."""
_CONTROLLER: Final = "cert-manager-controller"
"""How the image of the controller of any cert-manager ends, without its tag."""
_CONTROLLER_LABELS: Final = (
    {"app.kubernetes.io/name": "cert-manager", "app.kubernetes.io/component": "controller"},
    {"app": "ibm-cert-manager-controller"},
)
"""What tells it, too."""


def is_inherited(obj: JsonObject) -> bool:
    """Return whether an earlier operator installed an object for one of our custom resources."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") in FORMER_OWNERS for owner in owners)


def runs_controller(deployment: JsonObject) -> bool:
    """Return whether a Deployment runs the controller of some cert-manager."""
    labels = (deployment["metadata"].get("labels") or {}).items()
    if any(labels >= told.items() for told in _CONTROLLER_LABELS):
        return True
    pod = _part(_part(_part(deployment, "spec"), "template"), "spec")
    images = (str(one.get("image") or "") for one in pod.get("containers") or ())
    return any(_image_name(image).endswith(_CONTROLLER) for image in images)


def _image_name(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentState:
    """How one component runs."""

    component: Component | None
    """None for what runs besides the three."""
    ref: ObjectRef
    found: bool = False
    version: str = ""
    """What its Deployment was written for, whether that is rolled out or not."""
    desired: int = 0
    total: int = 0
    updated: int = 0
    ready: int = 0
    available: int = 0
    observed: bool = False
    """Whether the status is about the latest spec."""
    image: str = ""
    args_hash: str = ""
    conditions: Sequence[JsonObject] = ()
    selector: Mapping[str, str] | None = None
    uid: str = ""
    resource_version: str = ""

    @property
    def rolled_out(self) -> bool:
        """Whether the pods are those of its latest spec, all of them available, and no others."""
        counts = {self.total, self.updated, self.ready, self.available}
        return self.found and self.observed and counts == {self.desired}

    @property
    def healthy(self) -> bool:
        """Whether as many pods are ready and available as there should be, whichever they are."""
        return self.found and self.available == self.ready == self.desired


def component_state(
    component: Component | None, ref: ObjectRef, deployment: JsonObject | None
) -> ComponentState:
    """Return how a component runs, from its Deployment."""
    if deployment is None:
        return ComponentState(component=component, ref=ref)
    spec, status = _part(deployment, "spec"), _part(deployment, "status")
    metadata: JsonObject = deployment["metadata"]
    container = first_container(deployment)
    replicas = spec.get("replicas")
    return ComponentState(
        component=component,
        ref=ref,
        found=True,
        version=version_of(deployment),
        desired=1 if replicas is None else int(replicas),
        total=int(status.get("replicas") or 0),
        updated=int(status.get("updatedReplicas") or 0),
        ready=int(status.get("readyReplicas") or 0),
        available=int(status.get("availableReplicas") or 0),
        observed=int(status.get("observedGeneration") or 0) >= int(metadata.get("generation") or 0),
        image=str(container.get("image") or ""),
        args_hash=_hash(container.get("args") or []),
        conditions=tuple(status.get("conditions") or ()),
        selector=_part(spec, "selector").get("matchLabels") or {},
        uid=str(metadata.get("uid") or ""),
        resource_version=str(metadata.get("resourceVersion") or ""),
    )


def version_of(deployment: JsonObject) -> str:
    """Return the version of cert-manager a Deployment is for; empty if it does not tell."""
    metadata: JsonObject = deployment.get("metadata") or {}
    noted = (metadata.get("annotations") or {}).get(VERSION_ANNOTATION)
    labelled = (metadata.get("labels") or {}).get(VERSION_LABEL)
    image = str(first_container(deployment).get("image") or "")
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return str(noted or labelled or tag or "")


def first_container(deployment: JsonObject) -> JsonObject:
    """Return the container of a Deployment that is cert-manager's own; {} if there is none."""
    pod = _part(_part(_part(deployment, "spec"), "template"), "spec")
    containers = pod.get("containers") or []
    named = [one for one in containers if str(one.get("name") or "").startswith("cert-manager")]
    first: JsonObject = (named or containers or [{}])[0]
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionState:
    """How a CustomResourceDefinition is."""

    name: str
    found: bool = False
    established: bool = False
    """Whether it is served, and its names are accepted."""
    stored: tuple[str, ...] = ()
    """Versions in which objects may be stored."""
    storage: str = ""
    """The version in which they are stored from now on."""
    conditions: Sequence[JsonObject] = ()


def definition_state(name: str, definition: JsonObject | None) -> DefinitionState:
    """Return how a definition is."""
    if definition is None:
        return DefinitionState(name=name)
    status = _part(definition, "status")
    conditions = tuple(status.get("conditions") or ())
    true = {one.get("type") for one in conditions if one.get("status") == "True"}
    return DefinitionState(
        name=name,
        found=True,
        established={"Established", "NamesAccepted"} <= true,
        stored=tuple(map(str, status.get("storedVersions") or ())),
        storage=storage_version(definition),
        conditions=conditions,
    )


def storage_version(definition: JsonObject) -> str:
    """Return the version in which a definition has objects stored."""
    versions = _part(definition, "spec").get("versions") or ()
    return next((str(one.get("name")) for one in versions if one.get("storage")), "")


def version_names(definition: JsonObject) -> frozenset[str]:
    """Return the versions that a definition lists, served or not."""
    versions = _part(definition, "spec").get("versions") or ()
    return frozenset(str(one.get("name")) for one in versions)


def ca_bundles(registrations: Iterable[JsonObject]) -> list[str]:
    """Return the CA bundles of all webhooks in registrations, empty where one has none."""
    return [
        str(client.get("caBundle") or "")
        for one in registrations
        for client in (
            [_part(one, "spec")]
            if one.get("kind") == "APIService"
            else [webhook.get("clientConfig") or {} for webhook in one.get("webhooks") or ()]
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The installation as it is."""

    deployments: Mapping[Component, JsonObject] = field(default_factory=dict)
    components: tuple[ComponentState, ...] = ()
    definitions: tuple[DefinitionState, ...] = ()
    registrations: tuple[JsonObject, ...] = ()
    helpers: tuple[ComponentState, ...] = ()
    """What runs besides the three components."""

    def component(self, component: Component) -> ComponentState | None:
        """Return how a component is; None if none is wanted."""
        return next((one for one in self.components if one.component is component), None)

    @property
    def installed_version(self) -> str:
        """The version that all components run, rolled out; empty if there is no such."""
        versions = {one.version for one in self.components}
        rolled_out = self.components and all(one.rolled_out for one in self.components)
        return versions.pop() if rolled_out and len(versions) == 1 else ""


def _part(obj: Mapping[str, Any], name: str) -> JsonObject:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def _hash(args: Any) -> str:
    return hashlib.sha256(orjson.dumps(args)).hexdigest()[:16]
