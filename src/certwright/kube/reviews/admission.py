"""``AdmissionReview`` of ``admission.k8s.io/v1``: may a request to the API pass, and how."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import msgspec
import orjson
from msgspec import Raw, Struct, field

from certwright.kube.errors import BadRequest
from certwright.kube.objects import GroupVersionKind, JsonObject, Key, Object
from certwright.kube.reviews.envelope import ReviewReader

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"

T = TypeVar("T", bound=Object)
_NONE = Raw(b"null")


class ReviewedResource(Struct, frozen=True):
    """A kind as URLs spell it."""

    group: str = ""
    version: str = ""
    resource: str = ""


class ReviewedUser(Struct, frozen=True):
    """Who sent the request to the API server."""

    username: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = {}


class AdmissionReview(Struct, frozen=True, kw_only=True, rename="camel"):
    """A request to the API, before it takes effect.

    Kind and resource are those the webhook asked for in its rules; the API server converts objects
    to them. What the client sent stands in the fields with ``request_``.
    """

    uid: str
    """Of this review, not of an object."""
    kind: GroupVersionKind
    resource: ReviewedResource
    operation: str
    """``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``."""
    name: str = ""
    """Empty if the server is going to generate it."""
    namespace: str = ""
    sub_resource: str = ""
    request_kind: GroupVersionKind | None = None
    request_resource: ReviewedResource | None = None
    request_sub_resource: str = ""
    user_info: ReviewedUser = field(default_factory=ReviewedUser)
    dry_run: bool | None = None
    raw_object: Raw = field(default=_NONE, name="object")
    raw_old_object: Raw = field(default=_NONE, name="oldObject")
    raw_options: Raw = field(default=_NONE, name="options")

    @property
    def key(self) -> Key:
        """Where the object lives."""
        return Key(self.namespace, self.name)

    def obj(self) -> JsonObject:
        """Return the object as the client wants it, as a fresh dict; empty for ``DELETE``."""
        return _decoded(self.raw_object)

    def old(self) -> JsonObject:
        """Return the object as it is stored, as a fresh dict; empty for ``CREATE``."""
        return _decoded(self.raw_old_object)

    def options(self) -> JsonObject:
        """Return the options of the request, such as ``CreateOptions``."""
        return _decoded(self.raw_options)

    def as_(self, kind: type[T]) -> T:
        """Return the object as an instance of a typed kind; `BadRequest` if it does not fit."""
        return _typed(self.raw_object, kind)

    def old_as(self, kind: type[T]) -> T:
        """Return the object as it is stored, typed; `BadRequest` if it does not fit."""
        return _typed(self.raw_old_object, kind)


class AdmissionResponse(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a webhook says about a request."""

    uid: str
    allowed: bool
    status: JsonObject | None = None
    patch: bytes = b""
    """Operations as JSON; base64 on the wire."""
    patch_type: str = ""
    warnings: Sequence[str] = ()
    audit_annotations: Mapping[str, str] = {}


class _Answer(Struct, rename="camel"):
    response: AdmissionResponse
    api_version: str = API_VERSION
    kind: str = KIND


_READER = ReviewReader(API_VERSION, KIND, AdmissionReview)
_ENCODER = msgspec.json.Encoder()


def read_admission_review(body: bytes) -> AdmissionReview:
    """Return the request in an AdmissionReview; `BadRequest` says what is wrong with the body."""
    return _READER.read(body)


def write_admission_review(response: AdmissionResponse) -> bytes:
    """Return the review that carries an answer."""
    return _ENCODER.encode(_Answer(response))


def _decoded(raw: Raw) -> JsonObject:
    found: JsonObject = orjson.loads(memoryview(raw)) or {}
    return found


def _typed(raw: Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError as error:
        raise BadRequest(f"{kind.resource.kind} cannot be read: {error}") from None
