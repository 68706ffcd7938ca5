"""What a webhook made of objects that it was to convert, checked as by kube-apiserver. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from certwright.apiserver.builtins.rules.checks import annotation_causes, label_causes
from certwright.apiserver.gotext import json_text, quoted, type_name
from certwright.apiserver.kinds.kind import ConversionWebhook
from certwright.kube.objects import JsonObject
from certwright.kube.reviews.conversion import KIND

_IDENTITY = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_WRITABLE = ("labels", "annotations")
"""The parts of the metadata that a conversion may change."""
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_GROUP: Final = "apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class ConversionRequest:
    """Objects that are to be converted to one version."""

    desired_api_version: str
    """The version wanted, such as ``example.com/v1``."""
    objects: tuple[JsonObject, ...]
    uid: str = ""
    """Which request this is; the answer repeats it. Given when it is sent."""
    review_version: str = "v1"
    """The version of the review itself: ``v1`` or ``v1beta1``."""

    @property
    def review(self) -> JsonObject:
        """The review that asks for the conversion, as yet without a uid."""
        return {
            "apiVersion": f"{_GROUP}/{self.review_version}",
            "kind": KIND,
            "request": {
                "desiredAPIVersion": self.desired_api_version,
                "objects": list(self.objects),
            },
        }


class ConversionFailed(Exception):
    """Objects could not be converted; the text is kube-apiserver's."""


class _BadMetadata(Exception):
    """The metadata of a converted object cannot be taken over."""


def conversion_request(
    webhook: ConversionWebhook, objects: Sequence[JsonObject], api_version: str
) -> ConversionRequest:
    """Return the request for objects in another version, as the webhook understands it."""
    known = [each for each in webhook.review_versions if each in _REVIEW_VERSIONS]
    if not known:
        raise ConversionFailed("no supported conversion review versions")
    return ConversionRequest(api_version, tuple(objects), review_version=known[0])


def failure(original: JsonObject, why: str) -> ConversionFailed:
    """Return that a webhook did not convert an object."""
    return ConversionFailed(f"conversion webhook for {_kind_of(original)} failed: {why}")


def converted_objects(request: ConversionRequest, review: JsonObject) -> list[JsonObject]:
    """Return the converted objects of an answer; `ConversionFailed` if it is not acceptable.

    Of the metadata, a conversion changes labels and annotations; the rest stays as it was.
    """
    originals = request.objects
    found = _response_objects(request, review)
    if len(found) != len(originals):
        raise ConversionFailed(
            f"conversion webhook for {_kind_of(originals[0])} returned {len(found)} objects, "
            f"expected {len(originals)}"
        )
    return [
        _checked(original, converted, request.desired_api_version)
        for original, converted in zip(originals, found, strict=True)
    ]


def _response_objects(request: ConversionRequest, review: JsonObject) -> list[Any]:
    first = request.objects[0]
    response = review.get("response")
    if why := _type_failure(review, request.review_version):
        raise failure(first, why)
    if not isinstance(response, dict):
        raise failure(first, "no response provided")
    uid = response.get("uid") or ""
    if request.review_version == "v1" and uid != request.uid:
        raise failure(first, f"expected response.uid={quoted(request.uid)}, got {quoted(uid)}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status") or ""
        said = result.get("message") or f"response.result.status was '{status}', not 'Success'"
        raise failure(first, said)
    return list(response.get("convertedObjects") or ())


def _type_failure(review: JsonObject, version: str) -> str:
    """Return why a document is no answer to a review of a version; empty if it is one."""
    api_version, kind = review.get("apiVersion") or "", review.get("kind") or ""
    wanted = f"{_GROUP}/{version}"
    if (api_version, kind) == (wanted, KIND):
        return ""
    if not api_version or not kind:
        expected = f"expected webhook response of {wanted}, Kind={KIND}"
        return f"{expected}, got {_kind_of(review)}" if version == "v1" else ""
    group, _, found = api_version.rpartition("/")
    if kind == KIND and group == _GROUP and found in _REVIEW_VERSIONS:
        types = f"({found}.{KIND}) to ({version}.{KIND})"
        return f"converting {types}: unknown conversion"
    known = f"no kind {quoted(kind)} is registered for version {quoted(api_version)}"
    return f'{known} in scheme "pkg/runtime/scheme.go:111"'


def _checked(original: JsonObject, converted: Any, api_version: str) -> JsonObject:
    if not isinstance(converted, dict) or not converted.get("kind"):
        raise ConversionFailed(f"Object 'Kind' is missing in '{json_text(converted)}'")
    which = f"conversion webhook for {_kind_of(original)} returned"
    found = converted.get("apiVersion") or ""
    if found != api_version:
        why = f"invalid groupVersion (expected {api_version}, received {found})"
        raise ConversionFailed(f"{which} invalid object at index 0: {why}")
    if converted["kind"] != original["kind"]:
        why = f"invalid kind (expected {original['kind']}, received {converted['kind']})"
        raise ConversionFailed(f"{which} invalid object at index 0: {why}")
    given = converted.get("metadata")
    before = original.get("metadata") or {}
    for field, called in _IDENTITY:
        was, now = before.get(field) or "", _text(given, field)
        if was != now:
            why = f"must have the same {called}: {was} != {now}"
            raise ConversionFailed(f"{which} invalid object: {why}")
    try:
        metadata = _restored(before, converted)
    except _BadMetadata as error:
        raise ConversionFailed(f"{which} invalid metadata: {error}") from None
    return {**converted, "metadata": metadata}


def with_metadata_of(converted: JsonObject, original: JsonObject) -> JsonObject:
    """Return a converted object with its own labels and annotations, and other metadata."""
    own = {field: converted["metadata"].get(field) for field in _WRITABLE}
    metadata = {**original["metadata"], **own}
    kept = {field: value for field, value in metadata.items() if value is not None}
    return {**converted, "metadata": kept}


def _text(metadata: Any, field: str) -> str:
    value = metadata.get(field) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""


def _restored(before: JsonObject, converted: JsonObject) -> JsonObject:
    """Return the metadata as it was, with the labels and annotations of the converted object."""
    if "metadata" not in converted:
        raise _BadMetadata("missing metadata in converted object")
    given = converted["metadata"]
    if not isinstance(given, dict):
        raise _BadMetadata(f"invalid metadata of type {type_name(given)} in converted object")
    metadata = {field: value for field, value in before.items() if field not in _WRITABLE}
    for field in _WRITABLE:
        if given.get(field) is not None:
            _check_texts(given[field], before.get(field) or {}, field)
            metadata[field] = given[field]
    return metadata


def _check_texts(given: Any, before: JsonObject, field: str) -> None:
    if not isinstance(given, dict):
        found = type_name(given)
        raise _BadMetadata(f"invalid metadata.{field} of type {found} in converted object")
    for key, value in given.items():
        if not isinstance(value, str):
            found = type_name(value)
            raise _BadMetadata(
                f"metadata.{field}[{key}] must be a string, but is {found} in converted object"
            )
    if given == before:
        return
    causes = (
        label_causes(given, "metadata.labels")
        if field == "labels"
        else annotation_causes(given, "metadata.annotation")
    )
    lines = [f"{cause.field}: {cause.message}" for cause in causes]
    if lines:
        raise _BadMetadata(lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]")


def _kind_of(obj: JsonObject) -> str:
    api_version = str(obj.get("apiVersion") or "")
    shown = api_version if "/" in api_version else f"/{api_version}"
    return f"{shown}, Kind={obj.get('kind') or ''}"
