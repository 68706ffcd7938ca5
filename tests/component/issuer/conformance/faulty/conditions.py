"""Issuers that write a wrong status: in pieces, twice, in words that cert-manager does not know."""

import base64
from datetime import timedelta
from typing import Any

from tests.component.issuer.conformance.bare import POLL, REQUEST, Bare, encoded, ready
from tests.component.issuer.conformance.faulty.conduct import ISSUER
from tests.component.issuer.conformance.faulty.fault import BEHAVIOUR, fault

from certwright import pki
from certwright.kube import Condition, JsonObject, Key, find_condition, format_time
from certwright.runtime import DONE, Context, Outcome, again


async def patch_status(ctx: Context, key: Key, **status: Any) -> None:
    await ctx.client.patch(REQUEST, key, {"status": status}, subresource="status")


def kept(request: JsonObject) -> list[JsonObject]:
    """Return the conditions of others."""
    held = (request.get("status") or {}).get("conditions") or []
    return [one for one in held if one["type"] != "Ready"]


class Refusing(Bare):
    """Refuses everything, in a way that is wrong besides."""

    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        await patch_status(ctx, key, **self.refusal(ctx, request))
        return again(timedelta(hours=1))

    def refusal(self, ctx: Context, request: JsonObject) -> JsonObject:
        conditions = [*kept(request), ready(ctx, "False", "Failed")]
        return {"conditions": conditions, "failureTime": format_time(ctx.clock.now())}


class Accepting(Bare):
    """Says in other words that it has signed."""

    status, reason = "True", "Issued"

    async def accept(
        self, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        conditions = [*kept(request), ready(ctx, self.status, self.reason)]
        given = {"certificate": encoded(chain), "ca": encoded(authority)}
        await patch_status(ctx, key, conditions=conditions, **given)

    def is_final(self, conditions: list[Condition]) -> bool:
        return find_condition(conditions, "Ready") is not None


# Words


@fault("UnknownReason")
class RefusesWithAReasonOfItsOwn(Refusing):
    def refusal(self, ctx: Context, request: JsonObject) -> JsonObject:
        return {"conditions": [*kept(request), ready(ctx, "False", "Broken")]}


@fault("UnknownReason")
class IssuesWithAReasonOfItsOwn(Accepting):
    reason = "Signed"


@fault("ReasonMismatch")
class IssuesAndSaysPending(Accepting):
    reason = "Pending"


@fault("ReasonMismatch")
class IssuesAndSaysFalse(Accepting):
    status = "False"


@fault("ReasonMismatch")
class FailsAndSaysUnknown(Refusing):
    def refusal(self, ctx: Context, request: JsonObject) -> JsonObject:
        return {"conditions": [*kept(request), ready(ctx, "Unknown", "Failed")]}


@fault("FailureTimeMissing")
class NoFailureTime(Refusing):
    def refusal(self, ctx: Context, request: JsonObject) -> JsonObject:
        return {"conditions": [*kept(request), ready(ctx, "False", "Failed")]}


@fault("FailureTimeWithoutReady")
class FailureTimeAlone(Refusing):
    def refusal(self, ctx: Context, request: JsonObject) -> JsonObject:
        return {"failureTime": format_time(ctx.clock.now())}


@fault("VerdictTouched")
class DropsTheApproval(Accepting):
    async def accept(
        self, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        given = {"certificate": encoded(chain), "ca": encoded(authority)}
        await patch_status(ctx, key, conditions=[ready(ctx, "True", "Issued")], **given)


# Pieces


@fault("CertificateWithoutReady")
class CertificateBeforeReady(Bare):
    async def accept(
        self, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        await patch_status(ctx, key, certificate=encoded(chain))
        await super().accept(ctx, key, request, chain, authority)


@fault("ReadyWithoutCertificate")
class ReadyBeforeCertificate(Bare):
    async def accept(
        self, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        await patch_status(ctx, key, conditions=[*kept(request), ready(ctx, "True", "Issued")])
        await super().accept(ctx, key, request, chain, authority)


@fault("AnswerChanged")
class AuthorityAfterwards(Bare):
    async def accept(
        self, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        await super().accept(ctx, key, request, chain, b"")
        await patch_status(ctx, key, ca=encoded(authority))


# Twice


class Afterwards(Bare):
    """Does something to each request that it has answered, once."""

    def __init__(self) -> None:
        super().__init__()
        self.done: set[Key] = set()

    async def afterwards(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        if key in self.done:
            return DONE
        self.done.add(key)
        return await self.once(ctx, key, request)

    async def once(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        raise NotImplementedError


@fault("AnswerChanged")
class TakesItsAnswerBack(Afterwards):
    async def once(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        conditions = [*kept(request), ready(ctx, "False", "Pending")]
        await patch_status(ctx, key, conditions=conditions, certificate=None)
        return DONE


@fault("AnswerChanged", "an answer is final", BEHAVIOUR)
class TakesItsAnswerBackWhenPoked(TakesItsAnswerBack):
    pass


@fault("AnswerChanged")
class AnswersTwice(Afterwards):
    async def once(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        asked = pki.read_request(base64.b64decode(request["spec"]["request"]))
        chain, _ = self.sign(asked, pki.RequestTerms(), ctx.clock.now())
        await patch_status(ctx, key, certificate=encoded(chain))
        return DONE


@fault("AnswerChanged", "an answer is final", BEHAVIOUR)
class AnswersAgainLater(AnswersTwice):
    """Half a second later, when most have stopped looking."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[Key, float] = {}

    async def afterwards(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        due = self.waiting.setdefault(key, ctx.clock.monotonic() + 0.5)
        if ctx.clock.monotonic() < due:
            return again(timedelta(seconds=0.5))
        return await super().afterwards(ctx, key, request)


@fault("TransitionTimeMoved", ISSUER, BEHAVIOUR)
class MovesTheTransitionTime(Bare):
    def __init__(self) -> None:
        super().__init__()
        self.moved: set[Key] = set()

    async def wait(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        for minutes in (0, 1) if key not in self.moved else ():
            then = format_time(ctx.clock.now() + timedelta(minutes=minutes))
            waiting = {**ready(ctx, "False", "Pending"), "lastTransitionTime": then}
            await patch_status(ctx, key, conditions=[*kept(request), waiting])
        self.moved.add(key)
        return again(POLL)
