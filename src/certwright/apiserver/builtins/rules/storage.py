"""Rules of claims, volumes, storage classes, quotas and nodes."""

from certwright.apiserver.builtins.rules.checks import immutable, one_of, selector_causes
from certwright.apiserver.causes import forbidden_value, invalid_value, required
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject
from certwright.kube.quantities import Quantity

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def complete_claim(obj: JsonObject) -> None:
    """Set the phase of a claim that waits for a volume."""
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
        if since := new["metadata"].get("creationTimestamp"):
            new["status"]["lastPhaseTransitionTime"] = since
        _protect(new, "kubernetes.io/pv-protection")


def _protect(obj: JsonObject, finalizer: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def validate_claim(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check size and access modes of a claim; afterwards it can only grow."""
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
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        causes += immutable(new.get(field), old.get(field), field)
    return causes


def validate_priority_class(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that the value does not change."""
    if old is None:
        return []
    if new.get("value") != old.get("value"):
        return [forbidden_value("value", "may not be changed in an update.")]
    return immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def complete_limit_range(obj: JsonObject) -> None:
    """Set the defaults that limits of containers imply."""
    for item in obj["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        limits = {**(item.get("max") or {}), **(item.get("default") or {})}
        requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
        for field, amounts in (("default", limits), ("defaultRequest", requests)):
            if amounts:
                item[field] = amounts


def prepare_node(new: JsonObject, old: JsonObject | None) -> None:
    """Taint a new node until it reports that it is ready."""
    if old is None:
        taints = new["spec"].setdefault("taints", [])
        if not any(taint.get("key") == _NOT_READY["key"] for taint in taints):
            taints.append(dict(_NOT_READY))
