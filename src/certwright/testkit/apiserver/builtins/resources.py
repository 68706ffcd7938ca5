"""Rules of claims, volumes, quotas, budgets, ingresses and the other small kinds."""

from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject
from certwright.kube.quantities import Quantity
from certwright.testkit.apiserver.builtins.checks import (
    immutable,
    int_or_percent,
    non_negative,
    one_of,
    selector_causes,
    subdomain_name,
)
from certwright.testkit.apiserver.causes import forbidden_value, invalid_value, required

_DEFAULT_POLICIES = {
    "scaleUp": (0, [("Pods", 4), ("Percent", 100)]),
    "scaleDown": (None, [("Percent", 100)]),
}


def complete_claim(obj: JsonObject) -> None:
    """A claim waits for a volume."""
    obj["status"].setdefault("phase", "Pending")


def prepare_claim(new: JsonObject, old: JsonObject | None) -> None:
    """Claims are protected from deletion while pods use them."""
    if old is None:
        new["status"] = {"phase": "Pending"}
        _protect(new, "kubernetes.io/pvc-protection")


def prepare_volume(new: JsonObject, old: JsonObject | None) -> None:
    """Volumes are protected from deletion while claims are bound to them."""
    if old is None:
        new["status"] = {"phase": "Pending"}
        _protect(new, "kubernetes.io/pv-protection")


def _protect(obj: JsonObject, finalizer: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def validate_claim(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """A claim asks for an amount and a way of access; afterwards it can only grow."""
    spec, causes = new["spec"], list[Cause]()
    if not spec.get("accessModes"):
        causes.append(required("spec.accessModes", "at least 1 access mode is required"))
    for mode in spec.get("accessModes") or ():
        modes = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
        causes += one_of(mode, modes, "spec.accessModes")
    requests = spec["resources"].get("requests") or {}
    if "storage" not in requests:
        causes.append(required("spec.resources[storage]"))
    elif Quantity.parse(requests["storage"]) <= Quantity.parse("0"):
        why = "must be greater than zero"
        causes.append(invalid_value("spec.resources[storage]", requests["storage"], why))
    causes += selector_causes(spec.get("selector"), "spec.selector")
    if old is not None and _fixed(spec) != _fixed(old["spec"]):
        why = (
            "spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims"
        )
        causes.append(forbidden_value("spec", why))
    return causes


def _fixed(spec: JsonObject) -> JsonObject:
    free = {"resources", "volumeAttributesClassName", "volumeName"}
    return {field: value for field, value in spec.items() if field not in free}


def validate_storage_class(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Classes are replaced, not changed."""
    causes = [] if new.get("provisioner") else [required("provisioner")]
    causes += one_of(new.get("reclaimPolicy"), ("Delete", "Retain"), "reclaimPolicy")
    if old is None:
        return causes
    for field in ("parameters", "provisioner"):
        if new.get(field) != old.get(field):
            why = f"updates to {field} are forbidden."
            causes.append(forbidden_value(field, why))
    for field in ("reclaimPolicy", "volumeBindingMode"):
        causes += immutable(new.get(field), old.get(field), field)
    return causes


def validate_priority_class(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """The value stays."""
    if old is None:
        return []
    if new.get("value") != old.get("value"):
        return [forbidden_value("value", "may not be changed in an update.")]
    return immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def validate_budget(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """A budget says what must stay or what may go, not both."""
    spec, causes = new["spec"], list[Cause]()
    if "minAvailable" in spec and "maxUnavailable" in spec:
        why = "minAvailable and maxUnavailable cannot be both set"
        causes.append(invalid_value("spec", spec, why))
    causes += int_or_percent(spec.get("minAvailable"), "spec.minAvailable")
    causes += int_or_percent(spec.get("maxUnavailable"), "spec.maxUnavailable")
    return causes + selector_causes(spec.get("selector"), "spec.selector")


def complete_autoscaler(obj: JsonObject) -> None:
    """Without metrics, scale by CPU; with a behavior, spell it out."""
    spec = obj["spec"]
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is None:
        return
    for direction, (window, policies) in _DEFAULT_POLICIES.items():
        rules = behavior.setdefault(direction, {})
        rules.setdefault("selectPolicy", "Max")
        if window is not None:
            rules.setdefault("stabilizationWindowSeconds", window)
        rules.setdefault(
            "policies",
            [{"type": kind, "value": value, "periodSeconds": 15} for kind, value in policies],
        )


def validate_autoscaler(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """There is a target and a range."""
    spec, causes = new["spec"], list[Cause]()
    low, high = spec["minReplicas"], spec.get("maxReplicas") or 0
    if low < 1:
        why = "must be greater than or equal to 1"
        causes.append(invalid_value("spec.minReplicas", low, why))
    if high < 1:
        causes.append(invalid_value("spec.maxReplicas", high, "must be greater than 0"))
    elif high < low:
        why = "must be greater than or equal to `minReplicas`"
        causes.append(invalid_value("spec.maxReplicas", high, why))
    causes += [
        required(f"spec.scaleTargetRef.{field}")
        for field in ("kind", "name")
        if not spec["scaleTargetRef"].get(field)
    ]
    return causes


def complete_network_policy(obj: JsonObject) -> None:
    """A policy is about incoming traffic, and about outgoing if it has rules for it."""
    spec = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def validate_ingress(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Every path leads to one backend."""
    spec, causes = new["spec"], list[Cause]()
    if not spec.get("rules") and "defaultBackend" not in spec:
        why = "either `defaultBackend` or `rules` must be specified"
        causes.append(invalid_value("spec", spec, why))
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
    kinds = ["Exact", "ImplementationSpecific", "Prefix"]
    causes: list[Cause] = []
    kind = item.get("pathType")
    if kind is None:
        causes.append(required(f"{path}.pathType", "pathType must be specified"))
    elif kind in {"Exact", "Prefix"} and not (item.get("path") or "").startswith("/"):
        why = "must be an absolute path"
        causes.append(invalid_value(f"{path}.path", item.get("path") or "", why))
    else:
        causes += one_of(kind, kinds, f"{path}.pathType")
    return causes + _backend_causes(item["backend"], f"{path}.backend")


def _backend_causes(backend: JsonObject, path: str) -> list[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        why = "cannot set both resource and service backends"
        return [invalid_value(path, "", why)]
    if resource is not None:
        return []
    if service is None:
        return [required(path, "resource or service backend is required")]
    causes = [] if service.get("name") else [required(f"{path}.service.name")]
    port = service["port"]
    if not port.get("name") and not port.get("number"):
        why = "port name or number is required"
        causes.append(required(f"{path}.service.port", why))
    elif port.get("name") and port.get("number"):
        why = "cannot set both port name & port number"
        causes.append(invalid_value(f"{path}.service", "", why))
    return causes


def validate_lease(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Durations are positive, transitions are counted."""
    spec, causes = new["spec"], list[Cause]()
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        why = "must be greater than 0"
        causes.append(invalid_value("spec.leaseDurationSeconds", duration, why))
    return causes + non_negative(spec.get("leaseTransitions"), "spec.leaseTransitions")


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
