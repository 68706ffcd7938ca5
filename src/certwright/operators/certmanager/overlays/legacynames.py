"""The naming profile Legacy: names, selectors and labels of the first operator of this kind.

Deployments cannot change their selectors, so what that operator installed keeps them. Its mistakes
are not repeated: each object has the labels of its own component, and only the roles for users are
added to others.
"""

from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.access import AGGREGATION
from certwright.operators.certmanager.overlays.bundlecopy import (
    BASE,
    DEFINITION,
    BundleCopy,
    component_of,
)
from certwright.operators.certmanager.overlays.followers import ELECTION
from certwright.operators.certmanager.request import Component

INSTANCE: Final = "cluster"
"""The name of the only custom resource that operator acted on."""
_LABEL: Final = "app.kubernetes.io/"
_STANDARD: Final = {"app": BASE, f"{_LABEL}managed-by": "operator"}
_CONTROLLER: Final = f"{BASE}-controller"


def legacy_names(copy: BundleCopy) -> None:
    """Give all objects the names, selectors and labels of the profile Legacy."""
    for one in copy.components():
        selector = _selector(one.component)
        one.spec["selector"] = {"matchLabels": dict(selector)}
        one.template.setdefault("metadata", {})["labels"] = dict(selector)
        one.container["name"] = BASE
        for service in copy.of_component(one.component, "Service"):
            service["spec"]["selector"] = dict(selector)
    for obj in copy.objects:
        metadata = obj["metadata"]
        metadata["labels"] = _labels(obj)
        if obj["kind"] == "Namespace":
            del metadata["labels"]
        if obj["kind"] in {"Deployment", "Service"} and metadata["name"] == BASE:
            metadata["name"] = _CONTROLLER
        if obj["kind"] in {"Role", "RoleBinding"} and metadata["name"] == f"{BASE}{ELECTION}":
            metadata["name"] = f"{_CONTROLLER}{ELECTION}"
        role = obj.get("roleRef") or {}
        if role.get("name") == f"{BASE}{ELECTION}":
            role["name"] = f"{_CONTROLLER}{ELECTION}"


def _selector(component: Component) -> dict[str, str]:
    return {
        f"{_LABEL}component": component.value,
        f"{_LABEL}name": component.value,
        f"{_LABEL}instance": INSTANCE,
    }


def _labels(obj: JsonObject) -> dict[str, str]:
    if obj["kind"] == DEFINITION:
        return {**_STANDARD, f"{_LABEL}instance": BASE, f"{_LABEL}name": BASE}
    component = component_of(obj).value
    before = obj["metadata"].get("labels") or {}
    added = {name: value for name, value in before.items() if name.startswith(AGGREGATION)}
    own = {f"{_LABEL}component": component, f"{_LABEL}name": component}
    return {**_STANDARD, **own, **added}
