"""In what a rendered request and the chart, given the same values, may differ, and why.

Each function takes all objects of one side and returns them without one difference. What is not
listed here is a mistake.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

import yaml

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.configfile import DIGEST

Objects = list[JsonObject]
_LISTS = {
    "dynamic-serving-dns-names",
    "acme-http01-solver-extra-labels",
    "dns01-recursive-nameservers",
    "acme-http01-solver-nameservers",
    "tls-cipher-suites",
    "feature-gates",
    "copied-annotation-prefixes",
}


def _pods(objects: Objects) -> Iterator[JsonObject]:
    for obj in objects:
        if obj["kind"] == "Deployment":
            yield obj["spec"]["template"]


def _containers(objects: Objects) -> Iterator[JsonObject]:
    for pod in _pods(objects):
        yield pod["spec"]["containers"][0]


def the_namespace_itself(objects: Objects) -> Objects:
    """Helm creates it, or a person does; the operator has it as an object."""
    return [obj for obj in objects if obj["kind"] != "Namespace"]


def definitions(objects: Objects) -> Objects:
    """Helm keeps them by an annotation that means nothing to an operator."""
    for obj in objects:
        if obj["kind"] == "CustomResourceDefinition":
            annotations = obj["metadata"].get("annotations") or {}
            annotations.pop("helm.sh/resource-policy", None)
            if not annotations:
                obj["metadata"].pop("annotations", None)
            obj.pop("status", None)
    return objects


def nothing_in_other_words(objects: Objects) -> Objects:
    """Templates leave empty fields behind."""
    return [_without_empty(obj) for obj in objects]


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value


def order_of_arguments(objects: Objects) -> Objects:
    """Helm appends to its defaults, of which the last counts; an operator replaces a default."""
    for container in _containers(objects):
        found: dict[str, Any] = {}
        for arg in container.get("args") or ():
            name, _, value = arg.lstrip("-").partition("=")
            if name in _LISTS:
                found[name] = sorted([*found.get(name, ()), *value.split(",")])
            else:
                found[name] = value.strip('"')
        container["args"] = found
    return objects


def order_of_variables(objects: Objects) -> Objects:
    """Variables do not depend on each other; the last of a name counts."""
    for container in _containers(objects):
        container["env"] = {item["name"]: item for item in container.get("env") or ()}
    return objects


def tags_beside_digests(objects: Objects) -> Objects:
    """Some charts drop the tag where a digest is given; it says which version it is."""
    for container in _containers(objects):
        container["image"] = _without_tag(container["image"])
        args = container["args"]
        if "acme-http01-solver-image" in args:
            args["acme-http01-solver-image"] = _without_tag(args["acme-http01-solver-image"])
    return objects


def _without_tag(image: str) -> str:
    name, at, digest = image.partition("@")
    return f"{name.rpartition(':')[0] or name}@{digest}" if at else image


def secrets_for_pulling(objects: Objects) -> Objects:
    """Helm lists them in ServiceAccounts, whose list belongs to the cluster on some platforms."""
    listed = {
        obj["metadata"]["name"]: obj.pop("imagePullSecrets")
        for obj in objects
        if obj["kind"] == "ServiceAccount" and obj.get("imagePullSecrets")
    }
    for pod in _pods(objects):
        account = pod["spec"].get("serviceAccountName")
        if account in listed:
            pod["spec"]["imagePullSecrets"] = listed[account]
    return objects


def text_of_files(objects: Objects) -> Objects:
    """A configuration file is JSON, which is YAML; pods carry its digest to notice changes.

    Charts until 1.12 forget some labels of its ConfigMap.
    """
    kept = []
    for obj in objects:
        if obj["kind"] == "ConfigMap":
            text = (obj.get("data") or {}).get("config.yaml")
            if text is None:
                continue  # the charts of a few versions add an empty one
            obj["data"]["config.yaml"] = yaml.safe_load(text)
            obj["metadata"].pop("labels", None)
        kept.append(obj)
    for pod in _pods(kept):
        (pod["metadata"].get("annotations") or {}).pop(DIGEST, None)
    return kept


def order_of_values(objects: Objects) -> Objects:
    """The values of an expression of a selector are a set, and so are its expressions."""
    for obj in objects:
        if obj["kind"] in {"ServiceMonitor", "PodMonitor"}:
            expressions = obj["spec"]["selector"].get("matchExpressions") or []
            for expression in expressions:
                expression["values"].sort()
            expressions.sort(key=lambda found: str(found["key"]))
    return objects


def monitors_of_earlier_charts(objects: Objects) -> Objects:
    """Until 1.18 the label of the job and the port are others, with the same effect."""
    for obj in objects:
        if obj["kind"] in {"ServiceMonitor", "PodMonitor"}:
            spec = obj["spec"]
            spec.pop("jobLabel", None)
            for endpoint in spec.get("endpoints") or spec.get("podMetricsEndpoints") or ():
                ports = [endpoint.pop(name, None) for name in ("port", "targetPort")]
                assert {*ports} & {"http-metrics", "tcp-prometheus-servicemonitor", 9402}
    return objects


def a_cainjector_that_is_not_wanted(objects: Objects) -> Objects:
    """Charts look for its metrics nonetheless, and those of 1.16 and 1.17 have a Service for it."""
    name = "cert-manager-cainjector"
    if any(obj["kind"] == "Deployment" and obj["metadata"]["name"] == name for obj in objects):
        return objects
    for obj in objects:
        if obj["kind"] in {"ServiceMonitor", "PodMonitor"}:
            for expression in obj["spec"]["selector"].get("matchExpressions") or ():
                values = [value for value in expression["values"] if value != "cainjector"]
                expression["values"] = values
    return [obj for obj in objects if obj["kind"] != "Service" or obj["metadata"]["name"] != name]


def selectors_of_early_policies(objects: Objects) -> Objects:
    """Until 1.12 they select pods by one label more than Deployments do."""
    for obj in objects:
        if obj["kind"] == "NetworkPolicy":
            obj["spec"]["podSelector"]["matchLabels"].pop("app", None)
    return objects


def names_on_the_host_network(objects: Objects) -> Objects:
    """Until 1.13 charts forget that pods on the host network look up names elsewhere."""
    for pod in _pods(objects):
        if pod["spec"].get("hostNetwork"):
            pod["spec"].pop("dnsPolicy", None)
    return objects


def role_for_tokens(objects: Objects) -> Objects:
    """The charts of 1.16 to 1.20 name it by the ServiceAccount; here an account has no such say."""
    end = "-tokenrequest"
    for obj in objects:
        if obj["kind"] in {"Role", "RoleBinding"} and obj["metadata"]["name"].endswith(end):
            obj["metadata"]["name"] = end
            if "roleRef" in obj:
                obj["roleRef"]["name"] = end
    return objects


DIFFERENCES: tuple[Callable[[Objects], Objects], ...] = (
    the_namespace_itself,
    definitions,
    nothing_in_other_words,
    order_of_arguments,
    order_of_variables,
    tags_beside_digests,
    secrets_for_pulling,
    text_of_files,
    order_of_values,
    monitors_of_earlier_charts,
    a_cainjector_that_is_not_wanted,
    selectors_of_early_policies,
    names_on_the_host_network,
    role_for_tokens,
    nothing_in_other_words,
)


def comparable(objects: Iterable[JsonObject]) -> dict[str, JsonObject]:
    """Return objects by kind and name, without what may differ."""
    found = [deepcopy(obj) for obj in objects]
    for difference in DIFFERENCES:
        found = difference(found)
    return {
        f"{obj['kind']} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}": obj
        for obj in found
    }


def differing(ours: Iterable[JsonObject], theirs: Iterable[JsonObject]) -> list[str]:
    """Return in what two sides differ that may not differ, one line for each place."""
    mine, other = comparable(ours), comparable(theirs)
    lines = []
    for name in sorted({*mine, *other}):
        if name not in other:
            lines.append(f"{name}: only ours")
        elif name not in mine:
            lines.append(f"{name}: only Helm's")
        else:
            lines += [f"{name}{line}" for line in _paths(mine[name], other[name])]
    return lines


def _paths(mine: Any, other: Any, path: str = "") -> Iterator[str]:
    if mine == other:
        return
    if isinstance(mine, dict) and isinstance(other, dict):
        for key in sorted({*mine, *other}):
            yield from _paths(mine.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
        for number, (one, two) in enumerate(zip(mine, other, strict=True)):
            yield from _paths(one, two, f"{path}[{number}]")
    else:
        yield f"{path}: ours {json.dumps(mine)[:200]}, Helm's {json.dumps(other)[:200]}"
