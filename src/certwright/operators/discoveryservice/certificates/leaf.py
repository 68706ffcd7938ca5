"""The pass over one certificate: of a server, of a client, or one that signs itself."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.kube import AlreadyExists, JsonObject
from certwright.kube.kinds import Secret
from certwright.operators.discoveryservice.certificates import messages
from certwright.operators.discoveryservice.certificates.contents import (
    ISSUED,
    ISSUED_WITH,
    SECRET_TYPE,
    HeldContents,
    bundle_data,
    bundle_digest,
    certificate_of,
    is_controlled_by,
    pair_data,
    read_contents,
    secret_object,
)
from certwright.operators.discoveryservice.certificates.decision import (
    IssueCause,
    IssuerFault,
    IssuerUnusable,
    Judged,
    UsableIssuer,
    is_left_alone,
    judge,
    needs_bundle,
    usable_issuer,
)
from certwright.operators.discoveryservice.certificates.schedule import Schedule
from certwright.operators.discoveryservice.certificates.shared import PassTools, SecretNotOwned
from certwright.operators.discoveryservice.certificates.status import (
    Findings,
    recorded_serial,
    requested,
)
from certwright.operators.discoveryservice.certificates.wanted import WantedCertificate
from certwright.pki import PkiError
from certwright.pki.pairs import CertifiedKey
from certwright.runtime import WAIT, Context, Outcome

BY_SECRET: Final = "secret"  # noqa: S105 - the name of an index
CLOCK_PERIOD: Final = timedelta(minutes=1)
"""How often it is looked whether an authority has become valid."""


@dataclass(frozen=True, slots=True)
class LeafView:
    """What one pass goes by."""

    obj: JsonObject
    wanted: WantedCertificate
    now: datetime
    secret: JsonObject | None
    held: HeldContents | None
    issuer: UsableIssuer | None
    fault: IssuerUnusable | None
    """Why there is no issuer, if there should be one."""


class LeafPass:
    """Keeps a certificate as its spec asks, under the authority it names."""

    def __init__(self, tools: PassTools) -> None:
        self._tools = tools

    async def run(self, ctx: Context, obj: JsonObject, wanted: WantedCertificate) -> Outcome:
        """Issue the certificate if there is a cause, and report."""
        seen = self._observe(ctx, obj, wanted)
        judged = _judged(seen)
        cause = self._cause(seen, judged)
        if cause is None:
            await self._restore_bundle(ctx, seen)
            return await self._report(ctx, seen, judged)
        if seen.fault is not None and _comes(ctx, seen):
            return WAIT
        if seen.fault is not None:
            return await self._report_fault(ctx, seen, judged, seen.fault)
        if cause is IssueCause.AGE:
            await self._announce(ctx, seen)
        try:
            pair = await self._issue(ctx, seen)
        except (PkiError, ValueError) as error:
            self._tools.tell_failed(ctx, obj, messages.ISSUE_FAILED, str(error))
            return await self._tools.report(
                ctx,
                obj,
                Findings(
                    seen.held.pair if seen.held is not None else None,
                    ready=judged.usable,
                    reason=messages.ISSUE_FAILED,
                    message=str(error),
                    pending=True,
                    deprecated=wanted.deprecated,
                ),
                WAIT.as_failure(),
            )
        self._tools.tell_issued(ctx, obj, wanted, pair, cause, judged.detail)
        return await self._report_issued(ctx, seen, pair)

    def _observe(self, ctx: Context, obj: JsonObject, wanted: WantedCertificate) -> LeafView:
        now = ctx.clock.now()
        issuer, fault = None, None
        try:
            issuer = _issuer(ctx, wanted, now)
        except IssuerUnusable as error:
            fault = error
        secret = ctx.get(Secret, wanted.secret)
        if secret is not None and not is_controlled_by(secret, obj):
            raise SecretNotOwned(wanted.secret)
        held = read_contents(secret) if secret is not None else None
        return LeafView(obj, wanted, now, secret, held, issuer, fault)

    def _cause(self, seen: LeafView, judged: Judged) -> IssueCause | None:
        """Return why the certificate is issued now; None if it is not."""
        if seen.held is None or seen.held.pair is None:
            return judged.cause
        if judged.cause is not None:
            return None if is_left_alone(seen.wanted, judged.cause) else judged.cause
        if requested(seen.obj) and recorded_serial(seen.obj) in {"", seen.held.pair.serial}:
            # Of another certificate than the status knows, the request is fulfilled already.
            if not self._is_own_announcement(seen):
                return IssueCause.REQUESTED
            return IssueCause.AGE
        schedule = self._tools.schedule(seen.obj, seen.held.pair)
        due = seen.wanted.renewed and schedule.is_due(seen.now) and not _ends_with_issuer(seen)
        return IssueCause.AGE if due else None

    def _is_own_announcement(self, seen: LeafView) -> bool:
        """Return whether the condition was set by a pass that did not come to its end."""
        assert seen.held is not None
        assert seen.held.pair is not None
        schedule = Schedule(seen.held.pair.validity)
        return seen.wanted.renewed and schedule.is_in_window(seen.now)

    async def _announce(self, ctx: Context, seen: LeafView) -> None:
        """Set the condition CertificateNeedsRenewal, as others may watch for it."""
        assert seen.held is not None
        assert seen.held.pair is not None
        if not requested(seen.obj):
            await self._tools.announce(ctx, seen.obj, seen.wanted, seen.held.pair)

    async def _issue(self, ctx: Context, seen: LeafView) -> CertifiedKey:
        """Make a certificate and write it; raise `PkiError` if the issuer cannot sign it."""
        wanted, issuer = seen.wanted, seen.issuer
        if wanted.issuer is not None:
            # It may be long out of use: what it signed now could not be verified by anyone.
            secret = ctx.get(Secret, wanted.issuer)
            assert secret is not None
            await ctx.confirm(secret)
        identity = issuer.identity(wanted) if issuer is not None else ""
        signer = issuer.pair if issuer is not None else None
        pair = await self._tools.make(ctx, wanted, identity, signer)
        bundle = issuer.bundle if issuer is not None else (pair.certificate,)
        data = {**pair_data(pair), **bundle_data(bundle)}
        annotations = {ISSUED: pair.fingerprint, ISSUED_WITH: bundle_digest(bundle)}
        if seen.secret is not None and not _is_changeable(seen.secret):
            await ctx.delete(seen.secret)
        elif seen.secret is not None:
            change = {"metadata": {"annotations": annotations}, "data": data}
            await ctx.patch(seen.secret, change)
            return pair
        new = secret_object(wanted.secret, data, annotations)
        try:
            await ctx.create(new, owner=seen.obj)
        except AlreadyExists:
            await self._tools.clear_place(ctx, seen.obj, wanted.secret)
        return pair

    async def _restore_bundle(self, ctx: Context, seen: LeafView) -> None:
        """Write the authorities of the issuer beside the certificate."""
        held, secret = seen.held, seen.secret
        if held is None or held.pair is None or secret is None or seen.fault is not None:
            return
        if not needs_bundle(held, seen.issuer):
            return
        bundle = seen.issuer.bundle if seen.issuer is not None else (held.pair.certificate,)
        await ctx.patch(secret, {"data": bundle_data(bundle)})

    async def _report(self, ctx: Context, seen: LeafView, judged: Judged) -> Outcome:
        """Write the status of a certificate that stays."""
        assert seen.held is not None
        pair = seen.held.pair
        assert pair is not None
        schedule = self._tools.schedule(seen.obj, pair)
        if judged.usable:
            found = Findings(pair, ready=True, message=messages.ready())
        elif judged.cause is IssueCause.NOT_YET_VALID:
            found = Findings(
                pair, reason=messages.NOT_YET_VALID, message=messages.not_yet_valid(pair.validity)
            )
        else:
            found = Findings(pair, reason=messages.EXPIRED, message=messages.expired())
        if judged.usable and not seen.wanted.renewed and schedule.is_in_window(seen.now):
            self._tools.tell_expiry(ctx, seen.obj, pair)
        sleep = schedule.sleep(seen.now, renewed=seen.wanted.renewed)
        if _ends_with_issuer(seen):  # it is due when the authority is another
            sleep = self._tools.settings.recheck
        return await self._tools.report_in_time(ctx, seen.obj, seen.wanted, found, sleep)

    async def _report_issued(self, ctx: Context, seen: LeafView, pair: CertifiedKey) -> Outcome:
        found = Findings(pair, ready=True, message=messages.ready())
        schedule = self._tools.schedule(seen.obj, pair)
        sleep = schedule.sleep(ctx.clock.now(), renewed=seen.wanted.renewed)
        return await self._tools.report_in_time(ctx, seen.obj, seen.wanted, found, sleep)

    async def _report_fault(
        self, ctx: Context, seen: LeafView, judged: Judged, fault: IssuerUnusable
    ) -> Outcome:
        """Report that the certificate should be issued, and why it cannot be."""
        issuer = seen.wanted.issuer
        assert issuer is not None
        missing = fault.fault is IssuerFault.MISSING
        message = (
            messages.issuer_missing(issuer)
            if missing
            else messages.issuer_unusable(issuer, str(fault))
        )
        pair = seen.held.pair if seen.held is not None else None
        self._tools.tell_failed(ctx, seen.obj, fault.fault.value, message)
        if judged.usable:
            found = Findings(pair, ready=True, message=messages.ready(), pending=True)
        else:
            found = Findings(pair, reason=fault.fault.value, message=message, pending=True)
        sleep = self._tools.settings.recheck
        if fault.fault is IssuerFault.NOT_YET_VALID:
            sleep = min(sleep, CLOCK_PERIOD)
        return (
            await self._tools.report_in_time(ctx, seen.obj, seen.wanted, found, sleep)
        ).as_failure()


def _issuer(ctx: Context, wanted: WantedCertificate, now: datetime) -> UsableIssuer | None:
    if wanted.issuer is None:
        return None
    secret = ctx.get(Secret, wanted.issuer)
    if secret is None:
        raise IssuerUnusable(IssuerFault.MISSING, "it does not exist")
    contents = read_contents(secret)
    if certificate_of(secret) is not None and not (contents.issued and contents.bundle):
        raise IssuerUnusable(IssuerFault.MISSING, "it is not complete yet")
    return usable_issuer(contents, now)


def _ends_with_issuer(seen: LeafView) -> bool:
    """Return whether a new certificate could not last longer than the one there is."""
    if seen.issuer is None or seen.held is None or seen.held.pair is None:
        return False
    return seen.held.pair.validity.not_after >= seen.issuer.pair.validity.not_after


def _comes(ctx: Context, seen: LeafView) -> bool:
    """Return whether the authority is missing because it is about to be made."""
    assert seen.fault is not None
    missing = seen.fault.fault is IssuerFault.MISSING
    kind = DiscoveryServiceCertificate.resource
    return missing and bool(ctx.indexed(kind, BY_SECRET, seen.wanted.issuer))


def _judged(seen: LeafView) -> Judged:
    if seen.held is None:
        return Judged(IssueCause.FIRST)
    return judge(seen.wanted, seen.held, seen.issuer, seen.now)


def _is_changeable(secret: JsonObject) -> bool:
    return secret.get("type") == SECRET_TYPE and not secret.get("immutable")
