"""A model of a cluster with cert-manager on it: a few dicts instead of an API server.

It knows the objects of an installation, the pods that follow from Deployments, the CA that the
cainjector writes into registrations, and the Lease of the controller. Time passes only when it is
told so. Versions need different rights, and issue nothing without them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import orjson

from certwright.apply import ObjectRef
from certwright.kube import BadRequest, InternalError, JsonObject, Key, format_time
from certwright.operators.certmanager.engine.observed import ca_bundles, first_container

START = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = float("inf")
LEASE_SECONDS = 60.0
CONTROLLER, WEBHOOK, CAINJECTOR = (
    "cert-manager",
    "cert-manager-webhook",
    "cert-manager-cainjector",
)
REGISTRATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_ESTABLISHED = [{"type": kind, "status": "True"} for kind in ("Established", "NamesAccepted")]


@dataclass(frozen=True, eq=False)
class Stored:
    """An object as it is stored; another instance whenever it changes."""

    content: JsonObject
    applied: JsonObject | None = None
    """What was declared when the operator last wrote it; None if others changed it since."""

    def obj(self) -> JsonObject:
        """Return the object."""
        return self.content

    @property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        return self.content["metadata"].get("annotations") or {}


@dataclass
class ModelPod:
    """A pod of a Deployment."""

    name: str
    image: str
    template: JsonObject
    ready_at: float


@dataclass
class ModelCluster:
    """All that outlives the operator's process."""

    rng: Random
    rights: Mapping[str, Mapping[ObjectRef, JsonObject]]
    """The roles that pods need, by their image."""
    now: float = 0.0
    objects: dict[ObjectRef, Stored] = field(default_factory=dict)
    pods: dict[str, list[ModelPod]] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    """Deployments whose new pods do not become ready."""
    lease: JsonObject | None = None
    deleted: list[ObjectRef] = field(default_factory=list)
    serial: int = 0

    def time(self) -> datetime:
        """Return the time of day."""
        return START + timedelta(seconds=self.now)

    def next_version(self) -> str:
        """Return a resourceVersion that no object has had."""
        self.serial += 1
        return str(self.serial)

    # What clients do

    def put(self, ref: ObjectRef, content: JsonObject, applied: JsonObject | None = None) -> Stored:
        """Create an object, or replace its content; its identity and status stay."""
        known = self.objects.get(ref)
        before = known.content if known is not None else {}
        kept = before.get("metadata") or {}
        metadata = {
            **content["metadata"],
            "uid": kept.get("uid") or self.next_version(),
            "resourceVersion": self.next_version(),
            "generation": kept.get("generation", 0) + (before.get("spec") != content.get("spec")),
        }
        status = {"status": before["status"]} if "status" in before else {}
        stored = Stored({**content, **status, "metadata": metadata}, applied)
        self.objects[ref] = stored
        return stored

    def delete(self, ref: ObjectRef) -> None:
        """Delete an object."""
        self.objects.pop(ref, None)
        self.deleted.append(ref)

    def create_certificate(self, *, sensible: bool) -> None:
        """Judge a Certificate as the API server does; raise what it says."""
        if not self._named("CustomResourceDefinition", _is_established):
            raise BadRequest("the server could not find the requested resource")
        registrations = self._registrations()
        call = 'Internal error occurred: failed calling webhook "webhook.cert-manager.io": '
        if registrations and not all(ca_bundles(registrations)):
            raise InternalError(call + "tls: failed to verify certificate: x509: unknown authority")
        if registrations and not self.ready(WEBHOOK):
            raise InternalError(call + "no endpoints available for service")
        if registrations and not sensible:
            raise BadRequest('admission webhook "webhook.cert-manager.io" denied the request')

    def found(self, kind: str) -> list[JsonObject]:
        """Return the objects of a kind."""
        return [one.content for ref, one in self.objects.items() if ref.kind == kind]

    # What is true

    def refusal(self) -> str:
        """Return why a user cannot create a Certificate now; empty if it is stored and judged."""
        try:
            self.create_certificate(sensible=True)
        except (BadRequest, InternalError) as error:
            return str(error)
        return "" if self._registrations() else "Certificates are not judged"

    def leader(self) -> ModelPod | None:
        """Return the controller's pod that holds the Lease."""
        spec = (self.lease or {}).get("spec") or {}
        if not spec or self.now - self._renewed > LEASE_SECONDS:
            return None
        held = spec["holderIdentity"]
        return next((one for one in self.pods.get(CONTROLLER, ()) if held == one.name), None)

    def idle(self) -> str:
        """Return why no certificate is issued now; empty if it is."""
        leader = self.leader()
        if leader is None or leader.ready_at > self.now:
            return "no controller leads"
        return self.refusal() or self.missing_rights()

    def missing_rights(self) -> str:
        """Return which running pod may not do what its version does; empty if all may."""
        images = {pod.image for name in self.pods for pod in self.ready(name)}
        for image in sorted(images):
            for ref, role in self.rights[image].items():
                stored = self.objects.get(ref)
                given = stored.content.get("rules") or () if stored is not None else ()
                if stored is None or any(rule not in given for rule in role.get("rules") or ()):
                    return f"{image} lacks {ref}"
        return ""

    def mixed(self) -> list[str]:
        """Return the Deployments with pods of more than one version."""
        return [name for name, pods in self.pods.items() if len({one.image for one in pods}) > 1]

    def ready(self, deployment: str) -> list[ModelPod]:
        """Return the pods of a Deployment that are ready."""
        return [one for one in self.pods.get(deployment, ()) if one.ready_at <= self.now]

    # What happens by itself

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and all that runs take one step."""
        self.now += seconds
        for ref, stored in list(self.objects.items()):
            if ref.kind == "Deployment":
                self._roll(ref, stored)
            elif ref.kind == "CustomResourceDefinition" and not _is_established(stored.content):
                self._establish(ref, stored)
        for name in [one for one in self.pods if not self._deployed(one)]:
            del self.pods[name]
        if self.ready(CAINJECTOR) and self.rng.random() < 0.6:
            self._inject()
        self._elect()

    def _roll(self, ref: ObjectRef, stored: Stored) -> None:
        """Take a step towards one pod of the latest template; the old one stays until it is ready."""
        template: JsonObject = stored.content["spec"]["template"]
        pods = self.pods.setdefault(ref.name, [])
        if not any(one.template == template for one in pods):
            image = str(first_container(stored.content)["image"])
            pods.append(ModelPod(f"{ref.name}-{self.next_version()}", image, template, NEVER))
        for one in pods:
            if one.ready_at == NEVER and (ref.name not in self.broken):
                one.ready_at = self.now + self.rng.choice([0.0, 1.0, 10.0, 40.0])
        latest = [one for one in pods if one.template == template]
        if any(one.ready_at <= self.now for one in latest) and self.rng.random() < 0.7:
            self.pods[ref.name] = pods = latest
        ready = len(self.ready(ref.name))
        status = {
            "observedGeneration": stored.content["metadata"]["generation"],
            "replicas": len(pods),
            "updatedReplicas": len(latest),
            "readyReplicas": ready,
            "availableReplicas": ready,
        }
        if stored.content.get("status") != status:
            self._write_status(ref, stored, status)

    def _write_status(self, ref: ObjectRef, stored: Stored, status: JsonObject) -> None:
        metadata = {**stored.content["metadata"], "resourceVersion": self.next_version()}
        content = {**stored.content, "metadata": metadata, "status": status}
        self.objects[ref] = replace(stored, content=content)

    def _establish(self, ref: ObjectRef, stored: Stored) -> None:
        if self.rng.random() < 0.7:
            status = {"conditions": _ESTABLISHED, "storedVersions": ["v1"]}
            self._write_status(ref, stored, status)

    def _inject(self) -> None:
        for ref, stored in list(self.objects.items()):
            if ref.kind in REGISTRATIONS and not all(ca_bundles([stored.content])):
                webhooks = with_bundles(stored.content, ["ca"] * len(stored.content["webhooks"]))
                metadata = {**stored.content["metadata"], "resourceVersion": self.next_version()}
                content = {**stored.content, "metadata": metadata, "webhooks": webhooks}
                self.objects[ref] = replace(stored, content=content)

    @property
    def _renewed(self) -> float:
        return float(self.lease["metadata"]["renewed"]) if self.lease else -LEASE_SECONDS

    def _elect(self) -> None:
        """Let the leader renew its Lease, or another take one that was released or has run out."""
        spec = (self.lease or {}).get("spec") or {}
        ready = self.ready(CONTROLLER)
        holder = next((one for one in ready if one.name == spec.get("holderIdentity")), None)
        if holder is None and self.rng.random() < 0.3:  # a pod that ends may release it
            self.lease, spec = None, {}
        free = not spec or self.now - self._renewed > LEASE_SECONDS
        if holder is None and ready and free:
            holder = self.rng.choice(ready)
        if holder is not None:
            renewed = {"leaseDurationSeconds": int(LEASE_SECONDS), "renewTime": self._instant()}
            taken = {"holderIdentity": holder.name, **renewed}
            self.lease = {"metadata": {"renewed": self.now}, "spec": taken}

    def _instant(self) -> str:
        return format_time(self.time()).replace("Z", ".000000Z")

    def _deployed(self, name: str) -> bool:
        return any(ref.kind == "Deployment" and ref.name == name for ref in self.objects)

    def _registrations(self) -> list[JsonObject]:
        return [one for kind in REGISTRATIONS for one in self.found(kind)]

    def _named(self, kind: str, holds: Any) -> bool:
        found = self.found(kind)
        return bool(found) and all(map(holds, found))


def with_bundles(registration: JsonObject, bundles: Iterable[str]) -> list[JsonObject]:
    """Return the webhooks of a registration with CA bundles; an empty one is left out."""
    return [
        {**webhook, "clientConfig": {**webhook["clientConfig"], **_bundle(bundle)}}
        for webhook, bundle in zip(registration["webhooks"], bundles, strict=True)
    ]


def _bundle(text: str) -> JsonObject:
    return {"caBundle": text} if text else {}


def _is_established(definition: JsonObject) -> bool:
    return bool((definition.get("status") or {}).get("conditions"))


@dataclass(frozen=True)
class ModelPage:
    """A page of a list, as a client returns it."""

    items: list[bytes]


def page(objects: Iterable[JsonObject]) -> ModelPage:
    """Return a page of objects."""
    return ModelPage([orjson.dumps(one) for one in objects])


def pods_with(cluster: ModelCluster, labels: str) -> Iterator[JsonObject]:
    """Yield the pods that a Deployment selects by labels."""
    for one in cluster.found("Deployment"):
        selector = one["spec"]["selector"]["matchLabels"]
        if labels == ",".join(f"{name}={value}" for name, value in selector.items()):
            for pod in cluster.pods.get(one["metadata"]["name"], ()):
                yield {"metadata": {"name": pod.name}, "spec": pod.template["spec"]}


def key_in(ref: ObjectRef, kind: str, key: Key) -> bool:
    """Return whether an object is the one of a kind at a key."""
    return ref.kind == kind and ref.key == key
