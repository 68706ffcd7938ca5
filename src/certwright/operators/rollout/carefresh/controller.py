"""One pass over one Certificate: is its authority refreshed, and did that sign it?

Certificates are looked at one by one. A change of an authority wakes the Certificates below it; a
change of what is refreshed at all wakes those below every authority. Nothing is remembered between
passes: which were told to cert-manager is in their conditions and annotations.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from certwright.api.certmanager import CERTIFICATE_NAME, Certificate
from certwright.api.certmanagers import CertManagerInstallation
from certwright.kube import JsonObject, Key, Resource, format_time
from certwright.kube.kinds import Deployment, Secret
from certwright.operators.rollout.carefresh import messages
from certwright.operators.rollout.carefresh.authorities import (
    CLUSTER_ISSUER,
    ISSUER,
    LIFECYCLE_MANAGER,
    RefreshRule,
    is_chosen,
    issuer_of,
    rule_of,
)
from certwright.operators.rollout.carefresh.leaves import (
    ISSUING,
    LeafDecision,
    LeafFacts,
    LeafState,
    decide,
)
from certwright.operators.rollout.carefresh.trust import behind
from certwright.runtime import DONE, WAIT, BadObject, Channel, Context, Entry, Outcome, Store, again

REFRESHED_FOR: Final = "rollout.certwright.dev/refreshed-for"
"""The authority for which a Certificate was issued anew the last time, as a fingerprint."""
INSTALLATION: Final = Key("", "default")
"""The CertManager that says what is refreshed."""
EVERYTHING: Final = Key("", "everything")
"""Wakes what is below every authority; no Certificate is without a namespace."""
RETRY_SECONDS: Final = 10.0
"""How soon to look again at a Certificate that waits for others."""

BY_ISSUER: Final = "issuer"
BY_SECRET: Final = "secret"  # noqa: S105 - the name of an index
UNDER_WAY: Final = "under-way"
_LEVELS: Final = 10
"""How many authorities there may be above each other."""


@dataclass(frozen=True, slots=True)
class FoundAuthority:
    """The Secret that an issuer signs with, and the Certificate that it holds, if any."""

    key: Key
    secret: Entry
    certificate: Certificate | None


class RefreshController:
    """Has Certificates issued anew when the authority that signs them has changed."""

    def __init__(
        self,
        wake: Channel,
        installations: Store,
        count: Callable[[], None],
        home: Key,
        at_once: int,
    ) -> None:
        self._wake = wake
        self._installations = installations
        self._count = count
        self._home = home
        self._at_once = at_once

    async def reconcile(self, ctx: Context, key: Key) -> Outcome:
        """Have one Certificate issued anew if that is due."""
        if key == EVERYTHING:
            self._wake_leaves(ctx, _issuers_with_authority(ctx))
            return DONE
        entry = ctx.store(Certificate).get(key)
        if entry is None or "deletionTimestamp" in entry.obj()["metadata"]:
            return DONE
        certificate, rule = entry.as_(Certificate), _rule(self._installations)
        if certificate.spec.is_ca:
            own = Key(key.namespace, certificate.spec.secret_name)
            self._wake_leaves(ctx, _issuers_of(ctx, own, rule))
        authority = _authority_of(ctx, certificate, rule)
        if authority is None or not _is_refreshed(ctx, authority, rule):
            return DONE
        decision = await self._decide(ctx, certificate, authority)
        match decision.state:
            case LeafState.DUE:
                await self._reissue(ctx, entry.obj(), authority.key, decision)
                return WAIT
            case LeafState.LIMITED:
                return again(after=RETRY_SECONDS)
            case LeafState.UNTRUSTED:
                note = messages.waits_for_trust(authority.key, decision.behind)
                ctx.event(certificate, "Normal", messages.WAITS, note)
                return again(after=RETRY_SECONDS)
            case LeafState.FAILED:
                return again(after=decision.wait)
            case LeafState.FOREIGN:
                note = messages.foreign(authority.key)
                ctx.event(certificate, "Warning", messages.FOREIGN, note)
                return DONE
            case _:
                return WAIT

    async def _decide(
        self, ctx: Context, certificate: Certificate, authority: FoundAuthority
    ) -> LeafDecision:
        metadata, spec = certificate.metadata, certificate.spec
        secret = ctx.store(Secret).get(Key(metadata.namespace, spec.secret_name))
        facts = LeafFacts(
            certificate.status,
            leaf=_part(secret, "tls.crt"),
            trusted=_part(secret, "ca.crt"),
            authority=_part(authority.secret, "tls.crt"),
            refreshed_for=(metadata.annotations or {}).get(REFRESHED_FOR, ""),
        )
        now, under_way = ctx.clock.now(), len(ctx.store(Certificate).by_index(UNDER_WAY, True))
        decision = decide(facts, now, under_way=under_way, behind=(), at_once=self._at_once)
        if decision.state is not LeafState.DUE:
            return decision
        late = await behind(ctx, authority.key, self._home)
        return decide(facts, now, under_way=under_way, behind=late, at_once=self._at_once)

    async def _reissue(
        self, ctx: Context, certificate: JsonObject, authority: Key, decision: LeafDecision
    ) -> None:
        """Tell cert-manager to issue a Certificate, as ``cmctl renew`` does."""
        before = (certificate.get("status") or {}).get("conditions") or ()
        condition = {
            "type": ISSUING,
            "status": "True",
            "reason": messages.REASON,
            "message": messages.reissued(authority),
            "lastTransitionTime": format_time(ctx.clock.now()),
            "observedGeneration": certificate["metadata"].get("generation", 1),
        }
        conditions = [*(one for one in before if one.get("type") != ISSUING), condition]
        await ctx.patch(certificate, {"status": {"conditions": conditions}}, subresource="status")
        self._count()
        ctx.event(certificate, "Normal", messages.REASON, messages.reissued(authority))
        # After the condition: if the process ends in between, it is issued once more at worst.
        marks = {REFRESHED_FOR: decision.fingerprint}
        await ctx.patch(certificate, {"metadata": {"annotations": marks}})

    def _wake_leaves(self, ctx: Context, issuers: Iterable[tuple[Resource, Key]]) -> None:
        for kind, issuer in issuers:
            for entry in ctx.store(Certificate).by_index(BY_ISSUER, (kind.kind, issuer)):
                self._wake.send(entry.key)


# Reading the stores


def _rule(installations: Store) -> RefreshRule:
    entry = installations.get(INSTALLATION)
    try:
        return rule_of(None if entry is None else entry.as_(CertManagerInstallation).spec)
    except BadObject:
        return rule_of(None)  # its own controller reports it


def _issuers_with_authority(ctx: Context) -> Iterator[tuple[Resource, Key]]:
    for kind in (ISSUER, CLUSTER_ISSUER):
        for entry in ctx.store(kind).items():
            if authority_name(entry.obj()):
                yield kind, entry.key


def _issuers_of(ctx: Context, secret: Key, rule: RefreshRule) -> Iterator[tuple[Resource, Key]]:
    """Yield the issuers that sign with a Secret."""
    for entry in ctx.store(ISSUER).by_index(BY_SECRET, secret):
        yield ISSUER, entry.key
    if secret.namespace in rule.resource_namespaces:
        for entry in ctx.store(CLUSTER_ISSUER).by_index(BY_SECRET, Key("", secret.name)):
            yield CLUSTER_ISSUER, entry.key


def _authority_of(
    ctx: Context, certificate: Certificate, rule: RefreshRule
) -> FoundAuthority | None:
    """Return the authority that a Certificate should be signed by; None if it has none to read."""
    found = issuer_of(certificate.spec.issuer_ref, certificate.metadata.namespace)
    issuer = ctx.store(found[0]).get(found[1]) if found is not None else None
    name = authority_name(issuer.obj()) if issuer is not None else ""
    if issuer is None or not name:
        return None
    namespace = issuer.key.namespace
    for space in (namespace,) if namespace else rule.resource_namespaces:
        secret = ctx.store(Secret).get(Key(space, name))
        if secret is not None:
            return FoundAuthority(secret.key, secret, _certificate_in(ctx, secret.key))
    return None


def _is_refreshed(ctx: Context, authority: FoundAuthority, rule: RefreshRule) -> bool:
    """Return whether the leaves of an authority are refreshed, for its own sake or another's."""
    above: FoundAuthority | None = authority
    for _ in range(_LEVELS):
        if above is None:
            return False
        if _is_chosen(ctx, above, rule):
            return True
        if above.certificate is None:
            return False
        above = _authority_of(ctx, above.certificate, rule)
    return False


def _is_chosen(ctx: Context, authority: FoundAuthority, rule: RefreshRule) -> bool:
    labels, annotations = authority.secret.meta.labels or {}, authority.secret.annotations or {}
    key, certificate = None, authority.certificate
    if certificate is not None:
        key = Key(certificate.metadata.namespace, certificate.metadata.name)
        labels = {**labels, **(certificate.metadata.labels or {})}
        annotations = {**annotations, **(certificate.metadata.annotations or {})}
    manager = Key(authority.key.namespace, LIFECYCLE_MANAGER)
    foundation = ctx.store(Deployment).get(manager) is not None
    return is_chosen(rule, key, labels, annotations, foundation=foundation)


def _certificate_in(ctx: Context, secret: Key) -> Certificate | None:
    for entry in ctx.store(Certificate).by_index(BY_SECRET, secret):
        return entry.as_(Certificate)
    return None


def _part(secret: Entry | None, name: str) -> bytes:
    data = (secret.obj().get("data") or {}) if secret is not None else {}
    try:
        return base64.b64decode(data.get(name) or "")
    except ValueError:
        return b""


# Indexes and triggers


def authority_name(issuer: JsonObject) -> str:
    """Return the name of the Secret that an issuer signs with; empty if it has none."""
    authority = (issuer.get("spec") or {}).get("ca") or {}
    return str(authority.get("secretName") or "")


def by_issuer(entry: Entry) -> Iterable[tuple[str, Key]]:
    """Index a Certificate by its issuer."""
    spec = _spec(entry)
    reference: Mapping[str, Any] = spec.get("issuerRef") or {}
    kind = reference.get("kind") or ISSUER.kind
    namespace = "" if kind == CLUSTER_ISSUER.kind else entry.key.namespace
    return [(kind, Key(namespace, str(reference.get("name") or "")))]


def by_secret(entry: Entry) -> Iterable[Key]:
    """Index a Certificate by its Secret."""
    return [Key(entry.key.namespace, str(_spec(entry).get("secretName") or ""))]


def under_way(entry: Entry) -> Iterable[bool]:
    """Index the Certificates that cert-manager was told to issue, by us."""
    for condition in (entry.obj().get("status") or {}).get("conditions") or ():
        if condition.get("type") == ISSUING and condition.get("status") == "True":
            return [True] if condition.get("reason") == messages.REASON else []
    return []


def issuer_by_secret(entry: Entry) -> Iterable[Key]:
    """Index an issuer by the Secret that it signs with; of a ClusterIssuer by the name alone."""
    name = authority_name(entry.obj())
    return [Key(entry.key.namespace, name)] if name else []


def certificate_of(secret: Entry) -> Iterable[Key]:
    """Return the Certificate whose Secret changed; what is no one's concerns all authorities."""
    name = (secret.annotations or {}).get(CERTIFICATE_NAME)
    return [Key(secret.key.namespace, name)] if name else [EVERYTHING]


def lifecycle_manager(deployment: Entry) -> Iterable[Key]:
    """Return that all authorities are concerned if a lifecycle manager came or went."""
    return [EVERYTHING] if deployment.key.name == LIFECYCLE_MANAGER else []


def everything(_entry: Entry) -> Iterable[Key]:
    """Return the key that wakes what is below every authority."""
    return [EVERYTHING]


def _spec(entry: Entry) -> JsonObject:
    spec: JsonObject = entry.obj().get("spec") or {}
    return spec
