"""An issuer without the issuer library: small, correct, and easy to break in one place.

The library would not let most broken answers through, so that the kit would never see them.
"""

import base64
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.x509 import Certificate, CertificateBuilder, Extension, ExtensionType
from msgspec import Struct, field

from certwright import pki
from certwright.api.certificates import (
    DURATION_ANNOTATION,
    IS_CA_ANNOTATION,
    CertificateSigningRequest,
)
from certwright.api.certmanager import CertificateRequest
from certwright.kube import (
    Condition,
    JsonObject,
    Key,
    Object,
    Resource,
    crd_manifest,
    custom_resource,
    find_condition,
    format_time,
    is_true,
    kinds,
    resource_of,
)
from certwright.kube.conditions import conditions_of
from certwright.kube.durations import parse_duration
from certwright.pki import Authority, RequestTerms, SigningRequest
from certwright.pki.authority import new_serial
from certwright.pki.requests import Template
from certwright.runtime import DONE, Context, Controller, Outcome, again

GROUP = "bare.example.com"
POLL = timedelta(seconds=0.2)
REQUEST = resource_of(CertificateRequest)
USUAL = ["digital signature", "key encipherment"]


class Status(Struct, rename="camel"):
    conditions: list[Condition] = field(default_factory=list)


@custom_resource(GROUP, "v1")
class BareIssuer(Object):
    status: Status = field(default_factory=Status)


@custom_resource(GROUP, "v1", scope="Cluster")
class BareClusterIssuer(Object):
    status: Status = field(default_factory=Status)


class Bare:
    """The whole issuer; a flaw is a subclass that does one thing wrong."""

    namespaced_kind = BareIssuer
    cluster_kind = BareClusterIssuer

    def __init__(self) -> None:
        self.authority: pki.Authority | None = None

    def crds(self) -> Sequence[JsonObject]:
        return [crd_manifest(BareIssuer), crd_manifest(BareClusterIssuer)]

    def controllers(self) -> Sequence[Controller]:
        issuers = [BareIssuer, BareClusterIssuer]
        return [
            *(Controller(kind, self.look_after(resource_of(kind))) for kind in issuers),
            Controller(CertificateRequest, self.answer, reads=issuers),
            Controller(CertificateSigningRequest, self.answer_csr, reads=issuers),
        ]

    # Issuers

    def look_after(self, resource: Resource) -> Any:
        async def reconcile(ctx: Context, key: Key) -> Outcome:
            issuer = await read(ctx, resource, key)
            if issuer is not None and not is_true(conditions_of(issuer), "Ready"):
                await write(ctx, resource, key, issuer, ready(ctx, "True", "Checked", generation=1))
            return DONE

        return reconcile

    # CertificateRequests

    async def answer(self, ctx: Context, key: Key) -> Outcome:
        request = await read(ctx, REQUEST, key)
        if request is None or not self.is_ours(request):
            return DONE
        conditions = conditions_of(request)
        if self.is_denied(conditions):
            await self.refuse(ctx, key, request, "Denied")
            return DONE
        if not self.is_approved(conditions):
            return DONE
        if self.is_final(conditions):
            return await self.afterwards(ctx, key, request)
        if not await self.has_issuer(ctx, request):
            return await self.wait(ctx, key, request)
        return await self.try_to_sign(ctx, key, request)

    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        spec = request["spec"]
        words = [*(spec.get("usages") or USUAL), *(["cert sign"] if spec.get("isCA") else [])]
        lifetime = parse_duration(spec.get("duration", "2160h"))
        try:
            terms = pki.RequestTerms(lifetime, spec.get("isCA", False), pki.parse_usages(words))
            asked = self.read_request(base64.b64decode(spec["request"]), terms)
        except pki.PkiError:
            await self.refuse(ctx, key, request, "Failed")
            return DONE
        chain, authority = self.sign(asked, terms, ctx.clock.now())
        await self.accept(ctx, key, request, chain, authority)
        return DONE

    def read_request(self, pem: bytes, terms: pki.RequestTerms) -> pki.SigningRequest:
        asked = pki.read_request(pem)
        pki.check_request(asked, terms)
        return asked

    def sign(
        self, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> tuple[bytes, bytes]:
        authority = self.root(now)
        leaf = self.leaf(authority, asked, terms, now)
        return authority.write_chain(leaf), pki.write_certificates(authority.certificate)

    def leaf(
        self, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        return authority.issue(self.template(asked, terms), now)

    def template(self, asked: SigningRequest, terms: RequestTerms) -> Template:
        return pki.request_template(asked, terms)

    def root(self, now: datetime) -> pki.Authority:
        if self.authority is None:
            self.authority = new_root(now)
        return self.authority

    async def accept(
        self, ctx: Context, key: Key, request: JsonObject, chain: bytes, authority: bytes
    ) -> None:
        given = {"certificate": encoded(chain)} | ({"ca": encoded(authority)} if authority else {})
        await write(ctx, REQUEST, key, request, ready(ctx, "True", "Issued"), **given)

    async def refuse(self, ctx: Context, key: Key, request: JsonObject, reason: str) -> None:
        if not self.is_final(conditions_of(request)):
            now = {"failureTime": format_time(ctx.clock.now())}
            await write(ctx, REQUEST, key, request, ready(ctx, "False", reason), **now)

    async def wait(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        await write(ctx, REQUEST, key, request, ready(ctx, "False", "Pending"))
        return again(POLL)

    async def afterwards(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        return DONE

    def is_ours(self, request: JsonObject) -> bool:
        reference = request["spec"]["issuerRef"]
        kinds = {"BareIssuer", "BareClusterIssuer"}
        return reference["group"] == GROUP and reference["kind"] in kinds

    def is_approved(self, conditions: list[Condition]) -> bool:
        return is_true(conditions, "Approved")

    def is_denied(self, conditions: list[Condition]) -> bool:
        return is_true(conditions, "Denied")

    def is_final(self, conditions: list[Condition]) -> bool:
        found = find_condition(conditions, "Ready")
        if is_true(conditions, "InvalidRequest"):
            return True
        return found is not None and (
            found.status == "True" or found.reason in {"Failed", "Denied"}
        )

    async def has_issuer(self, ctx: Context, request: JsonObject) -> bool:
        reference = request["spec"]["issuerRef"]
        kind = BareIssuer if reference["kind"] == "BareIssuer" else BareClusterIssuer
        namespace = request["metadata"]["namespace"] if kind is BareIssuer else ""
        return ctx.get(kind, Key(namespace, reference["name"])) is not None

    # Kubernetes' own requests

    async def answer_csr(self, ctx: Context, key: Key) -> Outcome:
        request = await read(ctx, kinds.CertificateSigningRequest, key)
        if request is None or (request.get("status") or {}).get("certificate"):
            return DONE
        plural, _, name = request["spec"]["signerName"].partition("/")
        types = {one["type"] for one in (request.get("status") or {}).get("conditions") or ()}
        if not self.is_our_signer(plural) or not self.may_sign_csr(types):
            return DONE
        if ctx.get(BareClusterIssuer, Key("", name)) is None:
            return await self.wait_csr(ctx, key, request)
        try:
            terms = self.csr_terms(request)
        except (ValueError, pki.PkiError):
            return await self.refuse_csr(ctx, key, request)
        asked = pki.read_request(base64.b64decode(request["spec"]["request"]))
        chain, _ = self.sign(asked, terms, ctx.clock.now())
        patch = {"status": {"certificate": encoded(chain)}}
        await ctx.client.patch(kinds.CertificateSigningRequest, key, patch, subresource="status")
        return DONE

    async def refuse_csr(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        failed = {"type": "Failed", "status": "True", "reason": "Failed", "message": "no"}
        await write(ctx, kinds.CertificateSigningRequest, key, request, failed)
        return DONE

    async def wait_csr(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        return again(POLL)

    def is_our_signer(self, plural: str) -> bool:
        return plural == f"bareclusterissuers.{GROUP}"

    def may_sign_csr(self, types: set[str]) -> bool:
        return "Approved" in types and not types & {"Denied", "Failed"}

    def csr_terms(self, request: JsonObject) -> pki.RequestTerms:
        spec, annotations = request["spec"], request["metadata"].get("annotations") or {}
        lifetime = timedelta(seconds=spec.get("expirationSeconds", 90 * 24 * 3600))
        if text := annotations.get(DURATION_ANNOTATION):
            lifetime = parse_duration(text)
        is_ca = annotations.get(IS_CA_ANNOTATION) == "true"
        return pki.RequestTerms(lifetime, is_ca, pki.parse_usages(spec["usages"]))


def new_root(
    now: datetime,
    name: str = "bare",
    key: pki.KeySpec = pki.KeySpec(),  # noqa: B008 - frozen
) -> pki.Authority:
    made = pki.generate_key(key)
    return pki.create_root(pki.distinguished_name(name), made, timedelta(days=3650), now)


def resigned(
    authority: Authority,
    leaf: Certificate,
    change: Callable[[Extension[Any]], tuple[ExtensionType, bool] | None] = lambda one: (
        one.value,
        one.critical,
    ),
    *,
    serial: int = 0,
    digest: hashes.HashAlgorithm | None = None,
) -> Certificate:
    """Sign a certificate again, with another serial number, hash, or other extensions."""
    builder = (
        CertificateBuilder()
        .subject_name(leaf.subject)
        .issuer_name(authority.certificate.subject)
        .public_key(leaf.public_key())
        .serial_number(serial or new_serial())
        .not_valid_before(leaf.not_valid_before_utc)
        .not_valid_after(leaf.not_valid_after_utc)
    )
    for one in leaf.extensions:
        if (changed := change(one)) is not None:
            builder = builder.add_extension(*changed)
    return builder.sign(authority.key, digest or hashes.SHA256())  # type: ignore[arg-type]


def encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def ready(ctx: Context, status: str, reason: str, generation: int = 0) -> JsonObject:
    condition = {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": reason,
        "lastTransitionTime": format_time(ctx.clock.now()),
    }
    return {**condition, "observedGeneration": generation} if generation else condition


async def read(ctx: Context, resource: Resource, key: Key) -> JsonObject | None:
    """Read from the server: this issuer has no other memory."""
    held = await ctx.client.list(resource, key.namespace, fields=f"metadata.name={key.name}")
    return held.items[0] if held.items else None


async def write(
    ctx: Context,
    resource: Resource,
    key: Key,
    obj: JsonObject,
    condition: JsonObject,
    **status: Any,
) -> None:
    """Replace one condition and write the rest of the status beside it."""
    held = (obj.get("status") or {}).get("conditions") or []
    before: Any = next((one for one in held if one["type"] == condition["type"]), {})
    if before.get("status") == condition["status"]:
        condition = {**condition, "lastTransitionTime": before.get("lastTransitionTime")}
    others = [one for one in held if one["type"] != condition["type"]]
    patch = {"status": {"conditions": [*others, condition], **status}}
    await ctx.client.patch(resource, key, patch, subresource="status")
