"""The played controller: it issues what SelfSigned and CA issuers sign, while it leads.

It reads and writes as its ServiceAccount. As with the real one, nothing is issued unless it may
list all that it watches, and may approve requests.
"""

from typing import Final

from certwright.client import Client, Selection
from certwright.client.request import Validation, list_page
from certwright.kube import Forbidden, JsonObject, Key, NotFound, Resource, key_of
from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    Secret,
    SelfSubjectAccessReview,
)
from certwright.runtime.writes.patches import status_patch
from certwright.testkit.actors.certmanager import issuance
from certwright.testkit.actors.certmanager.components import ComponentPod
from certwright.testkit.actors.certmanager.election import Election
from certwright.testkit.actors.certmanager.keypairs import authority_pair, signed_pair
from certwright.testkit.actors.certmanager.world import GROUPS, PlayedWorld
from certwright.testkit.actors.podplay import NEVER

_FIRST_WITH_APPROVAL: Final = (1, 3)
_WATCHED: Final = (
    ("CertificateRequest", "certificaterequests", True),
    ("ClusterIssuer", "clusterissuers", False),
)


class PlayedController:
    """The pod of the controller that leads."""

    KINDS: Final = (
        Secret, ClusterRole, ClusterRoleBinding,
        *(Resource(group, "", kind, "") for group in GROUPS
          for kind in ("Certificate", "Issuer", "ClusterIssuer")),
    )  # fmt: skip

    def __init__(self, world: PlayedWorld, election: Election) -> None:
        self._world = world
        self._election = election
        self._noticed: dict[tuple[str, int], float] = {}
        self.issued: list[Key] = []
        """The Certificates that were issued, one entry for each time."""

    async def step(self) -> float | None:
        """Issue what is due; return the seconds until more is."""
        leader = self._election.leader
        certificates = self._world.served("Certificate", "certificates")
        issuers = self._world.served("Issuer", "issuers")
        if leader is None or certificates is None or issuers is None:
            return None
        client = self._world.client_of(leader, "cert-manager")
        await self.check_rights(leader)
        await self._bootstrap_webhook(client, leader)
        cluster_issuers = self._world.served("ClusterIssuer", "clusterissuers", namespaced=False)
        for kind in filter(None, (issuers, cluster_issuers)):
            for issuer in (await client.list(kind)).items:
                await self._report_issuer(client, leader, kind, issuer)
        due = NEVER
        for certificate in (await client.list(certificates)).items:
            due = min(due, await self._issue(client, leader, certificates, certificate))
        return due

    async def _bootstrap_webhook(self, client: Client, leader: ComponentPod) -> None:
        """Make the Secrets that a webhook serves with which has no authority of its own."""
        space = leader.flag("webhook-namespace", leader.namespace)
        name = leader.flag("webhook-serving-secret")
        if not name or self._world.get(Secret, Key(space, name)) is not None:
            return
        authority = authority_pair(0)
        hosts = tuple(leader.listed("webhook-dns-names"))
        pair = signed_pair(authority.certificate, authority.key, hosts[0], hosts)
        assert pair is not None, "the played authority signs"
        made = {name: pair, leader.flag("webhook-ca-secret"): authority}
        for secret, content in made.items():
            key = Key(space, secret)
            await _store(client, key, issuance.webhook_secret(key, content, authority))

    async def check_rights(self, leader: ComponentPod) -> None:
        """Return if a pod may do what it needs to issue; else raise `Forbidden`."""
        client = self._world.client_of(leader, "cert-manager")
        kinds = [
            self._world.served(kind, plural, namespaced=namespaced)
            for kind, plural, namespaced in _WATCHED
        ]
        for kind in (*kinds, Secret):
            if kind is not None:
                await client.send(list_page(kind, Selection(), limit=1))
        if leader.minor < _FIRST_WITH_APPROVAL:
            return
        asked = {
            "verb": "approve", "group": GROUPS[0], "resource": "signers",
            "name": f"issuers.{GROUPS[0]}/*",
        }  # fmt: skip
        kind_of = {
            "apiVersion": SelfSubjectAccessReview.api_version, "kind": SelfSubjectAccessReview.kind
        }  # fmt: skip
        review = await client.create(
            {**kind_of, "metadata": {}, "spec": {"resourceAttributes": asked}}
        )
        if not review["status"]["allowed"]:
            raise Forbidden(f"{leader.user} cannot approve requests for issuers.{GROUPS[0]}/*")

    async def _report_issuer(
        self, client: Client, leader: ComponentPod, kind: Resource, issuer: JsonObject
    ) -> None:
        authority = self._authority(leader, issuer)
        status = issuance.issuer_status(issuer, authority, self._world.clock.now())
        if not issuance.is_ready(issuer) and status_patch(issuer, status):
            await _write_status(client, _typed(kind, issuer), status)

    async def _issue(
        self, client: Client, leader: ComponentPod, kind: Resource, certificate: JsonObject
    ) -> float:
        """Issue a Certificate if that is due; return the seconds until it is."""
        certificate, now = _typed(kind, certificate), self._world.clock.now()
        key = key_of(certificate)
        name = Key(key.namespace, certificate["spec"]["secretName"])
        secret = self._world.get(Secret, name)
        if issuance.belongs(certificate, secret):
            assert secret is not None, "a Secret that belongs exists"
            if not issuance.is_ready(certificate):
                await self._report(
                    client, certificate, issuance.issued_status(certificate, secret, now)
                )
            return NEVER
        issuer = self._issuer(certificate)
        if issuer is None or not issuance.is_ready(issuer):
            await self._report(client, certificate, issuance.waiting_status(certificate, now))
            return NEVER
        if (left := self._left(certificate)) > 0:
            await self._report(client, certificate, issuance.waiting_status(certificate, now))
            return left
        authority = self._authority(leader, issuer)
        revision = issuance.next_revision(certificate)
        made = issuance.issued_secret(certificate, issuer, authority, revision)
        if made is None:
            return NEVER
        await _store(client, name, made)
        self.issued.append(key)
        await self._report(client, certificate, issuance.issued_status(certificate, made, now))
        return NEVER

    async def _report(self, client: Client, certificate: JsonObject, status: JsonObject) -> None:
        if status_patch(certificate, status):
            await _write_status(client, certificate, status)

    def _left(self, certificate: JsonObject) -> float:
        """Return the seconds until a Certificate that can be issued is."""
        metadata, now = certificate["metadata"], self._world.clock.monotonic()
        key = (metadata["uid"], issuance.next_revision(certificate))
        return self._noticed.setdefault(key, now) + self._world.play.issuance - now

    def _issuer(self, certificate: JsonObject) -> JsonObject | None:
        reference = certificate["spec"].get("issuerRef") or {}
        if (reference.get("kind") or "Issuer") == "ClusterIssuer":
            kind = self._world.served("ClusterIssuer", "clusterissuers", namespaced=False)
            namespace = ""
        else:
            kind = self._world.served("Issuer", "issuers")
            namespace = certificate["metadata"]["namespace"]
        return self._world.get(kind, Key(namespace, reference.get("name", ""))) if kind else None

    def _authority(self, leader: ComponentPod, issuer: JsonObject) -> JsonObject | None:
        """Return the Secret that an issuer signs with."""
        name = ((issuer.get("spec") or {}).get("ca") or {}).get("secretName")
        namespace = issuer["metadata"].get("namespace")
        if not namespace:
            namespace = leader.flag("cluster-resource-namespace", "kube-system")
        return self._world.get(Secret, Key(namespace, name)) if name else None


def _typed(kind: Resource, obj: JsonObject) -> JsonObject:
    """Return an object of a list, which does not say what kind it is."""
    return {**obj, "apiVersion": kind.api_version, "kind": kind.kind}


async def _write_status(client: Client, obj: JsonObject, status: JsonObject) -> None:
    """Write a status; fields that an early version does not have are left out."""
    changed = {**obj, "status": status}
    await client.update(changed, subresource="status", validation=Validation.IGNORE)


async def _store(client: Client, key: Key, secret: JsonObject) -> None:
    try:
        found = await client.get(Secret, key)
    except NotFound:
        await client.create(secret)
        return
    annotations = found["metadata"].get("annotations") or {}
    metadata = {
        **found["metadata"], "annotations": {**annotations, **secret["metadata"]["annotations"]}
    }  # fmt: skip
    await client.update({**found, "metadata": metadata, "data": secret["data"]})
