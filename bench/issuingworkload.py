"""CertificateRequests of one issuer: made, approved, and seen to be answered."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.client import Client
from certwright.issuers.ca import app
from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import Secret
from certwright.runtime import Cache, Entry

AUTHORITY = "authority"
USAGES = ["digital signature", "server auth", "client auth"]
BATCH = 20
TIME = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class IssuerKind:
    """Who is to sign: a namespaced kind, and the spec that names a Secret with an authority."""

    api_version: str
    kind: str
    spec: JsonObject

    def manifest(self, namespace: str) -> JsonObject:
        """Return the issuer."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"name": AUTHORITY, "namespace": namespace},
            "spec": self.spec,
        }

    @property
    def reference(self) -> JsonObject:
        """What requests call it."""
        group = self.api_version.partition("/")[0]
        return {"name": AUTHORITY, "kind": self.kind, "group": group}

    @property
    def resource(self) -> Resource:
        """Where it is served."""
        group, _, version = self.api_version.partition("/")
        return Resource(group, version, self.kind, f"{self.kind.lower()}s", namespaced=True)


assert app.namespaced_kind is not None
OURS = IssuerKind(
    app.namespaced_kind.resource.api_version,
    app.namespaced_kind.resource.kind,
    {"authorities": [{"name": AUTHORITY}]},
)
CERT_MANAGERS = IssuerKind("cert-manager.io/v1", "Issuer", {"ca": {"secretName": AUTHORITY}})


def names(count: int, prefix: str = "request") -> list[str]:
    """Return the names of that many requests."""
    return [f"{prefix}-{number:05d}" for number in range(count)]


def signing_requests(wanted: Sequence[str]) -> dict[str, bytes]:
    """Return a P-256 signing request for each name, every one with a key of its own."""
    return {name: _signing_request(name) for name in wanted}


def _signing_request(name: str) -> bytes:
    hosts = pki.AlternativeNames.of_hosts(f"{name}.example.com", f"{name}.example.org")
    key = pki.generate_key(pki.KeySpec())
    return pki.write_request(pki.build_request(key, pki.parse_name(f"CN={name},O=Bench"), hosts))


def authority_secret(namespace: str, key: pki.PrivateKey | None = None) -> JsonObject:
    """Return a Secret with a new authority."""
    key = key or pki.generate_key(pki.KeySpec())
    root = pki.create_root(pki.parse_name("CN=root"), key, timedelta(days=999), datetime.now(UTC))
    data = {"tls.crt": pki.write_certificates(root.certificate), "tls.key": pki.write_key(key)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": AUTHORITY, "namespace": namespace},
        "type": "kubernetes.io/tls",
        "data": {name: b64encode(value).decode() for name, value in data.items()},
    }


async def read_authority(client: Client, namespace: str) -> pki.Authority:
    """Return the authority of a namespace."""
    secret = await client.get(Secret, Key(namespace, AUTHORITY))
    certificate, key = (b64decode(secret["data"][name]) for name in ("tls.crt", "tls.key"))
    return pki.Authority(pki.read_certificate(certificate), pki.read_key(key))


def request(namespace: str, name: str, csr: bytes, issuer: IssuerKind) -> JsonObject:
    """Return a request."""
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "CertificateRequest",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "request": b64encode(csr).decode(),
            "issuerRef": issuer.reference,
            "duration": "2160h",
            "usages": USAGES,
        },
    }


_APPROVAL = {
    "type": "Approved",
    "status": "True",
    "reason": "cert-manager.io",
    "message": "Certificate request has been approved by the benchmark",
    "lastTransitionTime": TIME,
}


async def publish(
    client: Client, namespace: str, csrs: Mapping[str, bytes], issuer: IssuerKind
) -> None:
    """Create requests and approve each at once, some at a time."""
    rest = iter(csrs.items())

    async def worker() -> None:
        for name, csr in rest:
            made = await client.create(request(namespace, name, csr, issuer))
            made["status"] = {"conditions": [_APPROVAL]}
            await client.update(made, subresource="status")

    async with asyncio.TaskGroup() as group:
        for _ in range(BATCH):
            group.create_task(worker())


class _Condition(msgspec.Struct):
    type: str
    status: str
    reason: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []
    certificate: str = ""


class _Answered(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


_ANSWERED = msgspec.json.Decoder(_Answered)
_READY = {("Ready", "True")}


class Witness:
    """Sees requests become Issued, by a watch of its own."""

    def __init__(self) -> None:
        self._issued: set[Key] = set()

    def on_change(self, _: Entry | None, new: Entry | None) -> None:
        if new is None:
            return
        status = _ANSWERED.decode(new.raw).status
        said = {(one.type, one.reason) for one in status.conditions if one.status == "True"}
        if ("Ready", "Issued") in said and status.certificate:
            self._issued.add(new.key)

    async def sees_issued(self, count: int) -> None:
        """Return when so many are issued."""
        while len(self._issued) < count:
            await asyncio.sleep(0.005)


@asynccontextmanager
async def witnessed(client: Client, namespace: str) -> AsyncIterator[Witness]:
    """Watch the requests of a namespace for the duration of the context."""
    witness, cache = Witness(), Cache(client)
    async with asyncio.TaskGroup() as group:
        share = cache.store(CertificateRequest, namespace=namespace)
        share.listen(witness.on_change)
        watching = group.create_task(cache.run())
        await share.synced()
        yield witness
        watching.cancel()


async def until_ready(client: Client, namespace: str, issuer: IssuerKind) -> None:
    """Return when the issuer of a namespace says that it can sign."""
    while True:
        found = await client.get(issuer.resource, Key(namespace, AUTHORITY))
        conditions = (found.get("status") or {}).get("conditions") or ()
        if any((one["type"], one["status"]) in _READY for one in conditions):
            return
        await asyncio.sleep(0.1)
