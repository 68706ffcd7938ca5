"""The pass over an authority: keeps it, and replaces it step by step when it is due.

Each step is one write of the authority's Secret. The certificates below it follow by passes of
their own, and wake this one.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from certwright.api.discoverydefaults import PROPAGATION
from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.kube import AlreadyExists, Conflict, JsonObject, Key, key_of
from certwright.kube.durations import parse_duration
from certwright.kube.kinds import Secret
from certwright.operators.discoveryservice.certificates import messages
from certwright.operators.discoveryservice.certificates.contents import (
    ISSUED,
    SECRET_TYPE,
    SERVICE,
    HeldContents,
    bundle_data,
    controller_name,
    fingerprints,
    is_controlled_by,
    read_contents,
    secret_object,
)
from certwright.operators.discoveryservice.certificates.decision import IssueCause
from certwright.operators.discoveryservice.certificates.profile import UnfitCertificate, difference
from certwright.operators.discoveryservice.certificates.rotation.observer import Users
from certwright.operators.discoveryservice.certificates.rotation.places import (
    BUNDLE_KINDS,
    INSTANCE,
    SERVICE_LABELS,
    BundlePlace,
    Leaf,
    PlaceAges,
    PlaceView,
    bundle_places,
    leaves_of,
)
from certwright.operators.discoveryservice.certificates.rotation.succession import (
    EMERGENCY,
    AuthorityLost,
    SecretChange,
    check_usable,
    first_change,
    step_change,
    still_trusted,
    trusted_by,
)
from certwright.operators.discoveryservice.certificates.shared import PassTools, SecretNotOwned
from certwright.operators.discoveryservice.certificates.status import (
    Findings,
    recorded_serial,
    requested,
)
from certwright.operators.discoveryservice.certificates.wanted import WantedCertificate
from certwright.pki.pairs import CertifiedKey
from certwright.pki.rotation import (
    Rotation,
    RotationAction,
    RotationPhase,
    RotationStep,
    Succession,
    TrustPlace,
)
from certwright.runtime import WAIT, Context, Outcome, again

FINALIZER: Final = "finalizer.operator.marin3r.3scale.net"
BY_ISSUER: Final = "issuer"
TELL_SECONDS: Final = 10.0
"""How often the status tells anew what a phase waits for."""
_MOST_STEPS: Final = 8
_IRREVERSIBLE: Final = frozenset({RotationAction.ACTIVATE, RotationAction.RETIRE})


@dataclass(frozen=True, slots=True)
class AuthorityView:
    """An authority as one pass sees it."""

    obj: JsonObject
    wanted: WantedCertificate
    secret: JsonObject
    contents: HeldContents
    signer: CertifiedKey
    leaves: list[Leaf]
    now: datetime

    @property
    def emergency(self) -> str:
        """Why it was replaced without its successor prepared; empty if it was not."""
        annotations = self.secret["metadata"].get("annotations") or {}
        return str(annotations.get(EMERGENCY, ""))


class AuthorityPass:
    """Keeps an authority that signs itself."""

    def __init__(self, tools: PassTools) -> None:
        self._tools = tools
        self._ages = PlaceAges()
        self._told: dict[Key, float] = {}

    async def run(self, ctx: Context, obj: JsonObject, wanted: WantedCertificate) -> Outcome:
        """Make the authority, take its rotation as far as it goes, and report."""
        await ctx.hold(obj, FINALIZER)
        try:
            return await self._advance(ctx, obj, wanted)
        except UnfitCertificate as error:
            return await self._report_unfit(ctx, obj, wanted, error)

    async def _advance(self, ctx: Context, obj: JsonObject, wanted: WantedCertificate) -> Outcome:
        """Take one step after the other until there is nothing but to wait."""
        for _ in range(_MOST_STEPS):
            view = await self._view(ctx, obj, wanted)
            if view is None:
                continue  # it was made, or made complete
            if view.signer.validity.not_before > view.now:
                return await self._wait_for_clock(ctx, view)
            step = self._step(ctx, view)
            if step.action is not RotationAction.NONE:
                await self._act(ctx, view, step.action)
            elif view.emergency and step.phase is RotationPhase.STABLE:
                await ctx.patch(view.secret, {"metadata": {"annotations": {EMERGENCY: None}}})
            else:
                return await self._report(ctx, view, step)
        raise Conflict(f"the authority {wanted.key} changes all the time")

    def forget(self, key: Key) -> None:
        """Forget what is remembered of the Secret of an authority."""
        self._ages.forget(key)

    # Looking

    async def _view(
        self, ctx: Context, obj: JsonObject, wanted: WantedCertificate
    ) -> AuthorityView | None:
        """Return the authority as it is; None if something had to be written first."""
        now = ctx.clock.now()
        secret = ctx.get(Secret, wanted.secret)
        if secret is not None and not is_controlled_by(secret, obj):
            raise SecretNotOwned(wanted.secret)
        found = ctx.indexed(DiscoveryServiceCertificate.resource, BY_ISSUER, wanted.secret)
        leaves = leaves_of(wanted.secret, found, lambda key: ctx.get(Secret, key))
        contents = read_contents(secret) if secret is not None else None
        try:
            if secret is None or contents is None:
                raise AuthorityLost("its Secret does not exist")
            signer = check_usable(contents, now)
        except AuthorityLost as lost:
            await self._replace(ctx, obj, wanted, secret, leaves, str(lost))
            return None
        view = AuthorityView(obj, wanted, secret, contents, signer, leaves, now)
        return None if await self._complete(ctx, view) else view

    def _step(self, ctx: Context, view: AuthorityView) -> RotationStep:
        rotation = self._rotation(view)
        places = self._places(ctx, view)
        return rotation.step(self._succession(view, places))

    def _rotation(self, view: AuthorityView) -> Rotation:
        settings, annotations = self._tools.settings, view.obj["metadata"].get("annotations") or {}
        propagation = settings.propagation
        with suppress(KeyError, ValueError):  # there is none, or none that can be read
            propagation = parse_duration(annotations[PROPAGATION])
        return Rotation(max(propagation, settings.soonest), view.wanted.lifetime, settings.soonest)

    def _succession(self, view: AuthorityView, places: Iterable[TrustPlace]) -> Succession:
        contents = view.contents
        return Succession(
            signer=view.signer.fingerprint,
            next=contents.next.fingerprint if contents.next is not None else "",
            trusted=fingerprints(contents.bundle),
            places=tuple(places),
            due=self._due(view) is not None,
            ordered=contents.ordered,
            observed=self._is_observed(view),
        )

    def _places(self, ctx: Context, view: AuthorityView) -> list[TrustPlace]:
        observer, key = self._tools.settings.observer, view.wanted.secret
        service = controller_name(view.obj, DiscoveryService.resource.kind)
        users: Callable[[Key], Users] | None = None
        if observer is not None and service:
            users = observer.observe(ctx, Key(key.namespace, service))
        places = PlaceView(key, view.contents.bundle, self._ages, ctx.clock.monotonic(), users)
        found = [places.leaf_place(leaf) for leaf in view.leaves]
        return found + [places.bundle_place(one) for one in self._bundles(ctx, service)]

    def _bundles(self, ctx: Context, service: str) -> list[BundlePlace]:
        """Return the places besides Secrets that name the authorities of a DiscoveryService."""
        kinds, labels = BUNDLE_KINDS if service else (), f"{INSTANCE}={service}"
        return bundle_places(one for kind in kinds for one in ctx.list(kind, labels=labels))

    def _is_observed(self, view: AuthorityView) -> bool:
        """Return whether it can be known who uses the certificates of an authority."""
        service = controller_name(view.obj, DiscoveryService.resource.kind)
        return self._tools.settings.observer is not None and bool(service)

    def _due(self, view: AuthorityView) -> IssueCause | None:
        """Return why the authority is to be replaced; None if it is not."""
        if _is_asked(view):
            in_window = self._tools.schedule(view.obj, view.signer).is_in_window(view.now)
            own = view.wanted.renewed and in_window  # of a pass that did not come to its end
            return IssueCause.AGE if own else IssueCause.REQUESTED
        if difference(view.signer.certificate, view.wanted, ""):
            return IssueCause.SPEC
        schedule = self._tools.schedule(view.obj, view.signer)
        return IssueCause.AGE if view.wanted.renewed and schedule.is_due(view.now) else None

    # Writing

    async def _replace(
        self,
        ctx: Context,
        obj: JsonObject,
        wanted: WantedCertificate,
        secret: JsonObject | None,
        leaves: list[Leaf],
        why: str,
    ) -> None:
        """Make an authority that signs at once: the first one, or because the last one was lost."""
        contents = read_contents(secret) if secret is not None else None
        pair = contents.next if contents is not None else None
        if pair is None or not pair.validity.covers(ctx.clock.now()):
            pair = await self._tools.make(ctx, wanted, "", None)
        first = secret is None and not leaves and not recorded_serial(obj)
        others = still_trusted(leaves, wanted.key.namespace, ctx.clock.now())
        change = first_change(pair, others, "" if first else why)
        service = controller_name(obj, DiscoveryService.resource.kind)
        annotations = {**change.annotations, SERVICE: service or None}
        if secret is not None:
            metadata = {"annotations": annotations}
            await ctx.patch(secret, {"metadata": metadata, "data": change.data})
        else:
            data = {name: value for name, value in change.data.items() if value is not None}
            marks = {name: value for name, value in annotations.items() if value is not None}
            try:
                await ctx.create(secret_object(wanted.secret, data, marks), owner=obj)
            except AlreadyExists:
                await self._tools.clear_place(ctx, obj, wanted.secret)
        cause = IssueCause.FIRST if first else IssueCause.UNREADABLE
        self._tools.tell_issued(ctx, obj, wanted, pair, cause)
        if not first:
            ctx.event(obj, "Warning", messages.EMERGENCY, messages.authority_lost(why))

    async def _complete(self, ctx: Context, view: AuthorityView) -> bool:
        """Restore what the Secret must hold besides the pair; return whether it did not."""
        bundle = trusted_by(view.contents, view.signer)
        service = controller_name(view.obj, DiscoveryService.resource.kind)
        annotations: dict[str, str | None] = {}
        if not view.contents.issued:
            annotations[ISSUED] = view.signer.fingerprint
        if view.contents.service != service:
            annotations[SERVICE] = service or None
        data = {} if set(bundle) == set(view.contents.bundle) else bundle_data(bundle)
        if not annotations and not data:
            return False
        change: JsonObject = {"metadata": {"annotations": annotations}}
        await ctx.patch(view.secret, {**change, "data": data} if data else change)
        return True

    async def _act(self, ctx: Context, view: AuthorityView, action: RotationAction) -> None:
        """Carry out one step."""
        new = None
        if action in _IRREVERSIBLE:
            await self._confirm(ctx, view)
        if action is RotationAction.PREPARE:
            cause = self._due(view)
            if cause is IssueCause.AGE and not requested(view.obj):
                await self._tools.announce(ctx, view.obj, view.wanted, view.signer)
            new = await self._tools.make(ctx, view.wanted, "", None)
        change: SecretChange = step_change(action, view.signer, view.contents, new)
        patch: JsonObject = {"metadata": {"annotations": dict(change.annotations)}}
        if change.data:
            patch["data"] = change.data
        await ctx.patch(view.secret, patch)
        if new is not None:
            cause = cause or IssueCause.SPEC
            self._tools.tell_issued(ctx, view.obj, view.wanted, new, cause)

    async def _confirm(self, ctx: Context, view: AuthorityView) -> None:
        """Ask the server whether all places are as they were seen; `Conflict` if not.

        After this step, who holds what a place held before may be cut off.
        """
        await ctx.confirm(view.secret)
        kind = DiscoveryServiceCertificate.resource
        found = (await ctx.client.list(kind)).items
        listed = (await ctx.client.list(Secret, fields=f"type={SECRET_TYPE}")).items
        secrets = {key_of(one): one for one in listed}
        live = leaves_of(view.wanted.secret, found, secrets.get)
        if _versions(live) != _versions(view.leaves):
            raise Conflict(f"certificates of {view.wanted.key} changed; not all is seen yet")
        if not (service := controller_name(view.obj, DiscoveryService.resource.kind)):
            return
        bundles: list[BundlePlace] = []
        for kind in BUNDLE_KINDS:
            labels = f"{SERVICE_LABELS},{INSTANCE}={service}"  # as they are watched
            bundles += bundle_places((await ctx.client.list(kind, labels=labels)).items)
        if set(bundles) != set(self._bundles(ctx, service)):
            raise Conflict(f"places that trust {view.wanted.key} changed; not all is seen yet")

    # Telling

    async def _report(self, ctx: Context, view: AuthorityView, step: RotationStep) -> Outcome:
        found = Findings(
            view.signer,
            ready=True,
            message=messages.ready(),
            pending=_is_asked(view) and view.contents.next is None,
            rotation=step,
            next=view.contents.next,
            emergency=view.emergency,
        )
        before = ((view.obj.get("status") or {}).get("rotation") or {}).get("phase")
        told, self._told[view.wanted.key] = self._told.get(view.wanted.key), ctx.clock.monotonic()
        if before == step.phase.value and told is not None and step.waiting_for:
            quiet = TELL_SECONDS - (ctx.clock.monotonic() - told)
            if quiet > 0:  # many certificates follow one after the other
                self._told[view.wanted.key] = told
                return again(after=max(quiet, 1.0))
        if before not in {None, step.phase.value}:
            text = messages.step(step.phase.value, step.waiting_for)
            ctx.event(view.obj, "Normal", messages.ROTATION, text)
        schedule = self._tools.schedule(view.obj, view.signer)
        sleep = schedule.sleep(view.now, renewed=view.wanted.renewed)
        if step.phase is not RotationPhase.STABLE:
            sleep = self._tools.settings.recheck
        if step.after is not None:
            sleep = min(max(step.after, timedelta(seconds=1)), sleep or step.after)
        return await self._tools.report_in_time(ctx, view.obj, view.wanted, found, sleep)

    async def _report_unfit(
        self, ctx: Context, obj: JsonObject, wanted: WantedCertificate, error: UnfitCertificate
    ) -> Outcome:
        """Report that no authority can be made as the spec asks; the one there is stays."""
        secret, text = ctx.get(Secret, wanted.secret), str(error)
        pair = read_contents(secret).pair if secret is not None else None
        ready = pair is not None and pair.validity.covers(ctx.clock.now())
        self._tools.tell_failed(ctx, obj, messages.ISSUE_FAILED, text)
        found = Findings(
            pair,
            ready=ready,
            reason=messages.ISSUE_FAILED,
            message=text,
            pending=True,
            deprecated=wanted.deprecated,
            rotation=RotationStep(RotationPhase.STABLE) if ready else None,
        )
        return await self._tools.report(ctx, obj, found, WAIT.as_failure())

    async def _wait_for_clock(self, ctx: Context, view: AuthorityView) -> Outcome:
        """Report an authority that begins a little later: the clock was set back."""
        validity = view.signer.validity
        found = Findings(
            view.signer,
            reason=messages.NOT_YET_VALID,
            message=messages.not_yet_valid(validity),
            pending=_is_asked(view) and view.contents.next is None,
            emergency=view.emergency,
        )
        sleep = validity.not_before - view.now
        return await self._tools.report_in_time(
            ctx, view.obj, view.wanted, found, max(sleep, timedelta(seconds=1))
        )


def _is_asked(view: AuthorityView) -> bool:
    """Return whether a user asked for another authority than the one that signs."""
    return requested(view.obj) and recorded_serial(view.obj) in {"", view.signer.serial}


def _versions(leaves: Iterable[Leaf]) -> dict[Key, str]:
    return {leaf.key: leaf.secret["metadata"]["resourceVersion"] for leaf in leaves}
