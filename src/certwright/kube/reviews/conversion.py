"""``ConversionReview`` of ``apiextensions.k8s.io/v1``: objects of a CRD in another version."""

from collections.abc import Sequence
from typing import Final

import msgspec
import orjson
from msgspec import Raw, Struct

from certwright.kube.objects import JsonObject
from certwright.kube.reviews.envelope import ReviewReader

API_VERSION: Final = "apiextensions.k8s.io/v1"
KIND: Final = "ConversionReview"

_KEPT = ("name", "namespace", "uid")
"""The metadata a conversion must not change; the API server refuses the answer otherwise."""


class ConversionReview(Struct, frozen=True, rename="camel"):
    """Objects, and the version they shall be in."""

    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[Raw]

    def decoded(self) -> list[JsonObject]:
        """Return the objects as fresh dicts."""
        return [orjson.loads(memoryview(raw)) for raw in self.objects]


class _Response(Struct, rename="camel"):
    uid: str
    result: JsonObject
    converted_objects: Sequence[JsonObject] = ()


class _Answer(Struct, rename="camel"):
    response: _Response
    api_version: str = API_VERSION
    kind: str = KIND


_READER = ReviewReader(API_VERSION, KIND, ConversionReview)
_ENCODER = msgspec.json.Encoder()


def read_conversion_review(body: bytes) -> ConversionReview:
    """Return the request in a ConversionReview; `BadRequest` says what is wrong with the body."""
    return _READER.read(body)


def write_converted(request: ConversionReview, objects: Sequence[JsonObject]) -> bytes:
    """Return the review that carries converted objects, in the order of the request."""
    return _ENCODER.encode(_Answer(_Response(request.uid, {"status": "Success"}, objects)))


def write_not_converted(request: ConversionReview, message: str) -> bytes:
    """Return the review that says why the objects are not converted."""
    result = {"status": "Failure", "message": message}
    return _ENCODER.encode(_Answer(_Response(request.uid, result)))


def conversion_problem(
    given: Sequence[JsonObject], converted: Sequence[JsonObject], api_version: str
) -> str:
    """Return what an API server would refuse about converted objects; empty if nothing."""
    if len(given) != len(converted):
        return f"{len(given)} objects were to be converted, {len(converted)} were returned"
    for place, (before, after) in enumerate(zip(given, converted, strict=True)):
        if after.get("apiVersion") != api_version:
            return f"object {place} is in {after.get('apiVersion')!r} instead of {api_version!r}"
        if after.get("kind") != before.get("kind"):
            return f"object {place} is of another kind than before"
        old, new = before.get("metadata") or {}, after.get("metadata") or {}
        if changed := [name for name in _KEPT if old.get(name) != new.get(name)]:
            return f"object {place} has another {', '.join(changed)} than before"
    return ""
