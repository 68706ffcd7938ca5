"""Reconciles one DiscoveryServiceCertificate at a time: which pass it needs, and its deletion."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.kube import JsonObject, Key, key_of
from certwright.operators.discoveryservice.certificates import messages
from certwright.operators.discoveryservice.certificates.contents import (
    certificate_of,
    controller_name,
)
from certwright.operators.discoveryservice.certificates.leaf import BY_SECRET, LeafPass
from certwright.operators.discoveryservice.certificates.rotation.authority import (
    BY_ISSUER,
    FINALIZER,
    AuthorityPass,
)
from certwright.operators.discoveryservice.certificates.rotation.places import INSTANCE
from certwright.operators.discoveryservice.certificates.shared import PassTools, SecretNotOwned
from certwright.operators.discoveryservice.certificates.status import Findings
from certwright.operators.discoveryservice.certificates.wanted import (
    InvalidSpec,
    issuer_of,
    read_wanted,
    secret_of,
)
from certwright.runtime import DONE, WAIT, Context, Entry, Outcome, Store, again

BY_SERVICE: Final = "service"
FOREIGN_SECRET_PERIOD: Final = timedelta(minutes=5)
"""How often a certificate is tried again whose Secret belongs to something else."""
_KIND: Final = DiscoveryServiceCertificate.resource


class CertificateController:
    """Reconciles certificates, and finds those that a change concerns."""

    def __init__(self, tools: PassTools) -> None:
        self._tools = tools
        self._leaf = LeafPass(tools)
        self._authority = AuthorityPass(tools)
        self._certificates: Store | None = None

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Make one certificate as it should be, or let it go."""
        self._certificates = ctx.store(_KIND)
        obj = ctx.get(_KIND, key)
        if obj is None:
            self._tools.metrics.forget(key)
            return DONE
        if "deletionTimestamp" in obj["metadata"]:
            return await self._let_go(ctx, obj)
        try:
            wanted = read_wanted(obj)
            if wanted.rotates:
                return await self._authority.run(ctx, obj, wanted)
            return await self._leaf.run(ctx, obj, wanted)
        except InvalidSpec as error:
            found = Findings(reason=messages.INVALID_SPEC, message=str(error), pending=True)
            return await self._tools.report(ctx, obj, found, WAIT.as_failure())
        except SecretNotOwned as error:
            text = messages.secret_not_owned(error.secret)
            found = Findings(reason=messages.SECRET_NOT_OWNED, message=text, pending=True)
            # Those of other types are not watched.
            later = again(after=FOREIGN_SECRET_PERIOD).as_failure()
            return await self._tools.report(ctx, obj, found, later)

    async def _let_go(self, ctx: Context, obj: JsonObject) -> Outcome:
        """Let an authority be deleted once no certificate names it; others need nothing."""
        if FINALIZER not in (obj["metadata"].get("finalizers") or ()):
            return DONE
        secret = secret_of(obj)
        leaves = ctx.indexed(_KIND, BY_ISSUER, secret) if secret is not None else ()
        if leaves:
            names = sorted(str(key_of(leaf)) for leaf in leaves)
            ctx.event(obj, "Warning", messages.IN_USE, messages.in_use(names))
            return WAIT
        if secret is not None:
            self._authority.forget(secret)
        await ctx.release(obj, FINALIZER)
        return DONE

    # What a change concerns

    def by_secret(self, entry: Entry) -> Iterable[Key]:
        """Return the certificates that the change of a Secret concerns.

        The one it belongs to; the authority of that one; and those that name it as authority.
        """
        owner = certificate_of(entry.obj())
        if owner is not None:
            yield owner
        store = self._certificates
        if store is None:
            return  # nothing was reconciled yet, so everything is about to be
        yield from (one.key for one in store.by_index(BY_ISSUER, entry.key))
        certificate = store.get(owner) if owner is not None else None
        if certificate is not None:
            yield from self.by_certificate(certificate)

    def by_certificate(self, entry: Entry) -> Iterator[Key]:
        """Return the authority that the change of a certificate concerns."""
        issuer = issuer_of(entry.obj())
        store = self._certificates
        if issuer is not None and store is not None:
            yield from (one.key for one in store.by_index(BY_SECRET, issuer))

    def by_bundle(self, entry: Entry) -> Iterable[Key]:
        """Return the authority that is named by an object of its DiscoveryService."""
        service, store = entry.meta.labels.get(INSTANCE, ""), self._certificates
        if service and store is not None:
            yield from (one.key for one in store.by_index(BY_SERVICE, service))


def issuer_index(entry: Entry) -> tuple[Key, ...]:
    """Index certificates by the Secret of their authority."""
    issuer = issuer_of(entry.obj())
    return () if issuer is None else (issuer,)


def secret_index(entry: Entry) -> tuple[Key, ...]:
    """Index certificates by their Secret."""
    secret = secret_of(entry.obj())
    return () if secret is None else (secret,)


def service_index(entry: Entry) -> tuple[str, ...]:
    """Index authorities by the name of their DiscoveryService."""
    obj = entry.obj()
    service = controller_name(obj, DiscoveryService.resource.kind)
    return (service,) if service and issuer_of(obj) is None else ()
