"""Runs the cases and behaviours, one or all."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from certwright.client import TransportError
from certwright.issuer.conformance.behaviours.behaviour import Behaviour, NotApplicable
from certwright.issuer.conformance.behaviours.certificaterequests import CERTIFICATE_BEHAVIOURS
from certwright.issuer.conformance.behaviours.signingrequests import SIGNING_BEHAVIOURS
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.cases.certificaterequests import CERTIFICATE_CASES
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.cases.signingrequests import SIGNING_CASES
from certwright.issuer.conformance.protocol import protocol_violations
from certwright.issuer.conformance.requester import RequestDeleted, Requester
from certwright.issuer.conformance.results import CaseResult, ConformanceReport
from certwright.issuer.conformance.undertest import IssuerUnderTest
from certwright.issuer.conformance.violations import answer_violations
from certwright.kube import ApiError, JsonObject, find_condition
from certwright.kube.conditions import conditions_of
from certwright.pki import Violation

Item: TypeAlias = Case | Behaviour

ITEMS: Final[tuple[Item, ...]] = (
    *CERTIFICATE_CASES,
    *CERTIFICATE_BEHAVIOURS,
    *SIGNING_CASES,
    *SIGNING_BEHAVIOURS,
)
"""Everything that an issuer is tested for."""

AT_ONCE: Final = 4


def skip_reason(item: Item, subject: IssuerUnderTest) -> str:
    """Return why an item does not apply to this issuer; empty if it does."""
    for feature in sorted(item.needs & set(subject.unsupported)):
        return f"{feature} is unsupported: {subject.unsupported[feature]}"
    if Feature.KUBERNETES_CSRS in item.needs and subject.resource.namespaced:
        return "Kubernetes' own requests reach cluster-wide issuers only"
    return ""


async def run_item(subject: IssuerUnderTest, item: Item) -> CaseResult:
    """Test one item. An error of the cluster counts as a violation, too."""
    started = subject.clock.monotonic()
    reason = skip_reason(item, subject)
    violations: list[Violation] = []
    repaired: list[Violation] = []
    if not reason:
        try:
            violations, repaired = await _judge(Requester(subject), item)
        except NotApplicable as error:
            reason = str(error)
        except RequestDeleted as error:
            violations = [Violation("RequestDeleted", str(error))]
        except ApiError as error:
            violations = [Violation("RefusedByServer", str(error)[:500])]
        except TransportError as error:
            violations = [Violation("Unreachable", str(error)[:500])]
    seconds = subject.clock.monotonic() - started
    return CaseResult(
        item.suite, item.name, item.needs, tuple(violations), reason, seconds, tuple(repaired)
    )


async def run(
    subject: IssuerUnderTest,
    items: Iterable[Item] = ITEMS,
    *,
    progress: Callable[[CaseResult], None] = lambda _result: None,
    at_once: int = AT_ONCE,
) -> ConformanceReport:
    """Test all items, some *at_once*; *progress* is called with each result."""
    items, places = tuple(items), asyncio.Semaphore(at_once)

    async def take_turn(item: Item) -> CaseResult:
        async with places:
            result = await run_item(subject, item)
        progress(result)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(take_turn(item)) for item in items]
    results = [task.result() for task in tasks]
    return ConformanceReport(str(subject), results, subject.unsupported)


def _refuse_annotations(answer: JsonObject) -> None:
    """Raise `NotApplicable` if an issuer grants nothing to annotations: that is its right."""
    failed = find_condition(conditions_of(answer), "Failed")
    if failed is not None and failed.reason == "AnnotationNotAllowed":
        raise NotApplicable(f"the issuer grants it to no annotation: {failed.message}")


async def _judge(requester: Requester, item: Item) -> tuple[list[Violation], list[Violation]]:
    """Test one item; return its violations, and what the issuer repaired."""
    if isinstance(item, Behaviour):
        return await item.check(requester), []
    subject = requester.subject
    async with requester.make(item) as made:
        await requester.approve(made)
        answer = await requester.answer(made)
        _refuse_annotations(answer)
        now = subject.clock.now()
        violations = [
            *answer_violations(made.asked, answer, subject.unsupported, now),
            *protocol_violations(made.versions),
        ]
        return violations, await requester.repairs(made)
