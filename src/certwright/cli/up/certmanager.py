"""cert-manager in ``certwright up``: installed by its operator, and a certificate issued with it.

On the embedded server it is played, in a version with little in it; on the real control plane it
is the real one, whose programs run on the node.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from certwright.api.certmanager import Certificate, CertificateRequest
from certwright.api.certmanagerdeployments import NAME, CertManagerDeployment
from certwright.apiserver import ApiServer
from certwright.apiserver.webhooks.registered import RegisteredWebhooks
from certwright.apiserver.webhooks.response import WebhookResponse
from certwright.apiserver.webhooks.reviews import ReviewCaller
from certwright.bundles.bundle import Bundle, encode, make_bundle
from certwright.bundles.catalogue import load
from certwright.bundles.configmap import to_config_map
from certwright.bundles.errors import BundleError
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.cli.errors import UsageError
from certwright.cli.up.accounts import NAMESPACE, OperatorAccount
from certwright.cli.up.demos import Demo
from certwright.cli.up.samples import apply_samples
from certwright.client import Client
from certwright.clock import SYSTEM, Clock
from certwright.kube import JsonObject, Key, crd_manifest
from certwright.operators.certmanager.grants import operand_rules
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.source import BundleSource
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    small_release,
)
from certwright.testkit.certmanager.assets import LATEST
from certwright.testkit.certmanager.images import cert_manager_images
from certwright.testkit.certmanager.released import released_bundle
from certwright.testkit.controlplane import AssetsMissing
from certwright.testkit.node import Program

SAMPLES: Final = ("v1.20.3-sample", "v1.21.2-sample")
"""The versions that are played."""
CERTIFICATE: Final = "sample-cert"
_RESOURCE: Final = CertManagerDeployment.resource
_SPACE: Final = "cert-manager"
_PLAY: Final = CertManagerPlay(lease=15.0, deadline=10.0, retry=3.0)
"""Leases change hands sooner than those of the real one, which has people wait half a minute."""
_POLL_SECONDS: Final = 0.5
_WITHOUT: Final = "or start without cert-manager: certwright up --real --no-cert-manager"


def sample_bundles() -> list[Bundle]:
    """Return the versions that can be played."""
    definitions = [crd_manifest(kind) for kind in (Certificate, CertificateRequest)]
    ours = {one["metadata"]["name"]: one["spec"] for one in definitions}
    bundles = []
    for version in SAMPLES:
        objects = [
            # Definitions of the small release have no schema, and no columns for people.
            {**one, "spec": ours[name]} if (name := one["metadata"]["name"]) in ours else one
            for one in small_release(version)
        ]
        bundles.append(make_bundle(version, objects))
    return bundles


def real_bundles() -> list[Bundle]:
    """Return the real cert-manager; `UsageError` if there is no tool to make it with."""
    try:
        return [released_bundle(f"v{LATEST}")]
    except BundleError as error:
        raise UsageError(f"{error}; {_WITHOUT}") from error


def real_images() -> dict[str, Program]:
    """Return its programs, which are built the first time; `UsageError` if they cannot be."""
    try:
        return cert_manager_images([LATEST])
    except AssetsMissing as error:
        raise UsageError(f"{error}; {_WITHOUT}") from error


def cert_manager_demo(bundles: Sequence[Bundle]) -> Demo:
    """Return the operator that installs cert-manager, and an installation of the first version."""
    packed = {one.version: PackedBundle.read(encode(one), one.version) for one in bundles}
    found = BundleSet(packed)
    source = BundleSource(lambda: found, load(), default=bundles[0].version)
    operator = certmanager_operator(CertManagerSettings(source, {}, operand_rules(bundles)))
    version, latest = bundles[0].version, bundles[-1].version
    return Demo(
        accounts=[OperatorAccount("cert-manager-installer", [operator])],
        kinds=[CertManagerDeployment],
        objects=lambda: [_installation(version)],
        introduction="A CertManagerDeployment installs cert-manager. Try:",
        suggestions=lambda kubectl: _suggestions(kubectl, latest if latest != version else ""),
        grants=[_namespace(), *(to_config_map(one.data, NAMESPACE) for one in packed.values())],
        later=order_certificate,
    )


def _namespace() -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def _installation(version: str) -> JsonObject:
    head = {"apiVersion": _RESOURCE.api_version, "kind": _RESOURCE.kind}
    return {**head, "metadata": {"name": NAME}, "spec": {"version": version}}


def _suggestions(kubectl: str, newer: str) -> list[str]:
    change = f"{kubectl} patch {_RESOURCE.plural} {NAME} --type merge -p"
    upgrade = f"""{change} '{{"spec":{{"version":"{newer}"}}}}'   # an upgrade, step by step"""
    return [
        "certwright cert-manager explain   # what is installed, and whether it works",
        "certwright cert-manager check   # each link from the API server to a certificate",
        f"{kubectl} get certificates   # one was issued when cert-manager worked",
        f"{kubectl} delete clusterrole cert-manager-controller-issuers   # it comes back",
        *([upgrade] if newer else []),
        "certwright cert-manager plan   # what the operator would change next",
    ]


async def order_certificate(client: Client) -> None:
    """Create an Issuer and a Certificate as soon as the status says that they will be issued."""
    while not _is_available(await client.get(_RESOURCE, Key("", NAME))):
        await asyncio.sleep(_POLL_SECONDS)
    client.discovery.invalidate()
    await apply_samples(client, certificate_sample())


def certificate_sample() -> list[JsonObject]:
    """Return a self-signed Issuer, and a Certificate of it."""
    head = {"apiVersion": "cert-manager.io/v1"}
    names = {"secretName": f"{CERTIFICATE}-tls", "dnsNames": ["web.default.svc"]}
    key = {"algorithm": "ECDSA", "size": 256}
    spec = {**names, "privateKey": key, "issuerRef": {"name": "self-signed"}}
    issuer = {"metadata": {"name": "self-signed"}, "spec": {"selfSigned": {}}}
    certificate = {"metadata": {"name": CERTIFICATE}, "spec": spec}
    return [
        {**head, "kind": "Issuer", **issuer},
        {**head, "kind": "Certificate", **certificate},
    ]


def _is_available(obj: JsonObject) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


class SampleWebhooks:
    """Calls webhooks: those of samples in this process, all others over HTTPS."""

    def __init__(self) -> None:
        self.played = RegisteredWebhooks(SYSTEM)
        self.places: dict[str, ReviewCaller] = {_SPACE: self.played}
        """What answers for the Services of a namespace."""
        self.others: ReviewCaller | None = None

    async def call(
        self, client_config: JsonObject, review: JsonObject, seconds: int
    ) -> WebhookResponse:
        """Send a review and return the response; `CallFailed` if there is none in time."""
        place = (client_config.get("service") or {}).get("namespace", "")
        caller = self.places.get(place) or self.others or self.played
        return await caller.call(client_config, review, seconds)


@dataclass(frozen=True, slots=True)
class _PlayedHost:
    server: ApiServer
    client: Client
    webhooks: RegisteredWebhooks
    clock: Clock = SYSTEM


@asynccontextmanager
async def played_cert_manager(server: ApiServer, webhooks: SampleWebhooks) -> AsyncIterator[None]:
    """Play cert-manager on a server that was made with *webhooks*, wherever its images run."""
    host = _PlayedHost(server, Client(server.transport()), webhooks.played)
    async with PlayedCertManager(host, _PLAY, pods=False):
        yield
