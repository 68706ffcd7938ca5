"""What a CertificateRequest says about itself after each step. Pure.

Each method returns a whole `Change`: an apply removes what it no longer mentions, so the
status repeats every condition of ours that is to stay. What is said already is not said again.
"""

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime

from msgspec import to_builtins

from certwright.issuer.conditions import READY, STATE, put_condition, transitioned
from certwright.issuer.requests.outcomes import Change, Compat, Next, Notice, Waiting, pending_text
from certwright.issuer.requests.state import carried_condition
from certwright.issuer.sign.verdicts import Result, Verdict
from certwright.kube import Condition, ConditionStatus, JsonObject, format_time

_KIND = "CertificateRequest"


@dataclass(frozen=True, slots=True)
class Said:
    """What a request says now: its conditions, and the types of those that are ours."""

    conditions: tuple[Condition, ...] = ()
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestScribe:
    """Writes the status of CertificateRequests, in the words of one app."""

    field_owner: str
    set_ca: bool = False
    compat: Compat = "v1"

    def initialize(self, said: Said, now: datetime) -> Change:
        """Say that the request was seen."""
        message = f"{self.field_owner} has started reconciling this {_KIND}"
        patch = self._kept(said)
        ready = _ready("Unknown", "Initializing", message)
        return Change(status=_status(put_condition(said.conditions, patch, ready, now)))

    def deny(self, said: Said, now: datetime) -> Change:
        """Say that somebody denied the request."""
        message = f"Detected that the {_KIND} is denied, so it will never be Ready."
        return self._ended(said, self._kept(said, is_final=True), "Denied", message, now)

    def wait(self, said: Said, why: Waiting, now: datetime) -> Change:
        """Say what the request waits for."""
        notice = Notice("Normal", why.reason, "Synced", why.message)
        return self._going_on(said, self._kept(said), notice, Next.WAIT, now)

    def settle(self, said: Said, verdict: Verdict, now: datetime) -> Change:
        """Say how an attempt to sign ended."""
        is_final = verdict.result in {Result.ISSUED, Result.FAILED}
        patch, moved = self._with_custom(said, verdict, self._kept(said, is_final=is_final), now)
        match verdict.result:
            case Result.ISSUED:
                return self._issued(said, verdict, patch, now)
            case Result.PENDING:
                message = pending_text(verdict.text, self.compat)
                notice = Notice("Normal", "Pending", "Synced", message)
                if self.compat == "upstream":
                    notice = Notice("Warning", "RetryableError", "Synced", message)
                step = Next.STOP if moved else Next.POLL
            case Result.RETRY:
                message = f"Failed to sign {_KIND}, will retry: {verdict.text}"
                notice = Notice("Warning", "RetryableError", "SyncFailed", message)
                step = Next.STOP if moved else Next.BACKOFF
            case _:
                message = f"Failed permanently to sign {_KIND}: {verdict.text}"
                return self._ended(said, patch, "Failed", message, now)
        change = self._going_on(said, patch, notice, step, now)
        return Change(status=change.status, notice=change.notice, next=step, after=verdict.after)

    def _issued(
        self, said: Said, verdict: Verdict, patch: list[Condition], now: datetime
    ) -> Change:
        assert verdict.bundle is not None
        message = f"Succeeded signing the {_KIND}"
        patch = put_condition(said.conditions, patch, _ready("True", "Issued", message), now)
        status = _status(patch) | {"certificate": b64encode(verdict.bundle.chain).decode()}
        if self.set_ca and verdict.bundle.ca:
            status["ca"] = b64encode(verdict.bundle.ca).decode()
        notice = Notice("Normal", "Issued", "Synced", message)
        return Change(status=status, notice=notice, is_final=True)

    def _ended(
        self, said: Said, patch: list[Condition], reason: str, message: str, now: datetime
    ) -> Change:
        """End badly. The time of failure stands in the same write as Ready."""
        patch = put_condition(said.conditions, patch, _ready("False", reason, message), now)
        return Change(
            status=_status(patch) | {"failureTime": format_time(now)},
            notice=Notice("Warning", "PermanentError", "SyncFailed", message),
            next=Next.STOP,
            is_final=True,
        )

    def _going_on(
        self, said: Said, patch: list[Condition], notice: Notice, step: Next, now: datetime
    ) -> Change:
        """Say Pending, unless that is what the request says already."""
        ready = _ready("False", "Pending", notice.note)
        patch = put_condition(said.conditions, patch, ready, now)
        if self.compat == "v1" and all(one in said.conditions for one in patch):
            return Change(next=step)
        return Change(status=_status(patch), notice=notice, next=step)

    def _kept(self, said: Said, *, is_final: bool = False) -> list[Condition]:
        """Return the conditions of ours that stay. What is carried goes when it is over."""
        if self.compat == "upstream":
            return []
        gone = {READY, STATE} if is_final else {READY}
        return [one for one in said.conditions if one.type in said.own - gone]

    def _with_custom(
        self, said: Said, verdict: Verdict, patch: list[Condition], now: datetime
    ) -> tuple[list[Condition], bool]:
        """Add what the author says; the second part is whether others will notice."""
        if verdict.state is not None and verdict.result is Result.PENDING:
            patch = put_condition(said.conditions, patch, carried_condition(verdict.state), now)
        asked = verdict.condition
        if asked is None:
            return patch, False
        custom = Condition(
            type=asked.type, status=asked.status, reason=asked.reason, message=asked.message
        )
        moved = transitioned(said.conditions, custom)
        return put_condition(said.conditions, patch, custom, now), moved


def _ready(status: ConditionStatus, reason: str, message: str) -> Condition:
    return Condition(type=READY, status=status, reason=reason, message=message)


def _status(conditions: list[Condition]) -> JsonObject:
    return {"conditions": to_builtins(conditions)}
