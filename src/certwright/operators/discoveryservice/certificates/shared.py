"""What both passes do alike: make certificates, write statuses, tell of what was done."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from certwright import pki
from certwright.api.discoveryservices import READY, DiscoveryServiceCertificate
from certwright.kube import Conflict, JsonObject, Key, NotFound, key_of
from certwright.kube.conditions import conditions_of, find_condition
from certwright.kube.kinds import Secret
from certwright.operators.discoveryservice.certificates import messages
from certwright.operators.discoveryservice.certificates.contents import (
    SECRET_TYPE,
    is_controlled_by,
)
from certwright.operators.discoveryservice.certificates.decision import IssueCause
from certwright.operators.discoveryservice.certificates.metrics import IssuanceMetrics
from certwright.operators.discoveryservice.certificates.profile import make_certificate
from certwright.operators.discoveryservice.certificates.rotation.observer import CertificateObserver
from certwright.operators.discoveryservice.certificates.schedule import SPREAD, Schedule
from certwright.operators.discoveryservice.certificates.status import Findings, status_of
from certwright.operators.discoveryservice.certificates.wanted import WantedCertificate
from certwright.pki.pairs import CertifiedKey
from certwright.runtime import DONE, Channel, Context, Outcome, Watched, again

RSA_2048: Final = pki.KeySpec(pki.KeyAlgorithm.RSA, 2048)


@dataclass(frozen=True, slots=True)
class CertificateOperatorSettings:
    """What the operator of DiscoveryServiceCertificates is given."""

    keys: pki.KeySpec = RSA_2048
    """Which keys new certificates get."""
    propagation: timedelta = timedelta(minutes=10)
    """How long a change of a Secret takes at most to reach all who mount it."""
    soonest: timedelta = timedelta(minutes=1)
    """How long each phase of a rotation takes at least, as clocks differ."""
    spread: float = SPREAD
    """Over which part of their window renewals are spread."""
    recheck: timedelta = timedelta(hours=1)
    """How often each certificate is looked at, in case the clock was set."""
    observer: CertificateObserver | None = None
    """Who knows what those have who use the certificates."""
    channels: tuple[Channel, ...] = field(default=())
    """What else wakes the controller, such as changes of what the observer knows."""
    watched: tuple[Watched, ...] = field(default=())
    """Objects labelled like those of a DiscoveryService that the observer reads."""
    workers: int = 4


class SecretNotOwned(Exception):
    """The Secret of a certificate exists and belongs to something else."""

    def __init__(self, secret: Key) -> None:
        super().__init__(str(secret))
        self.secret = secret


@dataclass(frozen=True, slots=True)
class PassTools:
    """What passes need besides a context."""

    settings: CertificateOperatorSettings
    metrics: IssuanceMetrics
    expiring: dict[Key, str] = field(default_factory=dict)
    """The serial of each certificate whose expiry was told."""

    def schedule(self, obj: JsonObject, pair: CertifiedKey) -> Schedule:
        """Return when a certificate is due; those of other objects are due at other times."""
        return Schedule(pair.validity, obj["metadata"]["uid"], self.settings.spread)

    async def make(
        self, ctx: Context, wanted: WantedCertificate, identity: str, issuer: CertifiedKey | None
    ) -> CertifiedKey:
        """Make a key and its certificate, in a thread if that takes time."""
        keys, now = self.settings.keys, ctx.clock.now()
        slow = keys.is_slow or (issuer is not None and pki.key_spec(issuer.key).is_slow)
        if slow:
            return await ctx.cpu(make_certificate, wanted, identity, issuer, keys, now)
        return make_certificate(wanted, identity, issuer, keys, now)

    async def announce(
        self, ctx: Context, obj: JsonObject, wanted: WantedCertificate, pair: CertifiedKey
    ) -> None:
        """Set the condition CertificateNeedsRenewal, and tell of it."""
        found = Findings(
            pair,
            ready=pair.validity.covers(ctx.clock.now()),
            message=messages.ready(),
            needs_renewal=True,
            deprecated=wanted.deprecated,
        )
        status = status_of(obj, found, ctx.clock.now())
        before = (obj.get("status") or {}).get("rotation")
        await ctx.status(obj, {**status, "rotation": before} if before else status)
        window = int(self.schedule(obj, pair).window.total_seconds())
        ctx.event(obj, "Normal", messages.ABOUT_TO_EXPIRE, messages.about_to_expire(window))

    def tell_issued(
        self,
        ctx: Context,
        obj: JsonObject,
        wanted: WantedCertificate,
        pair: CertifiedKey,
        cause: IssueCause,
        detail: str = "",
    ) -> None:
        """Record and count a certificate that was issued."""
        reason = messages.ISSUED if cause is IssueCause.FIRST else messages.RENEWED
        text = messages.issued(wanted.secret, pair.serial, cause, detail)
        ctx.event(obj, "Normal", reason, text)
        if cause is not IssueCause.FIRST:
            self.metrics.renewed(cause)

    def tell_failed(self, ctx: Context, obj: JsonObject, reason: str, message: str) -> None:
        """Record that a certificate could not be issued, unless the status says so already."""
        before = find_condition(conditions_of(obj), READY)
        if before is None or (before.reason, before.message) != (reason, message):
            ctx.event(obj, "Warning", messages.ISSUE_FAILED, message)

    def tell_expiry(self, ctx: Context, obj: JsonObject, pair: CertifiedKey) -> None:
        """Record once that a certificate is about to expire and will not be renewed."""
        if self.expiring.get(key_of(obj)) != pair.serial:
            self.expiring[key_of(obj)] = pair.serial
            window = int(self.schedule(obj, pair).window.total_seconds())
            ctx.event(obj, "Warning", messages.ABOUT_TO_EXPIRE, messages.about_to_expire(window))

    async def report_in_time(
        self,
        ctx: Context,
        obj: JsonObject,
        wanted: WantedCertificate,
        found: Findings,
        sleep: timedelta | None,
    ) -> Outcome:
        """Write the status and come back when it is time, or to see whether the clock was set."""
        found = _with_deprecated(found, wanted)
        recheck = self.settings.recheck
        ended = DONE if sleep is None else again(after=min(sleep, recheck))
        return await self.report(ctx, obj, found, ended)

    async def report(
        self, ctx: Context, obj: JsonObject, found: Findings, outcome: Outcome
    ) -> Outcome:
        """Write the status, if it is another one, and return the outcome of the pass."""
        status = status_of(obj, found, ctx.clock.now())
        before = (obj.get("status") or {}).get("deprecatedFields") or []
        if found.deprecated and before != list(found.deprecated):
            text = messages.deprecated(found.deprecated)
            ctx.event(obj, "Warning", messages.DEPRECATED, text)
        self.metrics.tell(key_of(obj), found)
        await ctx.status(obj, status)
        return outcome

    async def clear_place(self, ctx: Context, obj: JsonObject, place: Key) -> None:
        """Make room for a Secret whose name is taken by one that the cache does not hold.

        Secrets of other types are not cached. One of ours that was made anew with another type is
        deleted, as types cannot be changed. Raises `SecretNotOwned` if it is not ours, else
        `Conflict`: the pass is repeated.
        """
        try:
            live = await ctx.client.get(Secret, place)
        except NotFound:
            raise Conflict(f"Secret {place} was deleted a moment ago") from None
        if not is_controlled_by(live, obj):
            raise SecretNotOwned(place)
        if live.get("type") == SECRET_TYPE:
            await ctx.confirm(live)  # so the cache holds it from now on
        else:
            metadata = live["metadata"]
            await ctx.client.delete(
                Secret, place, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
            )
        kind = DiscoveryServiceCertificate.resource.kind
        raise Conflict(f"Secret {place} of {kind} {key_of(obj)} is in a state not seen yet")


def _with_deprecated(found: Findings, wanted: WantedCertificate) -> Findings:
    return replace(found, deprecated=wanted.deprecated)
