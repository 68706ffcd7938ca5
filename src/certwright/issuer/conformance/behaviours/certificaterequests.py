"""How an issuer treats CertificateRequests, apart from signing them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from certwright import pki
from certwright.api.certmanager import IssuerRef
from certwright.issuer.conformance.behaviours.behaviour import (
    Behaviour,
    NotApplicable,
    approve_if_allowed,
    is_admission_refusal,
    is_touched,
    keeps_answer,
    keeps_its_answer,
    plain,
    stays_untouched,
)
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.cases.objects import CaseRequest, make_case_request
from certwright.issuer.conformance.copies import copied_issuer, new_name
from certwright.issuer.conformance.protocol import protocol_violations
from certwright.issuer.conformance.requester import ObservedRequest, Requester
from certwright.issuer.conformance.serials import SAMPLE, serial_violations
from certwright.issuer.conformance.violations import (
    answer_violations,
    certificate_of,
    is_issued,
    is_refused,
    unanswered,
)
from certwright.kube import ApiError, JsonObject, find_condition, format_time, is_true
from certwright.kube.conditions import conditions_of
from certwright.pki import Violation
from certwright.pki.pem import read_blocks, write_block

_PLAIN: Final = plain("CertificateRequest")
_APPROVED_AT_ONCE: Final = "an approver in this cluster approves requests at once"


async def _reports_readiness(requester: Requester) -> list[Violation]:
    subject = requester.subject
    issuer = await subject.client.get(subject.resource, subject.issuer)
    ready = find_condition(conditions_of(issuer), "Ready")
    if ready is None or ready.status != "True":
        said = f"{ready.reason}: {ready.message}" if ready else "it has no such condition"
        return [Violation("IssuerNotReady", f"the issuer is not Ready: {said}")]
    if ready.observed_generation < issuer["metadata"].get("generation", 0):
        said = "the issuer is Ready for an older generation of its spec"
        return [Violation("IssuerOutdated", said)]
    return []


async def _leaves_other_groups_alone(requester: Requester) -> list[Violation]:
    ours = requester.subject.reference
    theirs = IssuerRef(ours.name, ours.kind, "other.conformance.certwright.dev")
    async with requester.make(_PLAIN, issuer=theirs) as made:
        await approve_if_allowed(requester, made)
        return await stays_untouched(requester, made)


async def _leaves_other_kinds_alone(requester: Requester) -> list[Violation]:
    ours = requester.subject.reference
    async with requester.make(_PLAIN, issuer=IssuerRef(ours.name, "Other", ours.group)) as made:
        await approve_if_allowed(requester, made)
        return await stays_untouched(requester, made)


async def _waits_for_approval(requester: Requester) -> list[Violation]:
    async with requester.make(_PLAIN) as made:
        touched = await requester.watch(made, requester.subject.glance, until=is_touched)
        if _is_approved(made.last):
            if found := protocol_violations(made.versions):
                return found
            raise NotApplicable(_APPROVED_AT_ONCE)
        if touched:
            said = "the issuer wrote to a request that is neither approved nor denied"
            return [Violation("UnapprovedTouched", said)]
        await requester.approve(made)
        refusal = unanswered(await requester.answer(made))
        return [refusal] if refusal else []


async def _ends_denied_requests(requester: Requester) -> list[Violation]:
    async with requester.make(_PLAIN) as made:
        if not await requester.deny(made):
            raise NotApplicable(_APPROVED_AT_ONCE)
        answer = await requester.answer(made)
        if certificate_of(answer):
            return [Violation("DeniedSigned", "a denied request was given a certificate")]
        if not is_refused(answer):
            said = "a denied request was left without Ready=False, reason Denied"
            return [Violation("DeniedUnanswered", said)]
        ready = find_condition(conditions_of(answer), "Ready")
        if ready is None or ready.reason != "Denied":
            return [Violation("DeniedUnanswered", "the reason for a denied request is Denied")]
        return await keeps_answer(requester, made)


async def _waits_for_its_issuer(requester: Requester) -> list[Violation]:
    subject = requester.subject
    reference = _sibling(subject.reference, new_name(subject))
    async with requester.make(_PLAIN, issuer=reference) as made:
        await requester.approve(made)
        waits = await requester.watch(made, subject.patience, until=_has_ready)
        if is_refused(made.last):
            said = "the request was refused because its issuer was not there yet"
            return [Violation("FailedWithoutIssuer", said)]
        if not waits:
            return [Violation("SilentWithoutIssuer", "the request does not show what it waits for")]
        async with copied_issuer(subject, reference.name):
            found = unanswered(await requester.answer(made))
        return [found] if found else protocol_violations(made.versions)


async def _leaves_invalid_requests_alone(requester: Requester) -> list[Violation]:
    invalid: JsonObject = {
        "type": "InvalidRequest",
        "status": "True",
        "reason": "Conformance",
        "message": "marked as invalid by the conformance kit",
        "lastTransitionTime": format_time(requester.subject.clock.now()),
    }
    async with requester.make(_PLAIN) as made:
        await requester.add_condition(made, invalid)
        await requester.approve(made)
        await requester.watch(made, requester.subject.glance, until=is_issued)
        marked = [one for one in made.versions if is_true(conditions_of(one), "InvalidRequest")]
        approved = [one for one in made.versions if _is_approved(one)]
        if len(marked) < len(approved):
            raise NotApplicable(_APPROVED_AT_ONCE)  # before it could be marked
        if is_issued(made.last):
            return [Violation("InvalidSigned", "a request marked as invalid was signed")]
        return []


async def _answers_many_at_once(requester: Requester) -> list[Violation]:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_issued_once(requester)) for _ in range(SAMPLE)]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors  # one is told, as of a single request
    answers = [task.result() for task in tasks]
    if found := [one for answer in answers if (one := unanswered(answer))]:
        return found[:1]
    return _serial_violations(answers)


async def _signs_the_same_key_again(requester: Requester) -> list[Violation]:
    first, second = await _issued_once(requester), await _issued_once(requester)
    if found := unanswered(first) or unanswered(second):
        return [found]
    return _serial_violations([first, second])


async def _signs_for_one_more_name(requester: Requester) -> list[Violation]:
    names = pki.AlternativeNames(dns=(*_PLAIN.names.dns, "two.example.com"))
    found = []
    for case in (_PLAIN, replace(_PLAIN, names=names)):
        async with requester.make(case) as made:
            await requester.approve(made)
            answer, subject = await requester.answer(made), requester.subject
            found += answer_violations(made.asked, answer, subject.unsupported, subject.clock.now())
    return found


def _refuses(
    forge: Callable[[], CaseRequest], what: str
) -> Callable[..., Awaitable[list[Violation]]]:
    async def check(requester: Requester) -> list[Violation]:
        asked = forge()
        try:
            async with requester.make_of(asked) as made:
                return await _is_refused(requester, made, what)
        except ApiError as error:
            if is_admission_refusal(error):
                return []
            raise

    return check


async def _is_refused(requester: Requester, made: ObservedRequest, what: str) -> list[Violation]:
    await requester.approve(made)
    answer = await requester.answer(made)
    if is_issued(answer):
        return [Violation("BadRequestSigned", f"{what} was signed")]
    if not is_refused(answer):
        return [Violation("BadRequestUnanswered", f"{what} was not refused")]
    return protocol_violations(made.versions)


def _with_bad_signature() -> CaseRequest:
    asked = make_case_request(_PLAIN, pki.generate_key(pki.KeySpec()))
    (block,) = read_blocks(asked.csr, limit=len(asked.csr))
    forged = block.der[:-1] + bytes([block.der[-1] ^ 1])
    return replace(asked, csr=write_block("CERTIFICATE REQUEST", forged))


def _with_a_hidden_authority() -> CaseRequest:
    asked = make_case_request(replace(_PLAIN, is_ca=True), pki.generate_key(pki.KeySpec()))
    return replace(asked, case=_PLAIN)


def _with_other_usages() -> CaseRequest:
    words = ("digital signature", "server auth", "client auth")
    turned = ("digital signature", "client auth", "server auth")
    asked = make_case_request(replace(_PLAIN, usages=words), pki.generate_key(pki.KeySpec()))
    return replace(asked, case=replace(_PLAIN, usages=turned))


async def _tells_when_to_renew(_requester: Requester) -> list[Violation]:
    raise NotApplicable("a request has no field for it: only cert-manager's own ACME issuer can")


async def _issued_once(requester: Requester) -> JsonObject:
    async with requester.make(_PLAIN) as made:
        await requester.approve(made)
        return await requester.answer(made)


def _serial_violations(answers: list[JsonObject]) -> list[Violation]:
    try:
        leaves = [pki.read_certificates(certificate_of(one))[0] for one in answers]
    except pki.PkiError as error:
        return [Violation("Unparsable", f"the certificate cannot be read: {error}")]
    return serial_violations([leaf.serial_number for leaf in leaves])


def _is_approved(request: JsonObject) -> bool:
    return is_true(conditions_of(request), "Approved")


def _has_ready(request: JsonObject) -> bool:
    return find_condition(conditions_of(request), "Ready") is not None


def _sibling(reference: IssuerRef, name: str) -> IssuerRef:
    return IssuerRef(name, reference.kind, reference.group)


def _behaviour(
    name: str, check: Callable[[Requester], Awaitable[list[Violation]]], *needs: Feature
) -> Behaviour:
    return Behaviour("Behaviour", name, check, frozenset(needs))


CERTIFICATE_BEHAVIOURS: Final[tuple[Behaviour, ...]] = (
    _behaviour("the issuer says that it is ready", _reports_readiness),
    _behaviour("requests of other groups are left alone", _leaves_other_groups_alone),
    _behaviour("requests of other kinds are left alone", _leaves_other_kinds_alone),
    _behaviour("a request waits for approval", _waits_for_approval),
    _behaviour("a denied request ends", _ends_denied_requests),
    _behaviour("a request waits for its issuer", _waits_for_its_issuer),
    _behaviour("an answer is final", partial(keeps_its_answer, case=_PLAIN)),
    _behaviour("a request marked invalid is left alone", _leaves_invalid_requests_alone),
    _behaviour("many requests are answered at once", _answers_many_at_once),
    _behaviour(
        "the same key is signed again", _signs_the_same_key_again, Feature.REUSE_PRIVATE_KEY
    ),
    _behaviour("one more name is signed", _signs_for_one_more_name),
    _behaviour(
        "a bad signature is refused",
        _refuses(_with_bad_signature, "a request with a bad signature"),
    ),
    _behaviour(
        "a hidden authority is refused",
        _refuses(_with_a_hidden_authority, "a request that hides an authority"),
    ),
    _behaviour(
        "contradicting usages are refused",
        _refuses(_with_other_usages, "a request whose usages contradict each other"),
    ),
    _behaviour("it tells when to renew", _tells_when_to_renew, Feature.ACME_RENEWAL_INFORMATION),
)
