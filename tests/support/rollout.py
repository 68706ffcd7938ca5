"""Workloads that consume Secrets and ConfigMaps, and the operator that restarts them.

A restart is a patch of a pod template by the operator.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from certwright.client import Request
from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import (
    CronJob,
    DaemonSet,
    Deployment,
    Event,
    Job,
    Secret,
    StatefulSet,
)
from certwright.operators.rollout.dialects.certwright import CertwrightDialect
from certwright.operators.rollout.dialects.ibm import IbmDialect
from certwright.operators.rollout.dialects.redhat import ALLOW_RESTART, RedhatDialect
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.policy import DIGEST, RECORD
from certwright.pki.authority import self_sign
from certwright.pki.certificates import write_certificates
from certwright.pki.keys import KeySpec, generate_key, write_key
from certwright.pki.names import AlternativeNames, parse_name
from certwright.pki.requests import server_template
from certwright.testkit import Calls, Cluster
from certwright.testkit.builders import config_map

QUIET = timedelta(seconds=5)
HOME = Key("kube-system", "certwright-rollout-key")
ALLOWED = {ALLOW_RESTART: "true"}
ISSUED = {"cert-manager.io/issuer-kind": "Issuer", "cert-manager.io/certificate-name": "web"}
KINDS: Mapping[str, Resource] = {
    kind.kind: kind for kind in (Deployment, StatefulSet, DaemonSet, CronJob)
}
DIALECTS = (CertwrightDialect(), RedhatDialect(), IbmDialect())
SETTINGS = RolloutSettings(dialects=DIALECTS, quiet=QUIET, home=HOME)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LIFETIME = timedelta(days=365 * 80)


@cache
def pair(number: int, since: datetime = LONG_AGO, lifetime: timedelta = LIFETIME) -> JsonObject:
    """Return a certificate and its key: others for each number."""
    key = generate_key(KeySpec())
    names = AlternativeNames.of_hosts("web.example.com")
    template = server_template(parse_name(f"CN=web {number}"), key.public_key(), lifetime, names)
    certificate = write_certificates(self_sign(template, key, since))
    return {"tls.crt": certificate.decode(), "tls.key": write_key(key).decode()}


def encoded(data: Mapping[str, str]) -> dict[str, str]:
    """Return the data of a Secret."""
    return {name: b64encode(value.encode()).decode() for name, value in data.items()}


def secret_object(
    name: str, data: Mapping[str, str], annotations: Mapping[str, str] = ISSUED
) -> JsonObject:
    """Return a Secret as cert-manager writes it."""
    metadata = {"name": name, "annotations": dict(annotations)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded(data)}


def pod_spec(
    volumes: Iterable[str] = (), *, config_maps: Iterable[str] = (), **changes: Any
) -> JsonObject:
    """Return a pod that mounts Secrets and ConfigMaps."""
    sources = [{"secret": {"secretName": name}} for name in volumes]
    sources += [{"configMap": {"name": name}} for name in config_maps]
    mounted = [{"name": f"v{number}", **source} for number, source in enumerate(sources)]
    mounts = [{"name": one["name"], "mountPath": f"/etc/{one['name']}"} for one in mounted]
    container: JsonObject = {"name": "main", "image": "app", "volumeMounts": mounts}
    return {"containers": [container], "volumes": mounted, **changes}


def workload_object(
    name: str,
    pod: JsonObject,
    kind: str = "Deployment",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> JsonObject:
    """Return a workload with pods of a spec."""
    app = {"app": name}
    template: JsonObject = {"metadata": {"labels": app}, "spec": pod}
    spec: JsonObject = {"selector": {"matchLabels": app}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    if kind == "CronJob":
        pod = {**pod, "restartPolicy": "Never"}
        spec = {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    metadata: JsonObject = {"name": name}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if labels is not None:
        metadata["labels"] = dict(labels)
    resource = KINDS[kind]
    return {
        "apiVersion": resource.api_version,
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def job_object(name: str, volumes: Iterable[str], annotations: Mapping[str, str]) -> JsonObject:
    """Return a Job that mounts Secrets."""
    return {
        "apiVersion": Job.api_version,
        "kind": Job.kind,
        "metadata": {"name": name, "annotations": dict(annotations)},
        "spec": {"template": {"spec": pod_spec(volumes, restartPolicy="Never")}},
    }


class Rolling:
    """A cluster with workloads, and words for what happens to them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    # What users do

    async def workload(
        self,
        name: str = "web",
        volumes: Iterable[str] = ("web-tls",),
        *,
        kind: str = "Deployment",
        annotations: Mapping[str, str] | None = ALLOWED,
        labels: Mapping[str, str] | None = None,
        pod: JsonObject | None = None,
        namespace: str = "",
    ) -> None:
        """Create a workload, one that allows restarts to cmd-operator by default."""
        spec = pod if pod is not None else pod_spec(volumes)
        obj = workload_object(name, spec, kind, annotations, labels)
        await self.cluster.create(_placed(obj, namespace))

    async def secret(
        self,
        name: str = "web-tls",
        number: int = 1,
        *,
        data: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] = ISSUED,
        namespace: str = "",
    ) -> None:
        """Create a Secret with a certificate, or with other data."""
        obj = secret_object(name, data or pair(number), annotations)
        await self.cluster.create(_placed(obj, namespace))

    async def renew(
        self, name: str = "web-tls", number: int = 2, data: Mapping[str, str] | None = None
    ) -> None:
        """Write another certificate into a Secret."""
        await self.cluster.patch(Secret, name, {"data": encoded(data or pair(number))})

    async def config(self, name: str, **data: str) -> None:
        """Create or change a ConfigMap."""
        namespace, _, bare = name.rpartition("/")
        await self.cluster.apply(_placed(config_map(bare, data), namespace))

    async def annotate(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Change annotations of a Deployment."""
        patch = {"metadata": {"annotations": dict(changes)}}
        await self.cluster.patch(Deployment, name, patch)

    async def status(self, name: str, kind: str = "Deployment", **status: Any) -> None:
        """Write the status of a workload, as its controller would."""
        live = await self.cluster.get(KINDS[kind], name)
        observed = {"observedGeneration": live["metadata"]["generation"], **status}
        await self.cluster.patch(KINDS[kind], name, {"status": observed}, subresource="status")

    async def rolled_out(self, name: str = "web", kind: str = "Deployment") -> None:
        """Report that all pods have been replaced and are available."""
        counts: JsonObject = {
            "replicas": 1,
            "updatedReplicas": 1,
            "readyReplicas": 1,
            "availableReplicas": 1,
            "conditions": None,
        }
        if kind == "DaemonSet":
            counts = {
                "desiredNumberScheduled": 1,
                "currentNumberScheduled": 1,
                "numberMisscheduled": 0,
                "numberReady": 1,
                "updatedNumberScheduled": 1,
                "numberAvailable": 1,
            }
        await self.status(name, kind, **counts)

    # What is seen

    async def restarts(self, name: str = "web", kind: str = "Deployment") -> int:
        """Return how often the operator has patched the pod template of a workload."""
        key = self.cluster.key(KINDS[kind], name)
        path = KINDS[kind].path(key.namespace, key.name)
        return sum(is_restart(call) and call.path == path for call in self.cluster.calls)

    async def annotations(self, name: str = "web", kind: str = "Deployment") -> JsonObject:
        """Return the annotations of a workload."""
        obj = await self.cluster.get(KINDS[kind], name)
        return obj["metadata"].get("annotations") or {}

    async def record(self, name: str = "web", kind: str = "Deployment") -> str:
        """Return what is recorded on a workload."""
        found: str = (await self.annotations(name, kind)).get(RECORD, "")
        return found

    async def digest(self, name: str = "web") -> str:
        """Return the digest in the pod template of a Deployment."""
        obj = await self.cluster.get(Deployment, name)
        found: str = (obj["spec"]["template"]["metadata"].get("annotations") or {}).get(DIGEST, "")
        return found

    async def events(self, reason: str = "") -> list[JsonObject]:
        """Return the events of a reason, or all."""
        found = (await self.cluster.client.list(Event)).items
        return [one for one in found if reason in {"", one["reason"]}]

    async def notes(self, reason: str = "") -> list[str]:
        """Return the notes of events of a reason."""
        return [one["note"] for one in await self.events(reason)]


def is_restart(call: Request) -> bool:
    """Return whether a request patches a pod template."""
    body = call.body or b""
    return call.verb == "patch" and call.resource in KINDS.values() and b'"template"' in body


def restarts_in(calls: Calls) -> list[str]:
    """Return the names of the workloads whose pod templates were patched."""
    return [call.path.rpartition("/")[2] for call in calls if is_restart(call)]


def _placed(obj: JsonObject, namespace: str) -> JsonObject:
    if not namespace:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
