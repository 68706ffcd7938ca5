"""Another namespace to install to."""

from collections.abc import Iterator
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.bundlecopy import (
    BASE,
    DEFINITION,
    REGISTRATIONS,
    BundleCopy,
)

INJECT_CA: Final = "cert-manager.io/inject-ca-from-secret"
_IN_BUNDLE: Final = "cert-manager"
"""Where bundles install to."""


def move_to_namespace(copy: BundleCopy, namespace: str) -> None:
    """Let all objects live in a namespace, and name it wherever the bundle names its own."""
    if namespace == _IN_BUNDLE:
        return
    for obj in copy.objects:
        _move(obj, namespace)
    for service in client_services(copy):
        if service.get("namespace") == _IN_BUNDLE:
            service["namespace"] = namespace
    for selector in _namespace_selectors(copy):
        for expression in selector.get("matchExpressions") or ():
            if expression.get("key") == "name" and expression.get("values") == [_IN_BUNDLE]:
                expression["values"] = [namespace]
    for one in copy.components():
        container = one.container
        container["args"] = [_renamed(arg, namespace) for arg in container.get("args") or ()]


def _move(obj: JsonObject, namespace: str) -> None:
    metadata = obj["metadata"]
    if metadata.get("namespace") == _IN_BUNDLE:
        metadata["namespace"] = namespace
    if obj["kind"] == "Namespace" and metadata["name"] == _IN_BUNDLE:
        metadata["name"] = namespace
    for subject in obj.get("subjects") or ():
        if subject.get("namespace") == _IN_BUNDLE:
            subject["namespace"] = namespace
    annotations = metadata.get("annotations") or {}
    at, slash, secret = str(annotations.get(INJECT_CA) or "").partition("/")
    if slash and at == _IN_BUNDLE:
        annotations[INJECT_CA] = f"{namespace}/{secret}"


def client_configs(copy: BundleCopy) -> Iterator[tuple[JsonObject, str]]:
    """Yield how the API server calls the webhook, and at which path: registrations, conversions."""
    for obj in copy.of(*REGISTRATIONS):
        path = "/mutate" if obj["kind"] == REGISTRATIONS[0] else "/validate"
        for webhook in obj.get("webhooks") or ():
            yield webhook["clientConfig"], path
    for obj in copy.of(DEFINITION):
        conversion: Any = (obj["spec"].get("conversion") or {}).get("webhook") or {}
        if isinstance(conversion.get("clientConfig"), dict):
            yield conversion["clientConfig"], "/convert"


def client_services(copy: BundleCopy) -> Iterator[JsonObject]:
    """Yield the Services through which the API server calls the webhook."""
    for config, _ in client_configs(copy):
        if isinstance(config.get("service"), dict):
            yield config["service"]


def _namespace_selectors(copy: BundleCopy) -> Iterator[JsonObject]:
    for obj in copy.of(*REGISTRATIONS):
        for webhook in obj.get("webhooks") or ():
            if isinstance(webhook.get("namespaceSelector"), dict):
                yield webhook["namespaceSelector"]


def _renamed(arg: str, namespace: str) -> str:
    """Return an argument that lists names of a Service, some of them with its namespace."""
    name, equals, value = arg.partition("=")
    if name != "--dynamic-serving-dns-names":
        return arg
    old = f"{BASE}-webhook.{_IN_BUNDLE}"
    names = [
        f"{BASE}-webhook.{namespace}{text.removeprefix(old)}"
        if text == old or text.startswith(f"{old}.")
        else text
        for text in value.split(",")
    ]
    return f"{name}{equals}{','.join(names)}"
