"""What ``certwright ds`` does: reads, decides, writes, prints."""

import sys
from dataclasses import dataclass

from certwright.api.discoverydefaults import ca_secret_name
from certwright.api.discoveryservices import (
    NEEDS_RENEWAL,
    DiscoveryService,
    DiscoveryServiceCertificate,
)
from certwright.cli.connection import connected, require_name
from certwright.cli.ds.text import status_text, summary
from certwright.cli.errors import UsageError
from certwright.cli.options import Output, Target
from certwright.cli.terminal.output import document
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import JsonObject, Key, NotFound, format_time

_NOT_SERVED = (
    "the cluster serves no DiscoveryServices; install them with:"
    " certwright crds discoveryservice | kubectl apply --server-side -f -"
)


@dataclass(frozen=True, slots=True)
class FoundService:
    """A DiscoveryService and the certificates that belong to it."""

    service: DiscoveryService
    certificates: list[DiscoveryServiceCertificate]

    @property
    def authority(self) -> DiscoveryServiceCertificate | None:
        """The certificate of its authority."""
        spec, name = self.service.spec, self.service.metadata.name
        key = Key(spec.discovery_service_namespace, ca_secret_name(name, spec))
        return next((one for one in self.certificates if one.key == key), None)


async def status(target: Target, name: str | None, output: Output) -> int:
    """Print how a DiscoveryService is; return 1 if something is not ready."""
    async with connected(target) as session:
        found = await find(session.client, name)
    facts = summary(found.service, found.certificates)
    if output is Output.TABLE:
        print(status_text(facts, SYSTEM.now()))
    else:
        print(document(facts, output))
    return 0 if facts["ready"] else 1


async def rotate_authority(target: Target, name: str | None, *, dry_run: bool) -> int:
    """Ask for another authority, unless it is being replaced already."""
    async with connected(target) as session:
        found = await find(session.client, name)
        authority = found.authority
        if authority is None or not authority.status.serial_number:
            raise UsageError(
                f"DiscoveryService {found.service.metadata.name} has no authority yet; see:"
                " certwright ds status"
            )
        rotation = found.service.status.rotation
        phase = rotation.phase if rotation else ""
        if phase and phase not in {"Stable", "Retired"}:
            print(f"the authority is being replaced already: phase {phase}; nothing was done")
            return 0
        await request_renewal(session.client, authority, dry_run=dry_run)
    word = "would be" if dry_run else "is"
    print(
        f"the authority {authority.key} (serial {authority.status.serial_number}) {word} replaced:"
        " a new one is made, all trust both, certificates are issued anew, the old one is dropped"
    )
    if not dry_run:
        print(
            f"follow it with: certwright ds status {found.service.metadata.name}", file=sys.stderr
        )
    return 0


async def find(client: Client, name: str | None) -> FoundService:
    """Return a DiscoveryService, or the only one; `UsageError` says what to do if there is none."""
    kind = DiscoveryService.resource
    try:
        listed = await client.list(DiscoveryService, "")
    except NotFound:
        raise UsageError(_NOT_SERVED) from None
    if name is not None:
        require_name(name, kind.kind)
    chosen = [one for one in listed.items if name is None or one.metadata.name == name]
    names = ", ".join(one.metadata.name for one in listed.items) or "none"
    if not chosen:
        raise UsageError(f"there is no DiscoveryService {name or ''}; there are: {names}")
    if len(chosen) > 1:
        raise UsageError(f"there are several DiscoveryServices, name one of: {names}")
    label = f"app.kubernetes.io/instance={chosen[0].metadata.name}"
    certificates = await client.list(DiscoveryServiceCertificate, "", labels=label)
    return FoundService(chosen[0], list(certificates.items))


async def request_renewal(
    client: Client, certificate: DiscoveryServiceCertificate, *, dry_run: bool
) -> None:
    """Set the condition by which a certificate is issued anew."""
    now = format_time(SYSTEM.now())
    asked: JsonObject = {
        "type": NEEDS_RENEWAL,
        "status": "True",
        "reason": "Requested",
        "message": "asked for with certwright ds rotate-ca",
        "lastTransitionTime": now,
    }
    live = await client.get(DiscoveryServiceCertificate.resource, certificate.key)
    status = live.get("status") or {}
    kept = [one for one in status.get("conditions") or () if one["type"] != NEEDS_RENEWAL]
    # With its version: conditions that were written meanwhile must not get lost.
    patch = {
        "metadata": {"resourceVersion": live["metadata"]["resourceVersion"]},
        "status": {"conditions": [*kept, asked]},
    }
    await client.patch(
        DiscoveryServiceCertificate.resource,
        certificate.key,
        patch,
        subresource="status",
        dry_run=dry_run,
    )
