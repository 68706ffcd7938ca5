"""Issuers that break the protocol are caught, each by the name of what they break."""

import base64
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.x509 import Certificate
from tests.component.issuer.conformance.conftest import Bare

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer.conformance.behaviours.behaviour import Behaviour
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.results import CaseStatus
from certwright.issuer.conformance.runner import ITEMS, run_item
from certwright.kube import JsonObject, Key, Resource, find_condition, format_time, resource_of
from certwright.pki import Authority, RequestTerms, SigningRequest
from certwright.pki.pem import read_blocks, write_block
from certwright.runtime import DONE, Context, Outcome, again
from certwright.testkit import EmbeddedCluster

REQUEST = resource_of(CertificateRequest)
SHORT = timedelta(seconds=5)


@pytest.fixture
def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    """What is wrong with an answer does not depend on the server; the sound issuer runs on both."""
    return embedded_cluster


def item(suite: str, name: str) -> Behaviour | Case:
    return next(one for one in ITEMS if (one.suite, one.name) == (suite, name))


async def patch_status(ctx: Context, key: Key, **status: Any) -> None:
    await ctx.client.patch(REQUEST, key, {"status": status}, subresource="status")


def condition(ctx: Context, status: str, reason: str, type_: str = "Ready") -> JsonObject:
    now = format_time(ctx.clock.now())
    said = {"status": status, "reason": reason, "message": "", "lastTransitionTime": now}
    return {"type": type_, **said}


def kept(request: JsonObject) -> list[dict[str, str]]:
    held = (request.get("status") or {}).get("conditions") or []
    return [one for one in held if one["type"] != "Ready"]


async def never(*_args: Any, **_keywords: Any) -> Outcome:
    return DONE


def flips() -> JsonObject:
    """Take a good answer back, once."""

    async def afterwards(self: Any, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        if not hasattr(self, "flipped"):
            self.flipped = True
            now = condition(ctx, "False", "Pending")
            await patch_status(ctx, key, conditions=[*kept(request), now], certificate=None)
        return DONE

    return {"afterwards": afterwards}


def answers_twice() -> JsonObject:
    """Sign again whatever was signed before."""

    async def afterwards(self: Any, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        asked = pki.read_request(base64.b64decode(request["spec"]["request"]))
        count = int(request["metadata"].get("annotations", {}).get("example.com/count", "0"))
        if count == 0:
            await ctx.client.patch(
                REQUEST, key, {"metadata": {"annotations": {"example.com/count": "1"}}}
            )
            chain, _ = self.sign(asked, pki.RequestTerms(), ctx.clock.now())
            await patch_status(ctx, key, certificate=base64.b64encode(chain).decode())
        return DONE

    return {"afterwards": afterwards}


def in_two_writes() -> JsonObject:
    """Write the certificate first, and that it is there a moment later."""

    async def accept(
        _self: Any, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        del authority
        await patch_status(ctx, key, certificate=base64.b64encode(chain).decode())
        ready = condition(ctx, "True", "Issued")
        await patch_status(ctx, key, conditions=[*kept(request), ready])

    return {"accept": accept}


def refusing(**broken: Any) -> JsonObject:
    """Refuse everything, in a way that is wrong besides."""

    async def try_to_sign(_self: Any, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        now = format_time(ctx.clock.now())
        good = {
            "conditions": [*kept(request), condition(ctx, "False", "Failed")],
            "failureTime": now,
        }
        await patch_status(ctx, key, **{**good, **{k: v(ctx, request) for k, v in broken.items()}})
        return again(timedelta(hours=1))

    return {"try_to_sign": try_to_sign}


def signing_after(change: JsonObject) -> Callable[..., Any]:
    """Do something to the request before signing it."""

    def flaw(bare: type[Bare]) -> JsonObject:
        async def try_to_sign(self: Any, ctx: Context, key: Key, request: JsonObject) -> Outcome:
            await ctx.client.patch(REQUEST, key, change)
            return await bare.try_to_sign(self, ctx, key, request)

        return {"try_to_sign": try_to_sign}

    return flaw


def dropping_the_verdict() -> JsonObject:
    async def accept(
        _self: Any, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        ready = condition(ctx, "True", "Issued")
        given = {"certificate": chain, "ca": authority}
        coded = {name: base64.b64encode(pem).decode() for name, pem in given.items()}
        await patch_status(ctx, key, conditions=[ready], **coded)

    return {"accept": accept, "is_final": lambda _self, held: find_condition(held, "Ready")}


def fails_without_issuer() -> JsonObject:
    async def wait(self: Any, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        await self.refuse(ctx, key, request, "Failed")
        return DONE

    return {"wait": wait}


def silent_without_issuer() -> JsonObject:
    async def wait(*_: Any) -> Outcome:
        return again(timedelta(seconds=0.2))

    return {"wait": wait}


def one_serial() -> JsonObject:
    def leaf(
        self: Any, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        if not hasattr(self, "made"):
            self.made = authority.issue(pki.request_template(asked, terms), now)
        value: Certificate = self.made
        return value

    return {"leaf": leaf}


def leaky_reading() -> JsonObject:
    """Sign whatever can be parsed at all."""

    def read_request(_self: Any, pem: bytes, _terms: RequestTerms) -> SigningRequest:
        (block,) = read_blocks(pem, limit=65_536)
        try:
            return pki.read_request(pem)
        except pki.RequestRefused:
            whole = block.der[:-1] + bytes([block.der[-1] ^ 1])
            return pki.read_request(write_block("CERTIFICATE REQUEST", whole))

    return {"read_request": read_request}


def never_ready() -> JsonObject:
    def look_after(_self: Any, _resource: Resource) -> Callable[..., Awaitable[Any]]:
        return never

    return {"look_after": look_after}


def ready_for_an_older_spec(bare: type[Bare]) -> JsonObject:
    def look_after(self: Any, resource: Resource) -> Callable[..., Awaitable[Any]]:
        inner = bare.look_after(self, resource)

        async def reconcile(ctx: Context, key: Key) -> Outcome:
            await inner(ctx, key)
            old = {**condition(ctx, "True", "Checked"), "observedGeneration": 0}
            patch = {"status": {"conditions": [old]}}
            await ctx.client.patch(resource, key, patch, subresource="status")
            return DONE

        return reconcile

    return {"look_after": look_after}


ONE_NAME = ("CertificateRequest", "one DNS name")
FLAWS = {
    "never answers": (*ONE_NAME, {"answer": never}, "NotAnswered"),
    "refuses everything": (*ONE_NAME, refusing(), "NotIssued"),
    "flips its answer": (*ONE_NAME, flips(), "AnswerChanged"),
    "answers twice": (*ONE_NAME, answers_twice(), "AnswerChanged"),
    "certificate before Ready": (*ONE_NAME, in_two_writes(), "CertificateWithoutReady"),
    "no failureTime": (
        *ONE_NAME, refusing(failureTime=lambda *_: None), "FailureTimeMissing",
    ),
    "failureTime without Ready": (
        *ONE_NAME, refusing(conditions=lambda _ctx, request: kept(request)),
        "FailureTimeWithoutReady",
    ),
    "a reason of its own": (
        *ONE_NAME,
        refusing(
            conditions=lambda ctx, request: [*kept(request), condition(ctx, "False", "Broken")]
        ),
        "UnknownReason",
    ),
    "changes the spec": (
        *ONE_NAME, signing_after({"spec": {"duration": "1h0m0s"}}), "SpecTouched",
    ),
    "changes labels": (
        *ONE_NAME, signing_after({"metadata": {"labels": {"mine": "now"}}}), "MetadataTouched",
    ),
    "drops the approval": (*ONE_NAME, dropping_the_verdict(), "VerdictTouched"),
    "answers for other groups": (
        "Behaviour", "requests of other groups are left alone",
        {"is_ours": lambda *_: True, "has_issuer": never}, "ForeignTouched",
    ),
    "answers for other kinds": (
        "Behaviour", "requests of other kinds are left alone",
        {"is_ours": lambda *_: True, "has_issuer": never}, "ForeignTouched",
    ),
    "asks nobody for approval": (
        "Behaviour", "a request waits for approval", {"is_approved": lambda *_: True},
        "UnapprovedTouched",
    ),
    "overlooks the approval": (
        "Behaviour", "a request waits for approval", {"answer": never}, "NotAnswered",
    ),
    "signs what was denied": (
        "Behaviour", "a denied request ends",
        {"is_denied": lambda *_: False, "is_approved": lambda _self, held: bool(held)}, "DeniedSigned",
    ),
    "forgets what was denied": (
        "Behaviour", "a denied request ends", {"is_denied": lambda *_: False}, "DeniedUnanswered",
    ),
    "gives up without an issuer": (
        "Behaviour", "a request waits for its issuer", fails_without_issuer(),
        "FailedWithoutIssuer",
    ),
    "says nothing without an issuer": (
        "Behaviour", "a request waits for its issuer", silent_without_issuer(),
        "SilentWithoutIssuer",
    ),
    "takes its answer back when poked": (
        "Behaviour", "an answer is final", flips(), "AnswerChanged",
    ),
    "signs what is marked invalid": (
        "Behaviour", "a request marked invalid is left alone",
        {"is_final": lambda _self, held: (one := find_condition(held, "Ready")) is not None
                                         and one.status == "True"},
        "InvalidSigned",
    ),
    "repeats a serial": (
        "Behaviour", "many requests are answered at once", one_serial(), "SerialRepeated",
    ),
    "hands out the same certificate": (
        "Behaviour", "the same key is signed again", one_serial(), "SerialRepeated",
    ),
    "hands out an old certificate": (
        "Behaviour", "one more name is signed", one_serial(), "MissingName",
    ),
    "believes every signature": (
        "Behaviour", "a bad signature is refused", leaky_reading(), "BadRequestSigned",
    ),
    "overlooks a hidden authority": (
        "Behaviour", "a hidden authority is refused", leaky_reading(), "BadRequestSigned",
    ),
    "overlooks contradicting usages": (
        "Behaviour", "contradicting usages are refused", leaky_reading(), "BadRequestSigned",
    ),
    "leaves bad requests waiting": (
        "Behaviour", "a bad signature is refused", {"refuse": never}, "BadRequestUnanswered",
    ),
    "is never ready": (
        "Behaviour", "the issuer says that it is ready", never_ready(), "IssuerNotReady",
    ),
    "was ready once": (
        "Behaviour", "the issuer says that it is ready", ready_for_an_older_spec,
        "IssuerOutdated",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("suite", "name", "flaw", "caught"), FLAWS.values(), ids=FLAWS.keys())
async def test_a_broken_protocol_is_caught(
    bare: type[Bare],
    put_to_work: Callable[..., Awaitable[Any]],
    suite: str,
    name: str,
    flaw: dict[str, Callable[..., Any]] | Callable[..., Any],
    caught: str,
) -> None:
    broken = type("Broken", (bare,), flaw(bare) if callable(flaw) else flaw)()
    result = await run_item(await put_to_work(broken, patience=SHORT), item(suite, name))
    assert result.status is CaseStatus.FAILED
    assert caught in {violation.name for violation in result.violations}


CSR = "Behaviour with Kubernetes CSRs"
SIGNING_FLAWS = {
    "asks nobody": (
        "a request waits for approval", {"may_sign_csr": lambda *_: True}, "UnapprovedTouched",
    ),
    "never answers": (
        "a request waits for approval", {"may_sign_csr": lambda *_: False}, "NotAnswered",
    ),
    "fails what was denied": (
        "a denied request is left alone",
        {"may_sign_csr": lambda *_: True, "csr_terms": lambda *_: pki.parse_usages(["bogus"])},
        "DeniedTouched",
    ),
    "signs a lifetime that is none": (
        "a lifetime that cannot be parsed is refused",
        {"csr_terms": lambda *_: pki.RequestTerms()}, "BadRequestSigned",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "flaw", "caught"), SIGNING_FLAWS.values(), ids=SIGNING_FLAWS.keys()
)
async def test_a_broken_answer_to_kubernetes_csrs_is_caught(
    bare: type[Bare],
    put_to_work: Callable[..., Awaitable[Any]],
    name: str,
    flaw: dict[str, Callable[..., Any]],
    caught: str,
) -> None:
    broken = type("Broken", (bare,), flaw)()
    subject = await put_to_work(broken, bare.cluster_kind, patience=SHORT)
    result = await run_item(subject, item(CSR, name))
    assert caught in {violation.name for violation in result.violations}
