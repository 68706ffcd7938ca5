"""Keeps the configuration objects as declared, with the authority of the certificate in use.

Nothing is written before there is a certificate: a configuration of a webhook that cannot answer
would stop every request it matches.
"""

from collections.abc import Iterator, Sequence

from certwright import pki
from certwright.kube import Key, Resource
from certwright.runtime import (
    DONE,
    Channel,
    Context,
    Controller,
    Outcome,
    Part,
    PolicyRule,
    Reconcile,
    allow,
    select,
)
from certwright.tls.server import ServingCertificate
from certwright.webhook.configuration import KINDS, REGISTERED_BY, Registration, configuration
from certwright.webhook.declaration import AdmissionHandler


class TrustedAuthority:
    """What the API server shall trust: the authority of the certificate, and the one before.

    Replicas get a new certificate one after the other; until the last has it, both are needed.
    """

    def __init__(self, registration: Registration, certificate: ServingCertificate) -> None:
        self._given = registration.authority
        self._certificate = certificate
        self._latest = b""
        self._before = b""

    def bundle(self) -> bytes | None:
        """Return the certificates as PEM, perhaps none; None while there is no certificate."""
        pair = self._certificate.pair
        if pair is None:
            return None
        latest = self._given or pair.files.authority
        if latest != self._latest:
            self._latest, self._before = latest, self._latest
        return join_bundles(self._latest, self._before)


def join_bundles(latest: bytes, before: bytes) -> bytes:
    """Return the certificates of two bundles; what cannot be read is left out."""
    found = []
    for part in (latest, before):
        if part:
            try:
                found += pki.read_bundle(part)
            except pki.PkiError:
                continue
    return pki.write_bundle(found) if found else b""


def keep_registered(
    registration: Registration,
    webhooks: Sequence[AdmissionHandler],
    certificate: ServingCertificate,
    self_check: AdmissionHandler | None = None,
    rbac: Sequence[PolicyRule] = (),
) -> Iterator[Part]:
    """Yield the controllers that keep the two configuration objects of a registration.

    *rbac* is what the rest of the process needs, so that a generated role has all of it.
    """
    channel, authority = Channel(), TrustedAuthority(registration, certificate)
    key = Key("", registration.name)
    certificate.listen(lambda: channel.send(key))
    for kind in KINDS:
        reconcile = _reconcile(kind, registration, webhooks, authority, self_check)
        yield Controller(
            select(kind, fields=f"metadata.name={registration.name}"),
            reconcile,
            name=f"webhook-{kind.kind.removesuffix('WebhookConfiguration').lower()}",
            channels=[channel],
            rbac=[allow(kind, "create", "patch", "delete"), *rbac],
            workers=1,
        )


def _reconcile(
    kind: Resource,
    registration: Registration,
    webhooks: Sequence[AdmissionHandler],
    authority: TrustedAuthority,
    self_check: AdmissionHandler | None,
) -> Reconcile:
    async def reconcile(ctx: Context, key: Key) -> Outcome:
        bundle = authority.bundle()
        if bundle is None or key.name != registration.name:
            return DONE  # a certificate wakes it
        wanted = configuration(kind, registration, webhooks, bundle, self_check)
        if wanted is not None:
            await ctx.apply(wanted)
            return DONE
        found = ctx.get(kind, key)
        labels = found["metadata"].get("labels") or {} if found is not None else {}
        if found is not None and labels.get(REGISTERED_BY) == registration.name:
            await ctx.delete(found)
        return DONE

    return reconcile
