"""Rules of Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers."""

from typing import Any, Final

from certwright.apiserver.builtins.rules.checks import (
    all_non_negative,
    at_most_all,
    immutable,
    int_or_percent,
    is_zero,
    label_name,
    non_negative,
    selector_causes,
)
from certwright.apiserver.builtins.rules.pods import complete_spec, only_restarting, template_causes
from certwright.apiserver.causes import (
    forbidden_value,
    invalid_value,
    required,
    shown,
    unsupported_value,
)
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject
from certwright.kube.selectors import LabelSelector

_GENERATION: Final = "deprecated.daemonset.template.generation"
_CHANGEABLE_STATEFUL: Final = frozenset({
    "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals",
    "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy",
})  # fmt: skip


def complete_template(obj: JsonObject) -> None:
    """Fill in the pod template of any workload."""
    template = obj["spec"].get("template")
    if template is not None:
        complete_spec(template["spec"])


def complete_deployment(obj: JsonObject) -> None:
    """Set the default parameters of a rolling update."""
    complete_template(obj)
    _complete_strategy(obj["spec"]["strategy"], "25%", "25%")


def complete_daemon_set(obj: JsonObject) -> None:
    """Set the default parameters of a rolling update."""
    complete_template(obj)
    obj["metadata"].setdefault("annotations", {}).setdefault(_GENERATION, "0")
    _complete_strategy(obj["spec"]["updateStrategy"], 1, 0)


def _complete_strategy(strategy: JsonObject, down: int | str, up: int | str) -> None:
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", down)
        rolling.setdefault("maxSurge", up)


def prepare_daemon_set(new: JsonObject, old: JsonObject | None) -> None:
    """Count changes of the template in the annotation that replaced a field."""
    annotations = new["metadata"]["annotations"]
    if old is None:
        annotations[_GENERATION] = "1"
        return
    before = int((old["metadata"].get("annotations") or {}).get(_GENERATION) or 0)
    changed = new["spec"]["template"] != old["spec"]["template"]
    annotations[_GENERATION] = str(before + 1 if changed else before)


def complete_stateful_set(obj: JsonObject) -> None:
    """Set the default partition of a rolling update, and complete claims."""
    complete_template(obj)
    strategy = obj["spec"]["updateStrategy"]
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" not in strategy:
        strategy["rollingUpdate"] = {"partition": 0}
    for claim in obj["spec"].get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim["status"].setdefault("phase", "Pending")


def complete_replication_controller(obj: JsonObject) -> None:
    """Selector and labels come from the template."""
    complete_template(obj)
    template = obj["spec"].get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels:
        obj["spec"].setdefault("selector", dict(labels))
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)


def validate_deployment(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that the selector matches the template and does not change, and the strategy."""
    spec = new["spec"]
    causes = non_negative(spec["replicas"], "spec.replicas")
    causes += _selector_and_template(spec, "deployment", "ReplicaSet")
    causes += _strategy_causes(spec["strategy"])
    counts = ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    causes += all_non_negative(spec, counts, "spec")
    deadline = spec["progressDeadlineSeconds"]
    if deadline <= spec.get("minReadySeconds", 0):
        why = "must be greater than minReadySeconds"
        causes.append(invalid_value("spec.progressDeadlineSeconds", deadline, why))
    if old is not None and new["status"] != old["status"]:
        causes += _deployment_status_causes(new["status"])
    return causes + _kept_selector(new, old)


def _deployment_status_causes(status: JsonObject) -> list[Cause]:
    """Replicas are counted soberly: no more are ready than there are."""
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
              "unavailableReplicas", "observedGeneration", "collisionCount")  # fmt: skip
    causes = all_non_negative(status, counts, "status")
    for part, whole, called in (
        ("updatedReplicas", "replicas", "status.replicas"),
        ("readyReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ):
        count = status.get(part, 0)
        if count > status.get(whole, 0):
            why = f"cannot be greater than {called}"
            causes.append(invalid_value(f"status.{part}", count, why))
    return causes


def validate_replica_set(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that the selector matches the template and does not change."""
    spec = new["spec"]
    causes = all_non_negative(spec, ("replicas", "minReadySeconds"), "spec")
    causes += _selector_and_template(spec, "deployment", "ReplicaSet")
    return causes + _kept_selector(new, old)


def validate_daemon_set(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that the selector matches the template and does not change."""
    spec = new["spec"]
    causes = _selector_and_template(spec, "daemonset", "DaemonSet")
    causes += non_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    strategy = spec["updateStrategy"]
    if strategy["type"] not in {"RollingUpdate", "OnDelete"}:
        supported = ["RollingUpdate", "OnDelete"]
        causes.append(unsupported_value("spec.updateStrategy", _go_strategy(strategy), supported))
    causes += non_negative(spec["revisionHistoryLimit"], "spec.revisionHistoryLimit")
    return causes + _kept_selector(new, old)


def validate_stateful_set(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Identity is fixed: only scale, template and the way of updating may change."""
    spec = new["spec"]
    causes: list[Cause] = []
    if spec["podManagementPolicy"] not in {"OrderedReady", "Parallel"}:
        why = "must be 'OrderedReady' or 'Parallel'"
        causes.append(invalid_value("spec.podManagementPolicy", spec["podManagementPolicy"], why))
    strategy = spec["updateStrategy"]
    if strategy["type"] not in {"RollingUpdate", "OnDelete"}:
        why = "must be 'RollingUpdate' or 'OnDelete'"
        causes.append(invalid_value("spec.updateStrategy", _go_strategy(strategy), why))
    causes += all_non_negative(spec, ("replicas", "minReadySeconds"), "spec")
    if old is None and spec["serviceName"]:
        causes += label_name(spec["serviceName"], "spec.serviceName")
    causes += _selector_and_template(spec, "statefulset", "StatefulSet", _with_claims(spec))
    if old is not None and _without(spec, _CHANGEABLE_STATEFUL) != _without(
        old["spec"], _CHANGEABLE_STATEFUL
    ):
        why = (
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
            "'template', 'updateStrategy', 'revisionHistoryLimit', "
            "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
        )
        causes.append(forbidden_value("spec", why))
    return causes


def validate_replication_controller(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Check that the selector, a plain map here, matches the template."""
    spec = new["spec"]
    causes = non_negative(spec["replicas"], "spec.replicas")
    if not spec.get("selector"):
        causes.append(required("spec.selector"))
    template = spec.get("template")
    if template is None:
        return [*causes, required("spec.template")]
    labels = template["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("selector") or {}).items()):
        why = "`selector` does not match template `labels`"
        causes.append(invalid_value("spec.template.metadata.labels", labels, why))
    causes += template_causes(template, "spec.template")
    return causes + only_restarting(template, "spec.template", "ReplicationController")


def _without(spec: JsonObject, fields: frozenset[str]) -> dict[str, Any]:
    return {field: value for field, value in spec.items() if field not in fields}


def _with_claims(spec: JsonObject) -> JsonObject:
    """Return the template as if the claims were already volumes of it."""
    claims = [c["metadata"].get("name") for c in spec.get("volumeClaimTemplates") or ()]
    template: JsonObject = spec["template"]
    if not claims:
        return template
    pod = template["spec"]
    others = [v for v in pod.get("volumes") or () if v.get("name") not in claims]
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return {**template, "spec": {**pod, "volumes": others + made}}


def _selector_and_template(
    spec: JsonObject, name: str, owner: str, template: JsonObject | None = None
) -> list[Cause]:
    selector, path = spec.get("selector"), "spec.selector"
    template = template or spec["template"]
    malformed = selector_causes(selector, path)
    causes = list(malformed)
    if selector is None and owner != "DaemonSet":
        causes.append(required(path))
    elif selector is not None and not any(selector.values()):
        why = f"empty selector is invalid for {name}"
        causes.append(invalid_value(path, selector, why))
    if malformed and owner != "DaemonSet":
        why = "" if owner == "StatefulSet" else ": invalid label selector"
        shown_selector = f"Invalid value: {shown(selector)}{why}"
        return [*causes, Cause("FieldValueInvalid", shown_selector, path)]
    labels = template["metadata"].get("labels") or {}
    if not malformed and not _selects(selector, labels):
        why = "`selector` does not match template `labels`"
        causes.append(invalid_value("spec.template.metadata.labels", labels or None, why))
    causes += template_causes(template, "spec.template")
    return causes + only_restarting(template, "spec.template", owner)


def _selects(selector: JsonObject | None, labels: dict[str, str]) -> bool:
    """Return whether a selector matches; none at all matches nothing, an empty one everything."""
    return selector is not None and LabelSelector.from_spec(selector).matches(labels)


def _kept_selector(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    if old is None:
        return []
    return immutable(new["spec"].get("selector"), old["spec"].get("selector"), "spec.selector")


def _strategy_causes(strategy: JsonObject) -> list[Cause]:
    path, rolling = "spec.strategy", strategy.get("rollingUpdate")
    match strategy["type"]:
        case "Recreate":
            why = "may not be specified when strategy `type` is 'Recreate'"
            return [forbidden_value(f"{path}.rollingUpdate", why)] if rolling else []
        case "RollingUpdate":
            return _rolling_causes(rolling or {}, f"{path}.rollingUpdate")
    return [unsupported_value(path, _go_strategy(strategy), ["Recreate", "RollingUpdate"])]


def _go_strategy(strategy: JsonObject) -> JsonObject:
    """Return a strategy as the API server prints its internal form."""
    return {"Type": strategy["type"], "RollingUpdate": strategy.get("rollingUpdate")}


def _rolling_causes(rolling: JsonObject, path: str) -> list[Cause]:
    down, up = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    causes = int_or_percent(down, f"{path}.maxUnavailable")
    causes += int_or_percent(up, f"{path}.maxSurge")
    if is_zero(down) and is_zero(up):
        why = "may not be 0 when `maxSurge` is 0"
        causes.append(invalid_value(f"{path}.maxUnavailable", down, why))
    return causes + at_most_all(down, f"{path}.maxUnavailable")
