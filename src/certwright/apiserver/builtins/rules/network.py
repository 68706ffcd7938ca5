"""Rules of ingresses, network policies and endpoint slices."""

from certwright.apiserver.builtins.rules.checks import (
    immutable,
    label_name,
    one_of,
    port_name,
    port_number,
    subdomain_name,
)
from certwright.apiserver.causes import invalid_value, required, unsupported_value
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"]
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")


def complete_network_policy(obj: JsonObject) -> None:
    """Set the default policy types: Ingress, and Egress if there are rules for it."""
    spec = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def validate_ingress(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Check that every path leads to one backend."""
    spec, causes = new["spec"], list[Cause]()
    if not spec.get("rules") and "defaultBackend" not in spec:
        why = "either `defaultBackend` or `rules` must be specified"
        causes.append(invalid_value("spec", None, why))
    if "defaultBackend" in spec:
        causes += _backend_causes(spec["defaultBackend"], "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules") or ()):
        path = f"spec.rules[{index}]"
        host = (rule.get("host") or "").removeprefix("*.")
        if host:
            causes += subdomain_name(host, f"{path}.host")
        http = rule.get("http")
        if http is None:
            continue
        if not http.get("paths"):
            causes.append(required(f"{path}.http.paths"))
        for position, item in enumerate(http.get("paths") or ()):
            causes += _path_causes(item, f"{path}.http.paths[{position}]")
    return causes


def _path_causes(item: JsonObject, path: str) -> list[Cause]:
    kind, text = item.get("pathType"), item.get("path") or ""
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    causes: list[Cause] = []
    if kind not in _PATH_TYPES:
        causes.append(unsupported_value(f"{path}.pathType", kind, _PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        causes.append(invalid_value(f"{path}.path", text, "must be an absolute path"))
    if kind in {"Exact", "Prefix"}:
        found = [f"must not contain '{bad}'" for bad in _BAD_PARTS if bad in text]
        found += [f"cannot end with '{bad}'" for bad in _BAD_ENDS if text.endswith(bad)]
        causes += [invalid_value(f"{path}.path", text, why) for why in found]
    return causes + _backend_causes(item["backend"], f"{path}.backend")


def _backend_causes(backend: JsonObject, path: str) -> list[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid_value(path, "", "cannot set both resource and service backends")]
    if service is None and resource is None:
        return [invalid_value(path, "", "resource or service backend is required")]
    if service is None:
        return []
    name, where = service.get("name") or "", f"{path}.service.name"
    causes = label_name(name, where) if name else [required(where)]
    port = service["port"]
    if port.get("name") and port.get("number"):
        causes.append(invalid_value(path, "", "cannot set both port name & port number"))
    elif port.get("name"):
        causes += port_name(port["name"], f"{path}.service.port.name")
    elif port.get("number"):
        causes += port_number(port["number"], f"{path}.service.port.number")
    else:
        causes.append(required(path, "port name or number is required"))
    return causes


def validate_endpoint_slice(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Addresses are of one family, for good."""
    kind, causes = new.get("addressType") or "", list[Cause]()
    if not kind:
        causes.append(required("addressType"))
    else:
        causes += one_of(kind, ("FQDN", "IPv4", "IPv6"), "addressType")
    for index, endpoint in enumerate(new.get("endpoints") or ()):
        if not endpoint.get("addresses"):
            why = "must contain at least 1 address"
            causes.append(required(f"endpoints[{index}].addresses", why))
    return causes + (immutable(kind, old.get("addressType"), "addressType") if old else [])
