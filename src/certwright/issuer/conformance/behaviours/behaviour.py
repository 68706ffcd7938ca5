"""One rule of the protocol that an issuer has to keep, and helpers to check it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from certwright.issuer.conformance.cases.case import Case, Suite, slug
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.protocol import protocol_violations
from certwright.issuer.conformance.requester import ObservedRequest, Requester
from certwright.issuer.conformance.violations import unanswered
from certwright.kube import ApiError, Invalid, JsonObject
from certwright.pki import AlternativeNames, Violation

BehaviourCheck: TypeAlias = Callable[[Requester], Awaitable[list[Violation]]]


class NotApplicable(Exception):
    """A behaviour cannot be checked in this cluster; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Something every issuer has to do, and how to check it."""

    suite: str
    name: str
    check: BehaviourCheck
    needs: frozenset[Feature] = frozenset()

    @property
    def slug(self) -> str:
        """The name, fit for a test's id."""
        return slug(self.name)


def plain(suite: Suite) -> Case:
    """Return a request that every authority signs: its only name is also its common name."""
    return Case(
        suite,
        "behaviour",
        common_name="one.example.com",
        names=AlternativeNames(dns=("one.example.com",)),
    )


DECISIONS: Final = frozenset({"Approved", "Denied"})


def is_touched(request: JsonObject, others: frozenset[str] = DECISIONS) -> bool:
    """Return whether the status holds anything but the conditions of *others*."""
    status = dict(request.get("status") or {})
    conditions = status.pop("conditions", None) or ()
    return bool(status) or any(one["type"] not in others for one in conditions)


async def stays_untouched(requester: Requester, made: ObservedRequest) -> list[Violation]:
    """Check that the issuer does not write to a request of another issuer."""
    subject = requester.subject
    if await requester.watch(made, subject.glance, until=is_touched):
        said = f"the issuer wrote to it: {made.last.get('status')}"
        return [Violation("ForeignTouched", said[:500])]
    return []


async def keeps_answer(requester: Requester, made: ObservedRequest) -> list[Violation]:
    """Annotate an answered request and check that its answer stays."""
    await requester.annotate(made, "once more")
    await requester.watch(made, requester.subject.glance)
    return protocol_violations(made.versions)


async def keeps_its_answer(requester: Requester, case: Case) -> list[Violation]:
    """Check that the answer to a case is final."""
    async with requester.make(case) as made:
        await requester.approve(made)
        if found := unanswered(await requester.answer(made)):
            return [found]
        return await keeps_answer(requester, made)


async def approve_if_allowed(requester: Requester, made: ObservedRequest) -> None:
    """Approve a request, unless the cluster forbids it for such an issuer."""
    try:
        await requester.approve(made)
    except ApiError:
        return


def is_admission_refusal(error: ApiError) -> bool:
    """Return whether admission refused a request that the issuer would have to refuse."""
    return isinstance(error, Invalid) or "denied the request" in error.message
