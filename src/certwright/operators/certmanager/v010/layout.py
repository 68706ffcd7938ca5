"""All objects of the 0.10 layout, each with the rules by which it is kept.

What others installed under the same name is left alone, and named. Only Deployments are taken over,
for there the name decides which pods run.
"""

from typing import Final

from certwright.apply import Adopt, Declared, Rules
from certwright.kube import JsonObject
from certwright.operators.certmanager.render import InstallStep, RenderedObjects
from certwright.operators.certmanager.request import Component, InstallRequest
from certwright.operators.certmanager.v010.admission import api_service, configurations, service
from certwright.operators.certmanager.v010.definitions import definitions
from certwright.operators.certmanager.v010.deployments import (
    cainjector,
    config_map_watcher,
    controller,
    webhook,
)
from certwright.operators.certmanager.v010.names import NO_VALIDATION, RESTARTED, VERSION
from certwright.operators.certmanager.v010.roles import authentication_reader, roles

_LEFT_TO_OTHERS: Final = Rules(adopt=Adopt.NEVER, fall_back=True)
"""Created if it is missing, repaired if it is ours, left alone if it is not."""
_REPLACEABLE: Final = Rules(adopt=Adopt.NEVER, fall_back=True, recreate=True)
"""The same of what may be deleted to change it: what a binding refers to cannot be changed."""
_DEPLOYMENT: Final = Rules(
    recreate=True,
    ignored=tuple(
        (*place, "labels", label)
        for place in (("metadata",), ("spec", "template", "metadata"))
        for label in RESTARTED
    ),
)


def layout(request: InstallRequest) -> RenderedObjects:
    """Return what is to be in the cluster, by the step in which it is brought there."""
    namespace, has_webhook = request.namespace, request.component(Component.WEBHOOK).enabled
    steps = {
        InstallStep.NAMESPACE: [Declared(_namespace(namespace), _LEFT_TO_OTHERS)],
        InstallStep.DEFINITIONS: [Declared(one, _LEFT_TO_OTHERS) for one in definitions()],
        InstallStep.ROLES: [Declared(one, _REPLACEABLE) for one in roles(namespace)],
        InstallStep.CONTROLLER: [
            Declared(controller(request), _DEPLOYMENT),
            Declared(config_map_watcher(request), _DEPLOYMENT),
        ],
    }
    if has_webhook:
        steps[InstallStep.ROLES].append(Declared(authentication_reader(namespace), _REPLACEABLE))
        steps[InstallStep.CAINJECTOR] = [Declared(cainjector(request), _DEPLOYMENT)]
        steps[InstallStep.WEBHOOK] = [
            Declared(service(namespace), _REPLACEABLE),
            Declared(webhook(request), _DEPLOYMENT),
        ]
        steps[InstallStep.REGISTRATIONS] = [
            Declared(_labelled(one, request), _REPLACEABLE)
            for one in (api_service(namespace), *configurations(namespace))
        ]
    return RenderedObjects(VERSION, {step: tuple(objects) for step, objects in steps.items()})


def _namespace(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {NO_VALIDATION: "true"}},
    }


def _labelled(obj: JsonObject, request: InstallRequest) -> JsonObject:
    metadata: JsonObject = obj["metadata"]
    labels = {**request.common_labels, **metadata["labels"]}
    return {**obj, "metadata": {**metadata, "labels": labels}}
