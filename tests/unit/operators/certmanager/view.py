"""Render a sample bundle and look at what comes out."""

from collections.abc import Mapping
from typing import Any

from tests.support.certmanager.samplebundle import NEW, TABLES

from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
from certwright.operators.certmanager.render import RenderedObjects, render
from certwright.operators.certmanager.request import Component, ComponentRequest, InstallRequest

CONTROLLER, CAINJECTOR, WEBHOOK = Component
NAMES = {
    CONTROLLER: "cert-manager",
    CAINJECTOR: "cert-manager-cainjector",
    WEBHOOK: "cert-manager-webhook",
}


class View:
    """What was rendered, by kind and name."""

    def __init__(self, rendered: RenderedObjects) -> None:
        self.rendered = rendered
        self.objects = [declared.obj for declared in rendered.objects()]

    def get(self, kind: str, name: str) -> JsonObject:
        """Return the one object of this kind and name."""
        (found,) = self.find(kind, name)
        return found

    def find(self, kind: str, name: str = "") -> list[JsonObject]:
        """Return all objects of a kind, and a name if one is given."""
        return [
            obj
            for obj in self.objects
            if obj["kind"] == kind and (not name or obj["metadata"]["name"] == name)
        ]

    def deployment(self, component: Component = CONTROLLER) -> JsonObject:
        """Return the Deployment of a component."""
        return self.get("Deployment", NAMES[component])

    def template(self, component: Component = CONTROLLER) -> JsonObject:
        """Return the template of a component's pods."""
        template: JsonObject = self.deployment(component)["spec"]["template"]
        return template

    def pod(self, component: Component = CONTROLLER) -> JsonObject:
        """Return the spec of a component's pods."""
        pod: JsonObject = self.template(component)["spec"]
        return pod

    def container(self, component: Component = CONTROLLER) -> JsonObject:
        """Return the container of a component."""
        container: JsonObject = self.pod(component)["containers"][0]
        return container

    def args(self, component: Component = CONTROLLER) -> list[str]:
        """Return the arguments of a component."""
        args: list[str] = self.container(component)["args"]
        return args


def rendered(bundle: Bundle = NEW, **wanted: Any) -> View:
    """Render a request; words that are components are what is wanted of them."""
    components: Mapping[Component, ComponentRequest] = {
        component: ComponentRequest(**wanted.pop(component.value))
        for component in Component
        if isinstance(wanted.get(component.value), dict)
    }
    request = InstallRequest(version=bundle.version, components=components, **wanted)
    return View(render(request, bundle, TABLES))
