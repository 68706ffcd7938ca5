"""Pods and pod templates: defaults that depend, what admission adds, and what is checked."""

import re
from typing import Final

from certwright.apiserver.builtins.rules.checks import (
    PROTOCOLS,
    label_causes,
    label_name,
    one_of,
    port_name,
    port_number,
    subdomain_name,
)
from certwright.apiserver.builtins.rules.probes import handler_causes
from certwright.apiserver.causes import (
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    unsupported_value,
)
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject
from certwright.kube.quantities import Quantity

_ENV_NAME = re.compile(r"[ -<>-~]+")
_MUTABLE: Final = frozenset({
    "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates",
})  # fmt: skip
_TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATED_SECONDS: Final = 300
_SOURCE_NAMES: Final = {
    "secret": "secretName",
    "persistentVolumeClaim": "claimName",
    "configMap": "name",
}
"""What a volume of a kind must name; in the order in which kinds are looked at."""
_CHOICES: Final = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
}
_NAMES: Final = {
    "serviceAccountName": subdomain_name, "hostname": label_name, "nodeName": subdomain_name,
}  # fmt: skip
_SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


def complete_spec(spec: JsonObject) -> None:
    """Fill in what depends on other fields, in pods and templates alike."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            container.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
    for volume in spec.get("volumes") or ():
        if len(volume) == 1:
            volume["emptyDir"] = {}
        image = volume.get("image")
        if image is not None:
            image.setdefault("pullPolicy", _pull_policy(image.get("reference") or ""))
    # The older name of the field is kept in step.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _pull_policy(image: str) -> str:
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2] or ("" if digest else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def complete_pod(obj: JsonObject) -> None:
    """Fill in what templates are left without."""
    spec = obj["spec"]
    complete_spec(spec)
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        limits = container["resources"].get("limits")
        if limits:
            requests = container["resources"].get("requests") or {}
            container["resources"]["requests"] = {**limits, **requests}
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort", 0))
    spec.setdefault("enableServiceLinks", True)


def complete_pod_template(obj: JsonObject) -> None:
    """Fill in the pod of a PodTemplate."""
    complete_spec(obj["template"]["spec"])


def admit_pod(new: JsonObject, old: JsonObject | None) -> None:
    """Do what admission does before webhooks: tolerations and the priority."""
    spec = new["spec"]
    _tolerate(spec)
    if old is None:
        spec.setdefault("priority", _SYSTEM_PRIORITIES.get(spec.get("priorityClassName"), 0))
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def prepare_pod(new: JsonObject, old: JsonObject | None) -> None:
    """Do what admission and the pod's strategy do."""
    admit_pod(new, old)
    spec = new["spec"]
    if old is None:
        new["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
        if spec.get("schedulingGates"):
            new["status"]["conditions"] = [_gated(new["metadata"].get("creationTimestamp"))]


def _gated(since: str | None) -> JsonObject:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": since,
    }


def _tolerate(spec: JsonObject) -> None:
    tolerations = spec.get("tolerations") or []
    for key in _TOLERATED:
        covered = any(
            t.get("key") in {key, None, ""} and t.get("effect") in {"NoExecute", None, ""}
            for t in tolerations
        )
        if not covered:
            taint = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append({**taint, "tolerationSeconds": _TOLERATED_SECONDS})
    if tolerations:
        spec["tolerations"] = tolerations


def qos_class(spec: JsonObject) -> str:
    """Return how the node treats the pod when memory runs out."""
    amounts = [
        ((c.get("resources") or {}).get("requests") or {}, c["resources"].get("limits") or {})
        for c in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    ]
    counted = ("cpu", "memory")
    if not any(Quantity.parse(r[k]) for pair in amounts for r in pair for k in counted if k in r):
        return "BestEffort"
    guaranteed = all(
        name in limits and Quantity.parse(requests.get(name, "0")) == Quantity.parse(limits[name])
        for requests, limits in amounts
        for name in counted
    )
    return "Guaranteed" if guaranteed else "Burstable"


def validate_pod(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check the spec, and that only the few mutable fields change."""
    causes = spec_causes(new["spec"], "spec")
    if old is not None and _frozen(new["spec"], old["spec"]):
        why = (
            "pod updates may not change fields other than "
            "`spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
            "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
            "previously negative)"
        )
        causes.append(forbidden_value("spec", why))
    return causes


def _frozen(new: JsonObject, old: JsonObject) -> bool:
    return _rest(new) != _rest(old) or any(
        gate not in (old.get("schedulingGates") or ()) for gate in new.get("schedulingGates") or ()
    )


def _rest(spec: JsonObject) -> JsonObject:
    """Return what of a pod spec cannot be changed; scheduling gates can only be removed."""
    kept = {field: value for field, value in spec.items() if field not in _MUTABLE}
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [{**container, "image": ""} for container in kept[field]]
    return kept


def template_causes(template: JsonObject, path: str) -> list[Cause]:
    """Check that a pod template holds a pod that could be created."""
    labels = (template.get("metadata") or {}).get("labels") or {}
    causes = label_causes(labels, f"{path}.labels")
    return causes + spec_causes(template["spec"], f"{path}.spec")


def spec_causes(spec: JsonObject, path: str) -> list[Cause]:
    """Check that a pod spec is complete and consistent."""
    causes: list[Cause] = []
    volumes = spec.get("volumes") or []
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        causes += _volume_causes(volume, names, f"{path}.volumes[{index}]")
    if not spec.get("containers"):
        causes.append(required(f"{path}.containers"))
    used: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            where = f"{path}.{field}[{index}]"
            causes += _container_causes(container, names, where)
            if container.get("name") in used:
                causes.append(duplicate_value(f"{where}.name", container["name"]))
            used.add(container.get("name") or "")
    for field, choices in _CHOICES.items():
        causes += one_of(spec[field], choices, f"{path}.{field}")
    for field, check in _NAMES.items():
        if spec.get(field):
            causes += check(spec[field], f"{path}.{field}")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 0 < deadline < 1 << 31:
        why = "must be between 1 and 2147483647, inclusive"
        causes.append(invalid_value(f"{path}.activeDeadlineSeconds", deadline, why))
    return causes


def _volume_causes(volume: JsonObject, names: set[str], path: str) -> list[Cause]:
    name = volume.get("name") or ""
    causes = label_name(name, f"{path}.name") if name else [required(f"{path}.name")]
    if name in names:
        causes.append(duplicate_value(f"{path}.name", name))
    sources = sorted(volume.keys() - {"name"}, key=_source_order)
    for extra in sources[1:]:
        why = "may not specify more than 1 volume type"
        causes.append(forbidden_value(f"{path}.{extra}", why))
    field = _SOURCE_NAMES.get(sources[0]) if sources else None
    if field and not volume[sources[0]].get(field):
        causes.append(required(f"{path}.{sources[0]}.{field}"))
    if not causes:
        names.add(name)
    return causes


def _source_order(source: str) -> tuple[int, str]:
    """Sort the kinds of volumes people mix up as the API server looks at them."""
    known = list(_SOURCE_NAMES)
    return (known.index(source) if source in known else -1, source)


def _container_causes(container: JsonObject, volumes: set[str], path: str) -> list[Cause]:
    name = container.get("name") or ""
    causes = label_name(name, f"{path}.name") if name else [required(f"{path}.name")]
    image = container.get("image") or ""
    if not image:
        causes.append(required(f"{path}.image"))
    elif image != image.strip():
        why = "must not have leading or trailing whitespace"
        causes.append(invalid_value(f"{path}.image", image, why))
    policies = ("File", "FallbackToLogsOnError")
    where = f"{path}.terminationMessagePolicy"
    causes += one_of(container["terminationMessagePolicy"], policies, where)
    causes += _port_causes(container.get("ports") or [], f"{path}.ports")
    causes += _env_causes(container.get("env") or [], f"{path}.env")
    causes += _mount_causes(container.get("volumeMounts") or [], volumes, f"{path}.volumeMounts")
    causes += one_of(
        container.get("imagePullPolicy"),
        ("Always", "IfNotPresent", "Never"),
        f"{path}.imagePullPolicy",
    )
    causes += _resource_causes(container["resources"], f"{path}.resources")
    return causes + handler_causes(container, path)


def _port_causes(ports: list[JsonObject], path: str) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name") or ""
        if name:
            problems = port_name(name, f"{where}.name")
            causes += problems
            if not problems and name in names:
                causes.append(duplicate_value(f"{where}.name", name))
            names.add(name)
        if not port.get("containerPort"):
            causes.append(required(f"{where}.containerPort"))
        else:
            causes += port_number(port["containerPort"], f"{where}.containerPort")
        if port.get("hostPort"):
            causes += port_number(port["hostPort"], f"{where}.hostPort")
        causes += one_of(port["protocol"], PROTOCOLS, f"{where}.protocol")
    return causes


def _env_causes(variables: list[JsonObject], path: str) -> list[Cause]:
    causes: list[Cause] = []
    for index, variable in enumerate(variables):
        where, name = f"{path}[{index}]", variable.get("name") or ""
        source = variable.get("valueFrom")
        if not name:
            causes.append(required(f"{where}.name"))
        elif not _ENV_NAME.fullmatch(name):
            why = (
                "a valid environment variable name must consist only of printable ASCII "
                "characters other than '='"
            )
            causes.append(invalid_value(f"{where}.name", name, why))
        if source is not None and variable.get("value"):
            why = "may not be specified when `value` is not empty"
            causes.append(invalid_value(f"{where}.valueFrom", "", why))
        elif source is not None and len(source) != 1:
            why = (
                "may not have more than one field specified at a time"
                if source
                else "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                "`secretKeyRef` or `fileKeyRef`"
            )
            causes.append(invalid_value(f"{where}.valueFrom", "", why))
    return causes


def _mount_causes(mounts: list[JsonObject], volumes: set[str], path: str) -> list[Cause]:
    causes: list[Cause] = []
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        where, name = f"{path}[{index}]", mount.get("name") or ""
        if not name:
            causes.append(required(f"{where}.name"))
        elif name not in volumes:
            causes.append(Cause("FieldValueNotFound", f'Not found: "{name}"', f"{where}.name"))
        if not mount.get("mountPath"):
            causes.append(required(f"{where}.mountPath"))
        elif mount["mountPath"] in paths:
            why = "must be unique"
            causes.append(invalid_value(f"{where}.mountPath", mount["mountPath"], why))
        paths.add(mount.get("mountPath") or "")
    return causes


def _resource_causes(resources: JsonObject, path: str) -> list[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    causes: list[Cause] = []
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if Quantity.parse(amount) < Quantity.parse("0"):
                why = "must be greater than or equal to 0"
                causes.append(invalid_value(f"{path}.{field}[{name}]", amount, why))
    for name, amount in requests.items():
        if name in limits and Quantity.parse(amount) > Quantity.parse(limits[name]):
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            causes.append(invalid_value(f"{path}.requests", amount, why))
    return causes


def only_restarting(template: JsonObject, path: str, kind: str) -> list[Cause]:
    """Pods of a controller that replaces them must not end by themselves."""
    policy = template["spec"]["restartPolicy"]
    causes: list[Cause] = []
    if policy != "Always":
        causes.append(unsupported_value(f"{path}.spec.restartPolicy", policy, ["Always"]))
    if template["spec"].get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        causes.append(forbidden_value(f"{path}.spec.activeDeadlineSeconds", why))
    return causes
