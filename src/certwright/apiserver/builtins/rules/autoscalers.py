"""Rules of autoscalers and disruption budgets."""

from certwright.apiserver.builtins.rules.checks import int_or_percent, selector_causes
from certwright.apiserver.causes import forbidden_value, invalid_value, required
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_DEFAULT_POLICIES = {
    "scaleUp": (0, [("Pods", 4), ("Percent", 100)]),
    "scaleDown": (None, [("Percent", 100)]),
}


def validate_budget(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Check that a budget has a minimum or a maximum, not both."""
    spec, causes = new["spec"], list[Cause]()
    if "minAvailable" in spec and "maxUnavailable" in spec:
        # Printed in the form the API server keeps it in.
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        why = "minAvailable and maxUnavailable cannot be both set"
        causes.append(invalid_value("spec", shown, why))
    causes += int_or_percent(spec.get("minAvailable"), "spec.minAvailable")
    causes += int_or_percent(spec.get("maxUnavailable"), "spec.maxUnavailable")
    return causes + selector_causes(spec.get("selector"), "spec.selector")


def complete_autoscaler(obj: JsonObject) -> None:
    """Set the default metric, CPU, and the defaults of a behavior."""
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
    """Check that there is a target and a range."""
    spec, causes = new["spec"], list[Cause]()
    low, high = spec["minReplicas"], spec.get("maxReplicas") or 0
    if low < 1:
        why = "must be greater than or equal to 1"
        causes.append(invalid_value("spec.minReplicas", low, why))
    if high == 0:
        causes.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif high < 0:
        causes.append(invalid_value("spec.maxReplicas", high, "must be greater than or equal to 1"))
    if high < low:
        why = "must be greater than or equal to `minReplicas`"
        causes.append(invalid_value("spec.maxReplicas", high, why))
    causes += _target_causes(spec["scaleTargetRef"], "spec.scaleTargetRef")
    kinds = {metric.get("type") for metric in spec["metrics"]}
    if low == 0 and not kinds & {"Object", "External"}:
        why = (
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas"
        )
        causes.append(forbidden_value("spec.metrics", why))
    return causes


def _target_causes(ref: JsonObject, path: str) -> list[Cause]:
    causes = [required(f"{path}.{field}") for field in ("kind", "name") if not ref.get(field)]
    version = ref.get("apiVersion") or ""
    if "/" not in version and not (version == "v1" and ref.get("kind") == "ReplicationController"):
        why = "apiVersion must specify API group"
        causes.append(invalid_value(f"{path}.apiVersion", version, why))
    return causes
