"""What is asked of an issuer beside certificates: that it keeps to the protocol."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from certwright.issuer.conformance.cases.case import Case, Suite, slug
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.protocol import protocol_violations
from certwright.issuer.conformance.requester import ObservedRequest, Requester
from certwright.kube import ApiError, Invalid, JsonObject
from certwright.pki import AlternativeNames, Violation

BehaviourCheck: TypeAlias = Callable[[Requester], Awaitable[list[Violation]]]


class NotApplicable(Exception):
    """A behaviour that cannot be seen in this cluster; the message says why."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Something every issuer does, and how to see it."""

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


VERDICTS: Final = frozenset({"Approved", "Denied"})


def is_touched(request: JsonObject, others: frozenset[str] = VERDICTS) -> bool:
    """Whether anything stands in the status beside the conditions of *others*."""
    status = dict(request.get("status") or {})
    conditions = status.pop("conditions", None) or ()
    return bool(status) or any(one["type"] not in others for one in conditions)


async def stays_untouched(requester: Requester, made: ObservedRequest) -> list[Violation]:
    """Watch that nobody writes to a request that is none of the issuer's business."""
    subject = requester.subject
    if await requester.watch(made, subject.glance, until=is_touched):
        said = f"the issuer wrote to it: {made.last.get('status')}"
        return [Violation("ForeignTouched", said[:500])]
    return []


async def keeps_answer(requester: Requester, made: ObservedRequest) -> list[Violation]:
    """Poke an answered request and watch that its answer stands."""
    await requester.annotate(made, "once more")
    await requester.watch(made, requester.subject.glance)
    return protocol_violations(made.versions)


async def approve_if_allowed(requester: Requester, made: ObservedRequest) -> None:
    """Approve a request, unless the cluster lets nobody approve for such an issuer."""
    try:
        await requester.approve(made)
    except ApiError:
        return


def refused_at_the_door(error: ApiError) -> bool:
    """Whether the cluster's own admission refused what an issuer would have to refuse."""
    return isinstance(error, Invalid) or "denied the request" in error.message
