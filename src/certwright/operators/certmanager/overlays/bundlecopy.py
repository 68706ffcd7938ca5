"""The objects of a bundle while overlays change them."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
from certwright.operators.certmanager.request import Component, ComponentRequest, InstallRequest

BASE: Final = "cert-manager"
"""The name that all others begin with."""
DEFINITION: Final = "CustomResourceDefinition"
REGISTRATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_SUFFIXES: Final = {
    Component.CAINJECTOR: f"{BASE}-cainjector",
    Component.WEBHOOK: f"{BASE}-webhook",
}


@dataclass(frozen=True, slots=True)
class ComponentObjects:
    """One component: what is wanted of it, and its Deployment."""

    component: Component
    wanted: ComponentRequest
    deployment: JsonObject

    @property
    def spec(self) -> JsonObject:
        """The Deployment's."""
        return child(self.deployment, "spec")

    @property
    def template(self) -> JsonObject:
        """The template of its pods."""
        return child(self.spec, "template")

    @property
    def pod(self) -> JsonObject:
        """The spec of its pods."""
        return child(self.template, "spec")

    @property
    def container(self) -> JsonObject:
        """The container of cert-manager."""
        first: JsonObject = self.pod["containers"][0]
        return first

    @property
    def name(self) -> str:
        """The Deployment's name, which others of the component have too."""
        return str(self.deployment["metadata"]["name"])

    @property
    def selector(self) -> Mapping[str, str]:
        """The labels by which its pods are found."""
        labels: Mapping[str, str] = self.spec["selector"]["matchLabels"]
        return labels


class BundleCopy:
    """The objects of a bundle, to be changed."""

    def __init__(self, bundle: Bundle, request: InstallRequest) -> None:
        self.version = bundle.version
        self.objects = [_copied(obj) for obj in bundle.objects]
        self._request = request

    def of(self, *kinds: str) -> Iterator[JsonObject]:
        """Yield the objects of these kinds."""
        return (obj for obj in list(self.objects) if obj["kind"] in kinds)

    def find(self, kind: str, name: str) -> JsonObject | None:
        """Return an object by kind and name; None if there is none."""
        return next((obj for obj in self.of(kind) if obj["metadata"]["name"] == name), None)

    def components(self) -> Iterator[ComponentObjects]:
        """Yield the components that there are, in their order."""
        found = {component_of(obj): obj for obj in self.of("Deployment")}
        for component in Component:
            if component in found:
                wanted = self._request.component(component)
                yield ComponentObjects(component, wanted, found[component])

    def component(self, component: Component) -> ComponentObjects | None:
        """Return one component; None if the bundle does not have it."""
        return next((one for one in self.components() if one.component is component), None)

    def of_component(self, component: Component, *kinds: str) -> Iterator[JsonObject]:
        """Yield the objects of these kinds that belong to a component."""
        return (obj for obj in self.of(*kinds) if component_of(obj) is component)

    def remove(self, obj: JsonObject) -> None:
        """Take an object out."""
        self.objects = [other for other in self.objects if other is not obj]

    def add(self, obj: JsonObject) -> None:
        """Add an object, in the place of the one of its kind and name if there is one."""
        metadata = obj["metadata"]
        for position, other in enumerate(self.objects):
            place = (other["kind"], other["metadata"].get("namespace"), other["metadata"]["name"])
            if place == (obj["kind"], metadata.get("namespace"), metadata["name"]):
                self.objects[position] = obj
                return
        self.objects.append(obj)


def component_of(obj: JsonObject) -> Component:
    """Return which component an object belongs to, as its name says."""
    name = str(obj["metadata"]["name"])
    for component, start in _SUFFIXES.items():
        if name.startswith(start):
            return component
    return Component.CONTROLLER


def child(obj: JsonObject, name: str) -> JsonObject:
    """Return a map inside another, made if it is missing."""
    value = obj.get(name)
    if not isinstance(value, dict):
        value = obj[name] = {}
    return value


def merged(base: Any, over: Any) -> Any:
    """Merge maps into each other as Helm merges values: None removes, all else replaces."""
    if not isinstance(base, dict) or not isinstance(over, Mapping):
        return deepcopy(dict(over)) if isinstance(over, Mapping) else deepcopy(over)
    result = dict(base)
    for name, value in over.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _copied(obj: JsonObject) -> JsonObject:
    """Copy an object; of a definition, whose schemas are large, only what overlays change."""
    if obj["kind"] != DEFINITION:
        return deepcopy(obj)
    spec = dict(obj["spec"])
    if "conversion" in spec:
        spec["conversion"] = deepcopy(spec["conversion"])
    return {**obj, "metadata": deepcopy(obj["metadata"]), "spec": spec}
