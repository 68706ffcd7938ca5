"""How an issuer treats Kubernetes' own CertificateSigningRequests, apart from signing them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from certwright import pki
from certwright.api.certificates import DURATION_ANNOTATION
from certwright.issuer.conformance.behaviours.behaviour import (
    Behaviour,
    is_touched,
    keeps_its_answer,
    plain,
    stays_untouched,
)
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.cases.objects import make_case_request, signing_request
from certwright.issuer.conformance.copies import copied_issuer, new_name
from certwright.issuer.conformance.requester import Requester
from certwright.issuer.conformance.violations import is_issued, is_refused, unanswered
from certwright.pki import Violation

_PLAIN: Final = plain("CertificateSigningRequest")


async def _waits_for_approval(requester: Requester) -> list[Violation]:
    async with requester.make(_PLAIN) as made:
        if await requester.watch(made, requester.subject.glance, until=is_touched):
            said = "the issuer wrote to a request that is not approved"
            return [Violation("UnapprovedTouched", said)]
        await requester.approve(made)
        found = unanswered(await requester.answer(made))
        return [found] if found else []


async def _leaves_denied_requests_alone(requester: Requester) -> list[Violation]:
    async with requester.make(_PLAIN) as made:
        await requester.deny(made)
        if await requester.watch(made, requester.subject.glance, until=is_touched):
            return [Violation("DeniedTouched", "the issuer wrote to a denied request")]
        return []


async def _leaves_other_signers_alone(requester: Requester) -> list[Violation]:
    signer = f"others.conformance.certwright.dev/{requester.subject.issuer.name}"
    async with requester.make(_PLAIN, signer=signer) as made:
        await requester.approve(made)
        return await stays_untouched(requester, made)


async def _waits_for_its_issuer(requester: Requester) -> list[Violation]:
    subject = requester.subject
    name = new_name(subject)
    signer = f"{subject.resource.plural}.{subject.resource.group}/{name}"
    async with requester.make(_PLAIN, signer=signer) as made:
        await requester.approve(made)
        await requester.watch(made, subject.glance, until=is_touched)
        if is_refused(made.last):
            said = "the request was refused because its issuer was not there yet"
            return [Violation("FailedWithoutIssuer", said)]
        async with copied_issuer(subject, name):
            found = unanswered(await requester.answer(made))
        return [found] if found else []


async def _refuses_an_unreadable_lifetime(requester: Requester) -> list[Violation]:
    asked = make_case_request(_PLAIN, pki.generate_key(pki.KeySpec()))
    manifest = signing_request(_PLAIN, asked.csr, requester.subject.signer)
    manifest["metadata"]["annotations"][DURATION_ANNOTATION] = "bogus"
    async with requester.make_from(asked, manifest) as made:
        await requester.approve(made)
        answer = await requester.answer(made)
        if is_issued(answer):
            return [Violation("BadRequestSigned", "a lifetime of bogus was signed")]
        if not is_refused(answer):
            return [Violation("BadRequestUnanswered", "a lifetime of bogus was not refused")]
        return []


def _behaviour(name: str, check: Callable[[Requester], Awaitable[list[Violation]]]) -> Behaviour:
    needs = frozenset({Feature.KUBERNETES_CSRS})
    return Behaviour("Behaviour with Kubernetes CSRs", name, check, needs)


SIGNING_BEHAVIOURS: Final[tuple[Behaviour, ...]] = (
    _behaviour("a request waits for approval", _waits_for_approval),
    _behaviour("a denied request is left alone", _leaves_denied_requests_alone),
    _behaviour("requests to other signers are left alone", _leaves_other_signers_alone),
    _behaviour("a request waits for its issuer", _waits_for_its_issuer),
    _behaviour("an answer is final", partial(keeps_its_answer, case=_PLAIN)),
    _behaviour("a lifetime that cannot be parsed is refused", _refuses_an_unreadable_lifetime),
)
