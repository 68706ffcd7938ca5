"""Computed cells of ``kubectl get`` for built-in kinds."""

from datetime import UTC, datetime, timedelta
from typing import Any

from certwright.apiserver.gotext import age
from certwright.kube.objects import JsonObject
from certwright.kube.selectors import LabelSelector
from certwright.kube.timestamps import parse_time

NONE = "<none>"
_SHOWN = 3
_METRICS_SHOWN = 2


def dig(obj: JsonObject, path: str, default: Any = None) -> Any:
    """Return the value under a dotted path, or *default*."""
    value: Any = obj
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return value


def selector(obj: JsonObject, path: str = "spec.selector") -> str:
    """Print a label selector."""
    spec = dig(obj, path)
    if not spec:
        return NONE
    return str(LabelSelector.from_spec(spec)) or NONE


def labels(obj: JsonObject, path: str) -> str:
    """Print a map of labels."""
    pairs = dig(obj, path) or {}
    return ",".join(f"{key}={pairs[key]}" for key in sorted(pairs)) or NONE


def container_names(obj: JsonObject, path: str = "spec.template.spec") -> str:
    """List the containers of a pod spec."""
    return ",".join(c.get("name", "") for c in dig(obj, f"{path}.containers") or ())


def container_images(obj: JsonObject, path: str = "spec.template.spec") -> str:
    """List the images of a pod spec."""
    return ",".join(c.get("image", "") for c in dig(obj, f"{path}.containers") or ())


def ready_replicas(obj: JsonObject) -> str:
    """Print how many replicas are ready out of those wanted."""
    return f"{dig(obj, 'status.readyReplicas', 0)}/{dig(obj, 'spec.replicas', 0)}"


def pod_ready(obj: JsonObject) -> str:
    """Print how many containers are ready."""
    statuses = dig(obj, "status.containerStatuses") or ()
    ready = sum(bool(s.get("ready") and dig(s, "state.running")) for s in statuses)
    return f"{ready}/{len(dig(obj, 'spec.containers') or ())}"


def pod_status(obj: JsonObject) -> str:
    """Print what a pod is doing, or why it does not."""
    phase = dig(obj, "status.phase", "")
    reason = dig(obj, "status.reason") or phase
    if any(c.get("reason") == "SchedulingGated" for c in dig(obj, "status.conditions") or ()):
        reason = "SchedulingGated"
    for status in reversed(dig(obj, "status.containerStatuses") or []):
        waiting, ended = dig(status, "state.waiting"), dig(status, "state.terminated")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended:
            reason = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
    if dig(obj, "metadata.deletionTimestamp") and phase not in {"Succeeded", "Failed"}:
        return "Terminating"
    return str(reason)


def pod_restarts(obj: JsonObject) -> str:
    """Print how often containers were restarted."""
    statuses = dig(obj, "status.containerStatuses") or ()
    return str(sum(status.get("restartCount", 0) for status in statuses))


def external_ip(obj: JsonObject) -> str:
    """Print under which address a Service is reachable from outside."""
    spec = obj["spec"]
    if spec.get("type") == "ExternalName":
        return spec.get("externalName") or ""
    ips: list[str] = []
    if spec.get("type") == "LoadBalancer":
        ingress = dig(obj, "status.loadBalancer.ingress") or ()
        ips += [entry.get("ip") or entry.get("hostname") or "" for entry in ingress]
    ips += spec.get("externalIPs") or ()
    pending = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    return ",".join(ips) or pending


def service_ports(obj: JsonObject) -> str:
    """Print the ports of a Service."""
    texts = []
    for port in dig(obj, "spec.ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return ",".join(texts) or NONE


def hosts(obj: JsonObject) -> str:
    """Print the first hosts of an Ingress."""
    rules = dig(obj, "spec.rules") or []
    names = [rule["host"] for rule in rules if rule.get("host")][:_SHOWN]
    more = f" + {len(rules) - _SHOWN} more..." if len(rules) > _SHOWN else ""
    return ",".join(names) + more if names else "*"


def addresses(obj: JsonObject) -> str:
    """Print where an Ingress is reachable."""
    ingress = dig(obj, "status.loadBalancer.ingress") or ()
    return ",".join(entry.get("ip") or entry.get("hostname") or "" for entry in ingress)


def endpoints(obj: JsonObject) -> str:
    """Print the first addresses behind a Service."""
    found = []
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or [{}]:
            suffix = f":{port['port']}" if port else ""
            found += [f"{a.get('ip')}{suffix}" for a in subset.get("addresses") or ()]
    more = f" + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else ""
    return ",".join(found[:_SHOWN]) + more if found else NONE


def node_status(obj: JsonObject) -> str:
    """Print whether a node is ready and may be used."""
    ready = [c for c in dig(obj, "status.conditions") or () if c.get("type") == "Ready"]
    texts = ["Ready" if ready[0].get("status") == "True" else "NotReady"] if ready else ["Unknown"]
    if dig(obj, "spec.unschedulable"):
        texts.append("SchedulingDisabled")
    return ",".join(texts)


def node_roles(obj: JsonObject) -> str:
    """Print the roles a node is labelled with."""
    prefix = "node-role.kubernetes.io/"
    names = dig(obj, "metadata.labels") or {}
    roles = sorted(key.removeprefix(prefix) for key in names if key.startswith(prefix))
    return ",".join(roles) or NONE


def node_address(obj: JsonObject, kind: str) -> str:
    """Print an address of a node."""
    for address in dig(obj, "status.addresses") or ():
        if address.get("type") == kind:
            return str(address.get("address"))
    return NONE


def event_seen(obj: JsonObject, which: str) -> str | None:
    """Return when an event was seen, ``first`` or ``last``."""
    start = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    if which == "first":
        return start
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    return dig(obj, "series.lastObservedTime") or last or start


def event_object(obj: JsonObject) -> str:
    """Print what an event is about."""
    ref = obj.get("involvedObject") or obj.get("regarding") or {}
    kind = (ref.get("kind") or "").lower()
    return f"{kind}/{ref['name']}" if ref.get("name") else kind


def event_field(obj: JsonObject) -> str:
    """Print which part of an object an event is about."""
    path = dig(obj, "involvedObject.fieldPath") or dig(obj, "regarding.fieldPath")
    return str(path or "")


def event_message(obj: JsonObject) -> str:
    """Print what an event says."""
    return str(obj.get("message") or obj.get("note") or "").strip()


def event_source(obj: JsonObject) -> str:
    """Print who reported an event."""
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    reporter = obj.get("reportingComponent") or obj.get("reportingController")
    parts = [
        source.get("component") or reporter,
        source.get("host") or obj.get("reportingInstance"),
    ]
    return ", ".join(part for part in parts if part)


def event_count(obj: JsonObject) -> int:
    """Return how often an event was seen."""
    counted = obj.get("count") or obj.get("deprecatedCount") or 1
    return int(dig(obj, "series.count") or counted)


def job_status(obj: JsonObject) -> str:
    """Print how far a Job has come."""
    true = {c["type"] for c in dig(obj, "status.conditions") or () if c.get("status") == "True"}
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if dig(obj, "metadata.deletionTimestamp"):
        return "Terminating"
    order = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((kind for kind in order if kind in true), "Running")


def job_completions(obj: JsonObject) -> str:
    """Print how many pods of a Job have succeeded."""
    done, wanted = dig(obj, "status.succeeded", 0), dig(obj, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = dig(obj, "spec.parallelism", 0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def job_duration(obj: JsonObject) -> str | None:
    """Return how long a finished Job took, or when a running one started."""
    start, end = dig(obj, "status.startTime"), dig(obj, "status.completionTime")
    if not start or not end:
        return str(start) if start else None
    return age(parse_time(start), parse_time(end))


def subjects(obj: JsonObject, kind: str) -> str:
    """Print whom a binding is for."""
    names = []
    for subject in obj.get("subjects") or ():
        if subject.get("kind") == kind:
            prefix = f"{subject.get('namespace', '')}/" if kind == "ServiceAccount" else ""
            names.append(prefix + subject.get("name", ""))
    return ", ".join(names)


def signing_request_status(obj: JsonObject) -> str:
    """Print whether a certificate was granted."""
    types = {c.get("type") for c in dig(obj, "status.conditions") or ()}
    text = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        text += ",Failed"
    return text + (",Issued" if dig(obj, "status.certificate") else "")


def quota(obj: JsonObject, part: str) -> str:
    """Print how much of a quota is used: of its ``limits``, or of its requests."""
    hard, used = dig(obj, "status.hard") or {}, dig(obj, "status.used") or {}
    return ", ".join(
        f"{name}: {used.get(name, '0')}/{hard[name]}"
        for name in sorted(hard)
        if name.startswith("limits.") == (part == "limits")
    )


def scaling_targets(obj: JsonObject) -> str:
    """Print what an autoscaler aims at and where it is, metric by metric."""
    current = dig(obj, "status.currentMetrics") or []
    texts = []
    for index, metric in enumerate(dig(obj, "spec.metrics") or ()):
        source = _metric_source(metric)
        reached = _metric_source(current[index]).get("current") if index < len(current) else None
        target, name = source.get("target") or {}, source.get("name")
        prefix = f"{name}: " if name else ""
        texts.append(f"{prefix}{_metric_text(reached or {})}/{_metric_text(target)}")
    more = f" + {len(texts) - _METRICS_SHOWN} more..." if len(texts) > _METRICS_SHOWN else ""
    return ", ".join(texts[:_METRICS_SHOWN]) + more if texts else NONE


def _metric_source(metric: JsonObject) -> JsonObject:
    kind = metric.get("type") or "Resource"
    source: JsonObject = metric.get(kind[0].lower() + kind[1:]) or {}
    return source


def _metric_text(value: JsonObject) -> str:
    if value.get("averageUtilization") is not None:
        return f"{value['averageUtilization']}%"
    if value.get("averageValue") is not None:
        return f"{value['averageValue']} (avg)"
    return str(value.get("value", "<unknown>"))


def access_modes(obj: JsonObject, path: str) -> str:
    """Print access modes by their initials."""
    modes = dig(obj, path) or ()
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX",
             "ReadWriteOncePod": "RWOP"}  # fmt: skip
    return ",".join(text for mode, text in short.items() if mode in modes)


def controller(obj: JsonObject) -> str:
    """Print the owner that controls an object."""
    for owner in dig(obj, "metadata.ownerReferences") or ():
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = owner["kind"].lower() + (f".{group}" if group else "")
            return f"{kind}/{owner['name']}"
    return NONE


def data_keys(obj: JsonObject) -> int:
    """Return how many keys a ConfigMap has."""
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def cluster_ip(obj: JsonObject) -> str:
    """Print the first address of a Service inside the cluster."""
    return str((dig(obj, "spec.clusterIPs") or [NONE])[0])


def boolean(obj: JsonObject, path: str) -> str:
    """Print whether something is so, as Go's structs do."""
    return str(bool(dig(obj, path)))


def lower_boolean(obj: JsonObject, path: str) -> str:
    """Print whether something is so, as JSON does."""
    return boolean(obj, path).lower()


def kind_and_name(obj: JsonObject, path: str) -> str:
    """Print a reference with its kind."""
    return f"{dig(obj, f'{path}.kind')}/{dig(obj, f'{path}.name')}"


def namespace_and_name(obj: JsonObject, path: str) -> str:
    """Print a reference with its namespace."""
    ref = dig(obj, path)
    return f"{ref.get('namespace')}/{ref.get('name')}" if ref else ""


def api_service(obj: JsonObject) -> str:
    """Print which Service answers for an API group."""
    return namespace_and_name(obj, "spec.service") or "Local"


def ingress_ports(obj: JsonObject) -> str:
    """Print the ports of an Ingress."""
    return "80, 443" if dig(obj, "spec.tls") else "80"


def slice_ports(obj: JsonObject) -> str:
    """Print the ports of an EndpointSlice."""
    return ",".join(str(p.get("port", "*")) for p in obj.get("ports") or ()) or "<unset>"


def slice_addresses(obj: JsonObject) -> str:
    """Print the addresses of an EndpointSlice."""
    found = (e.get("addresses") or () for e in obj.get("endpoints") or ())
    return ",".join(address for addresses in found for address in addresses) or "<unset>"


def phase(obj: JsonObject) -> str:
    """Print the phase of a volume or of a claim."""
    if dig(obj, "metadata.deletionTimestamp"):
        return "Terminating"
    return str(dig(obj, "status.phase", ""))


def claim_capacity(obj: JsonObject) -> str:
    """Print how much a bound claim has."""
    return str(dig(obj, "status.capacity.storage", "")) if dig(obj, "spec.volumeName") else ""


def requested_duration(obj: JsonObject) -> str:
    """Print how long a certificate is asked for."""
    seconds = dig(obj, "spec.expirationSeconds")
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return NONE if seconds is None else age(start, start + timedelta(seconds=seconds))


def available(obj: JsonObject) -> str:
    """Print whether an API group is available, and if not, why."""
    for condition in dig(obj, "status.conditions") or ():
        if condition.get("type") == "Available":
            reason = "" if condition["status"] == "True" else f" ({condition.get('reason')})"
            return f"{condition['status']}{reason}"
    return "Unknown"
