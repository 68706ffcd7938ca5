"""Issuers that break the protocol around a certificate: what they touch, skip, believe or repeat."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, ClassVar

from tests.component.issuer.conformance.bare import (
    POLL,
    REQUEST,
    Bare,
    read,
    ready,
    write,
)
from tests.component.issuer.conformance.faulty.encodings import MANY
from tests.component.issuer.conformance.faulty.fault import BEHAVIOUR, fault

from certwright import pki
from certwright.kube import Condition, JsonObject, Key, Resource, find_condition
from certwright.kube.conditions import conditions_of
from certwright.pki import RequestTerms, SigningRequest
from certwright.pki.pem import read_blocks, write_block
from certwright.runtime import DONE, Context, Outcome, again

APPROVAL = "a request waits for approval"
DENIAL = "a denied request ends"
ISSUER = "a request waits for its issuer"
READINESS = "the issuer says that it is ready"


class Touching(Bare):
    """Changes the request before it signs."""

    change: ClassVar[JsonObject]

    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        await ctx.client.patch(REQUEST, key, self.change)
        return await super().try_to_sign(ctx, key, request)


class Believing(Bare):
    """Signs whatever can be parsed at all."""

    def read_request(self, pem: bytes, terms: RequestTerms) -> SigningRequest:
        (block,) = read_blocks(pem, limit=65_536)
        try:
            return pki.read_request(pem)
        except pki.RequestRefused:
            whole = block.der[:-1] + bytes([block.der[-1] ^ 1])
            return pki.read_request(write_block("CERTIFICATE REQUEST", whole))


class TakingAll(Bare):
    """Answers requests to whatever issuer."""

    def is_ours(self, request: JsonObject) -> bool:
        return True

    async def has_issuer(self, ctx: Context, request: JsonObject) -> bool:
        return False


# Answers that do not come, or not always


@fault("NotAnswered")
class NeverAnswers(Bare):
    async def answer(self, ctx: Context, key: Key) -> Outcome:
        return DONE


@fault("NotAnswered")
class Slow(Bare):
    """Takes longer than the kit waits."""

    def __init__(self) -> None:
        super().__init__()
        self.due: dict[Key, float] = {}

    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        now = ctx.clock.monotonic()
        if now < self.due.setdefault(key, now + 600):
            return again(timedelta(minutes=10))
        return await super().try_to_sign(ctx, key, request)


@fault("NotAnswered", MANY, BEHAVIOUR)
class ForgetsEverySecond(Bare):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Key] = []

    async def answer(self, ctx: Context, key: Key) -> Outcome:
        if key not in self.seen:
            self.seen.append(key)
        return DONE if self.seen.index(key) % 2 else await super().answer(ctx, key)


@fault("NotIssued", MANY, BEHAVIOUR)
class FailsEveryThird(Bare):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        self.count += 1
        if self.count % 3:
            return await super().try_to_sign(ctx, key, request)
        await self.refuse(ctx, key, request, "Failed")
        return DONE


@fault("NotIssued")
class RefusesEverything(Bare):
    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        await self.refuse(ctx, key, request, "Failed")
        return DONE


# What is not theirs to change


@fault("SpecTouched")
class ChangesTheSpec(Touching):
    change: ClassVar = {"spec": {"duration": "1h0m0s"}}


@fault("MetadataTouched")
class ChangesLabels(Touching):
    change: ClassVar = {"metadata": {"labels": {"mine": "now"}}}


@fault("MetadataTouched")
class AddsAFinalizer(Touching):
    change: ClassVar = {"metadata": {"finalizers": ["example.com/mine"]}}


@fault("MetadataTouched")
class ChangesCertManagersAnnotations(Touching):
    change: ClassVar = {"metadata": {"annotations": {"issuer.cert-manager.io/note": "mine"}}}


@fault("AnnotationAdded")
class KeepsNotesInAnnotations(Touching):
    change: ClassVar = {"metadata": {"annotations": {"bare.example.com/ticket": "4711"}}}


@fault("RequestDeleted")
class DeletesRequests(Bare):
    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        await ctx.client.delete(REQUEST, key)
        return DONE


# Approval and denial


@fault("UnapprovedTouched", APPROVAL, BEHAVIOUR)
class AsksForNoApproval(Bare):
    def is_approved(self, conditions: list[Condition]) -> bool:
        return True


@fault("NotAnswered", APPROVAL, BEHAVIOUR)
class OverlooksApprovals(Bare):
    def is_approved(self, conditions: list[Condition]) -> bool:
        return False


@fault("SelfApproved", APPROVAL, BEHAVIOUR)
class ApprovesItself(Bare):
    async def answer(self, ctx: Context, key: Key) -> Outcome:
        request = await read(ctx, REQUEST, key)
        if request is not None and self.is_ours(request) and not conditions_of(request):
            mine = {**ready(ctx, "True", "Mine"), "type": "Approved"}
            await write(ctx, REQUEST, key, request, mine)
            return again(POLL)
        return await super().answer(ctx, key)


@fault("DeniedSigned", DENIAL, BEHAVIOUR)
class SignsWhatWasDenied(Bare):
    def is_denied(self, conditions: list[Condition]) -> bool:
        return False

    def is_approved(self, conditions: list[Condition]) -> bool:
        return bool(conditions)


@fault("DeniedUnanswered", DENIAL, BEHAVIOUR)
class ForgetsWhatWasDenied(Bare):
    def is_denied(self, conditions: list[Condition]) -> bool:
        return False


@fault("DeniedUnanswered", DENIAL, BEHAVIOUR)
class FailsWhatWasDenied(Bare):
    async def refuse(self, ctx: Context, key: Key, request: JsonObject, reason: str) -> None:
        await super().refuse(ctx, key, request, "Failed")


# Requests of others, and bad ones


@fault("ForeignTouched", "requests of other groups are left alone", BEHAVIOUR)
class AnswersForOtherGroups(TakingAll):
    pass


@fault("ForeignTouched", "requests of other kinds are left alone", BEHAVIOUR)
class AnswersForOtherKinds(TakingAll):
    pass


@fault("InvalidSigned", "a request marked invalid is left alone", BEHAVIOUR)
class SignsWhatIsMarkedInvalid(Bare):
    def is_final(self, conditions: list[Condition]) -> bool:
        found = find_condition(conditions, "Ready")
        return found is not None and found.status == "True"


@fault("BadRequestSigned", "a bad signature is refused", BEHAVIOUR)
class BelievesEverySignature(Believing):
    pass


@fault("BadRequestSigned", "a hidden authority is refused", BEHAVIOUR)
class OverlooksAHiddenAuthority(Believing):
    pass


@fault("BadRequestSigned", "contradicting usages are refused", BEHAVIOUR)
class OverlooksContradictions(Believing):
    pass


@fault("BadRequestUnanswered", "a bad signature is refused", BEHAVIOUR)
class LeavesBadRequestsWaiting(Bare):
    async def refuse(self, ctx: Context, key: Key, request: JsonObject, reason: str) -> None:
        return


# Its issuer


@fault("FailedWithoutIssuer", ISSUER, BEHAVIOUR)
class GivesUpWithoutIssuer(Bare):
    async def wait(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        await self.refuse(ctx, key, request, "Failed")
        return DONE


@fault("SilentWithoutIssuer", ISSUER, BEHAVIOUR)
class SaysNothingWithoutIssuer(Bare):
    async def wait(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        return again(POLL)


@fault("NotAnswered", ISSUER, BEHAVIOUR)
class WaitsForEver(Bare):
    """Does not look again for an issuer that was missing once."""

    def __init__(self) -> None:
        super().__init__()
        self.missing: set[str] = set()

    async def has_issuer(self, ctx: Context, request: JsonObject) -> bool:
        name = request["metadata"]["name"]
        if name not in self.missing and await super().has_issuer(ctx, request):
            return True
        self.missing.add(name)
        return False


@fault("IssuerNotReady", READINESS, BEHAVIOUR)
class IsNeverReady(Bare):
    def look_after(self, resource: Resource) -> Callable[..., Awaitable[Any]]:
        async def reconcile(ctx: Context, key: Key) -> Outcome:
            return DONE

        return reconcile


@fault("IssuerOutdated", READINESS, BEHAVIOUR)
class WasReadyOnce(Bare):
    def look_after(self, resource: Resource) -> Callable[..., Awaitable[Any]]:
        async def reconcile(ctx: Context, key: Key) -> Outcome:
            old = {**ready(ctx, "True", "Checked"), "observedGeneration": 0}
            patch = {"status": {"conditions": [old]}}
            await ctx.client.patch(resource, key, patch, subresource="status")
            return DONE

        return reconcile
