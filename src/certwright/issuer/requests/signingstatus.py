"""What a Kubernetes signing request says about itself after each step. Pure.

These have no Ready condition: whoever waits is told by events only, and nothing is written
before there is a certificate or a failure.
"""

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime

from msgspec import to_builtins

from certwright.api.certificates import SigningCondition
from certwright.issuer.conditions import FAILED, STATE, put_signing_condition, transitioned
from certwright.issuer.requests.outcomes import Change, Compat, Next, Notice, Waiting, pending_text
from certwright.issuer.requests.state import carried_condition
from certwright.issuer.sign.verdicts import Result, Verdict
from certwright.kube import JsonObject
from certwright.runtime.writes.events import EventType

_KIND = "CertificateSigningRequest"


@dataclass(frozen=True, slots=True)
class SigningSaid:
    """What a signing request says now: its conditions, and the types of those that are ours."""

    conditions: tuple[SigningCondition, ...] = ()
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningScribe:
    """Writes the status of Kubernetes' signing requests."""

    compat: Compat = "v1"

    def wait(self, said: SigningSaid, why: Waiting) -> Change:
        """Tell what the request waits for."""
        notice = Notice("Normal", why.reason, "Synced", why.message)
        return self._changed(said, self._kept(said), notice, Next.WAIT)

    def settle(self, said: SigningSaid, verdict: Verdict, now: datetime) -> Change:
        """Say how an attempt to sign ended."""
        is_final = verdict.result in {Result.ISSUED, Result.FAILED}
        patch, moved = self._with_custom(said, verdict, self._kept(said, is_final=is_final), now)
        match verdict.result:
            case Result.ISSUED:
                assert verdict.bundle is not None
                message = f"Succeeded signing the {_KIND}"
                chain = b64encode(verdict.bundle.chain).decode()
                status = _status(patch) | {"certificate": chain}
                notice = Notice("Normal", "Issued", "Synced", message)
                return Change(status=status, notice=notice, is_final=True)
            case Result.PENDING:
                message = pending_text(verdict.text, self.compat)
                kind: EventType = "Warning" if self.compat == "upstream" else "Normal"
                notice = Notice(kind, "Pending", "Synced", message)
                step = Next.STOP if moved else Next.POLL
            case Result.RETRY:
                message = f"Failed to sign {_KIND}, will retry: {verdict.text}"
                notice = Notice("Warning", "RetryableError", "SyncFailed", message)
                step = Next.STOP if moved else Next.BACKOFF
            case _:
                return self._failed(said, patch, verdict, now)
        change = self._changed(said, patch, notice, step)
        return Change(status=change.status, notice=change.notice, next=step, after=verdict.after)

    def _failed(
        self, said: SigningSaid, patch: list[SigningCondition], verdict: Verdict, now: datetime
    ) -> Change:
        message = f"{_KIND} has failed permanently: {verdict.text}"
        failed = SigningCondition(
            type=FAILED, status="True", reason=verdict.reason, message=message
        )
        patch = put_signing_condition(said.conditions, patch, failed, now)
        notice = Notice("Warning", "PermanentError", "SyncFailed", message)
        return Change(status=_status(patch), notice=notice, next=Next.STOP, is_final=True)

    def _changed(
        self, said: SigningSaid, patch: list[SigningCondition], notice: Notice, step: Next
    ) -> Change:
        """Write conditions if there is something new among them; upstream writes always."""
        held = {one.type: (one.status, one.reason, one.message) for one in said.conditions}
        new = any(held.get(one.type) != (one.status, one.reason, one.message) for one in patch)
        is_upstream = self.compat == "upstream"
        return Change(
            status=_status(patch) if new or is_upstream else None, notice=notice, next=step
        )

    def _kept(self, said: SigningSaid, *, is_final: bool = False) -> list[SigningCondition]:
        if self.compat == "upstream":
            return []
        gone = {STATE} if is_final else set()
        return [one for one in said.conditions if one.type in said.own - gone]

    def _with_custom(
        self, said: SigningSaid, verdict: Verdict, patch: list[SigningCondition], now: datetime
    ) -> tuple[list[SigningCondition], bool]:
        if verdict.state is not None and verdict.result is Result.PENDING:
            held = carried_condition(verdict.state)
            carried = SigningCondition(
                type=STATE, status="True", reason=held.reason, message=held.message
            )
            if not any(one.type == STATE and one.message == carried.message for one in patch):
                patch = put_signing_condition(said.conditions, patch, carried, now)
        asked = verdict.condition
        if asked is None:
            return patch, False
        custom = SigningCondition(
            type=asked.type, status=asked.status, reason=asked.reason, message=asked.message
        )
        moved = transitioned(said.conditions, custom)
        return put_signing_condition(said.conditions, patch, custom, now), moved


def _status(conditions: list[SigningCondition]) -> JsonObject:
    return {"conditions": to_builtins(conditions)} if conditions else {}
