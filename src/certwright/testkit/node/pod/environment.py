"""The variables and arguments of a container: kubelet's rules, and the way to this machine's paths.

There is no container around a process, so what its spec says of paths and ports inside is
translated: a path below a mount becomes one in the pod's folder, a declared port the port of
127.0.0.1 that stands for it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from typing import Final

from certwright.kube import JsonObject, Quantity
from certwright.testkit.node.pod.facts import all_containers

_REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
_KEYED_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_PORT_AT_END: Final = re.compile(r"(?:(?<=[=:])|^)(\d{1,5})$")
NODE_CAPACITY: Final = {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "10Gi"}
"""What the node has, and what containers without limits are told theirs are."""


class ContainerConfigError(ValueError):
    """What a container refers to is not there; the message is the one of the API."""


@dataclass(frozen=True, slots=True)
class ObjectRead:
    """Which object a pod refers to, in its own namespace."""

    kind: str
    """``ConfigMap`` or ``Secret``."""
    name: str


Objects = Mapping[ObjectRead, Mapping[str, bytes] | None]
"""The contents of referenced objects; None for those that do not exist. No repr: secrets."""


@dataclass(frozen=True, slots=True)
class PodAddress:
    """Where a pod is, as far as its own variables tell."""

    node: str
    host_ip: str
    ip: str


@dataclass(frozen=True, slots=True)
class Translation:
    """From paths and ports inside a container to those of this machine."""

    paths: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[int, int] = field(default_factory=dict)

    def translate(self, word: str) -> str:
        """Return a word of a command line, or a variable, as it is true on this machine."""
        for inside in sorted(self.paths, key=len, reverse=True):
            whole = rf"(?<![\w./-]){re.escape(inside)}(?![\w.-])"
            outside = self.paths[inside]
            word = re.sub(whole, outside.replace("\\", r"\\"), word)
        return _PORT_AT_END.sub(self._port, word)

    def _port(self, found: re.Match[str]) -> str:
        return str(self.ports.get(int(found[1]), found[1]))


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by variables that exist; ``$$`` stands for a dollar."""

    def value(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])

    return _REFERENCE.sub(value, text)


def referenced_by_variables(container: JsonObject) -> Iterator[ObjectRead]:
    """Yield the objects that the variables of a container come from."""
    for source in container.get("envFrom") or ():
        for field_, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if reference := source.get(field_):
                yield ObjectRead(kind, reference["name"])
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        for field_, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            if reference := source.get(field_):
                yield ObjectRead(kind, reference["name"])


def environment(
    pod: JsonObject,
    container: JsonObject,
    objects: Objects,
    address: PodAddress,
    services: Mapping[str, str],
) -> dict[str, str]:
    """Return the variables of a container; `ContainerConfigError` if a source is missing."""
    variables: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        variables |= _all_of(source, objects)
    for variable in container.get("env") or ():
        name = variable["name"]
        if "valueFrom" not in variable or variable["valueFrom"] is None:
            given = variable.get("value") or ""
            variables[name] = expand(given, {**services, **variables})
        else:
            value = _sourced(variable["valueFrom"], pod, container, objects, address)
            if value is not None:
                variables[name] = value
    return {**services, **variables}


def _all_of(source: JsonObject, objects: Objects) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field_, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if reference := source.get(field_):
            content = _content(kind, reference, objects)
            return {f"{prefix}{key}": _text(value) for key, value in content.items()}
    return {}


def _sourced(
    source: JsonObject,
    pod: JsonObject,
    container: JsonObject,
    objects: Objects,
    address: PodAddress,
) -> str | None:
    """Return the value of one variable; None if it is optional and its source missing."""
    if reference := source.get("fieldRef"):
        return pod_field(pod, reference["fieldPath"], address)
    if reference := source.get("resourceFieldRef"):
        return container_resource(pod, container["name"], reference)
    for field_, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if reference := source.get(field_):
            content, key = _content(kind, reference, objects), reference["key"]
            if key in content:
                return _text(content[key])
            if reference.get("optional"):
                return None
            where = f"{pod['metadata']['namespace']}/{reference['name']}"
            raise ContainerConfigError(f"couldn't find key {key} in {kind} {where}")
    return None


def _text(value: bytes) -> str:
    """Return bytes as the operating system takes them in variables, whatever they are."""
    return value.decode("utf-8", "surrogateescape")


def _content(kind: str, reference: JsonObject, objects: Objects) -> Mapping[str, bytes]:
    content = objects[ObjectRead(kind, reference["name"])]
    if content is None and not reference.get("optional"):
        raise ContainerConfigError(f'{kind.lower()} "{reference["name"]}" not found')
    return content or {}


def pod_field(pod: JsonObject, path: str, address: PodAddress) -> str:
    """Return a field of a pod as its variables and files show it."""
    metadata, spec = pod["metadata"], pod["spec"]
    if keyed := _KEYED_FIELD.fullmatch(path):
        return str((metadata.get(keyed[1]) or {}).get(keyed[2], ""))
    if path in {"metadata.labels", "metadata.annotations"}:
        pairs = metadata.get(path.partition(".")[2]) or {}
        return "\n".join(f"{key}={_quoted(pairs[key])}" for key in sorted(pairs))
    simple = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": address.node,
        "spec.serviceAccountName": spec.get("serviceAccountName") or "default",
        "status.hostIP": address.host_ip,
        "status.hostIPs": address.host_ip,
        "status.podIP": address.ip,
        "status.podIPs": address.ip,
    }
    if path not in simple:
        raise ContainerConfigError(f"unsupported fieldPath: {path}")
    return str(simple[path])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def container_resource(pod: JsonObject, name: str, reference: JsonObject) -> str:
    """Return a request or limit of a container, divided and rounded up."""
    wanted = reference.get("containerName") or name
    container = next((one for one in all_containers(pod) if one["name"] == wanted), None)
    if container is None:
        raise ContainerConfigError(f"container {wanted} not found")
    kind, _, resource = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    default = NODE_CAPACITY.get(resource, "0") if kind == "limits" else "0"
    amount = (resources.get(kind) or {}).get(resource, default)
    divisor = Quantity.parse(reference.get("divisor") or "1").value or Decimal(1)
    return str(int((Quantity.parse(amount).value / divisor).to_integral_value(ROUND_CEILING)))


def command_line(
    container: JsonObject, entrypoint: Iterable[str], variables: Mapping[str, str], *, fixed: bool
) -> list[str]:
    """Return what a container runs.

    Its *command* stands for the image's entrypoint, unless that is *fixed*: the path of a program
    inside an image means nothing on this machine.
    """
    command = [expand(word, variables) for word in container.get("command") or ()]
    arguments = [expand(word, variables) for word in container.get("args") or ()]
    if fixed or not command:
        command = list(entrypoint)
    return [*command, *arguments]


def service_links(services: Iterable[JsonObject]) -> dict[str, str]:
    """Return the variables by which containers find the Services of their namespace."""
    links: dict[str, str] = {}
    for service in services:
        spec = service["spec"]
        ip, ports = spec.get("clusterIP"), spec.get("ports") or ()
        if not ip or ip == "None" or not ports:
            continue
        name = service["metadata"]["name"].upper().replace("-", "_")
        links[f"{name}_SERVICE_HOST"] = ip
        links[f"{name}_SERVICE_PORT"] = str(ports[0]["port"])
        for port in ports:
            if port.get("name"):
                named = port["name"].upper().replace("-", "_")
                links[f"{name}_SERVICE_PORT_{named}"] = str(port["port"])
        links |= _docker_links(name, ip, ports)
    return links


def _docker_links(name: str, ip: str, ports: Iterable[JsonObject]) -> dict[str, str]:
    """Return the older form of the same."""
    links: dict[str, str] = {}
    for number, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{ip}:{port['port']}"
        prefix = f"{name}_PORT_{port['port']}_{protocol}"
        if number == 0:
            links[f"{name}_PORT"] = url
        links |= {
            prefix: url,
            f"{prefix}_PROTO": protocol.lower(),
            f"{prefix}_PORT": str(port["port"]),
            f"{prefix}_ADDR": ip,
        }
    return links
