"""Objects in other versions, where the definition of their kind names a webhook for it.

Each request has its objects converted anew, as by kube-apiserver. A request that needs several (a
list) asks for all in one review.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import orjson

from certwright.apiserver.crds.conversion import (
    ConversionFailed,
    conversion_request,
    converted_objects,
    failure,
    with_metadata_of,
)
from certwright.apiserver.fields.otherversions import OtherVersions, Unconvertible
from certwright.apiserver.kinds.kind import ServedKind, needs_webhook
from certwright.apiserver.refusals import Failed
from certwright.apiserver.storage.storage import StoredRecord
from certwright.apiserver.storage.versions import as_defined
from certwright.apiserver.webhooks.reviews import ReviewCall, ReviewLog
from certwright.kube.objects import JsonObject, exact_json

_SECONDS: Final = 30
_TOLD: Final = ("namespace", "labels", "annotations")
"""The metadata that a conversion may depend on, besides the name: the rest may be another when a
request is handed in again."""


def shown(
    records: Sequence[StoredRecord], kind: ServedKind, reviews: ReviewLog
) -> list[StoredRecord]:
    """Return records that can be read as *kind*: a webhook converts those of other versions.

    Raises:
        ReviewsNeeded: the webhook has not been called yet.
        Failed: it did not convert them.
    """
    foreign = {
        index: record
        for index, record in enumerate(records)
        if needs_webhook(kind, record.kind) and not record.is_shown_as(kind)
    }
    if not foreign:
        return list(records)
    objects = [as_defined(record, kind) for record in foreign.values()]
    for index, obj in zip(list(foreign), convert(objects, kind, reviews), strict=True):
        foreign[index] = foreign[index].shown_as(kind, obj)
    return [foreign.get(index, record) for index, record in enumerate(records)]


def convert(
    objects: Sequence[JsonObject], kind: ServedKind, reviews: ReviewLog
) -> list[JsonObject]:
    """Return objects, of other versions of a kind, as its webhook converts them to *kind*.

    Raises:
        ReviewsNeeded: the webhook has not been called yet.
        Failed: it did not convert them.
    """
    return [_shaped(obj, kind) for obj in _converted(objects, kind, reviews)]


def _converted(
    objects: Sequence[JsonObject], kind: ServedKind, reviews: ReviewLog
) -> list[JsonObject]:
    """Return objects as the webhook converts them, with whatever it adds."""
    assert kind.conversion is not None
    given, objects = objects, [_unnumbered(obj) for obj in objects]
    version = kind.resource.api_version
    key = ("conversion", version, *(_told(obj) for obj in objects))
    try:
        request = conversion_request(kind.conversion, objects, version)
        # What was sent the first time, which may have had another uid.
        request = reviews.once(key, lambda: request)
        call = ReviewCall(kind.conversion.client_config, request.review, _SECONDS)
        answer = reviews.answer(key, call)
        if answer.failure:
            raise failure(objects[0], answer.failure)
        converted = converted_objects(replace(request, uid=answer.uid), answer.document)
    except ConversionFailed as error:
        raise Failed(str(error)) from None
    pairs = zip(converted, given, strict=True)
    return [with_metadata_of(made, original) for made, original in pairs]


def other_versions(kind: ServedKind, reviews: Callable[[], ReviewLog]) -> OtherVersions:
    """Return the versions of a kind in which objects have owners, where a webhook converts them."""
    by_name = {each.resource.api_version: each for each in kind.versions.values()}

    def convert_to(obj: JsonObject, api_version: str) -> JsonObject:
        wanted = by_name[api_version]
        if "metadata" not in obj:  # what a new object starts from
            return {**obj, "apiVersion": api_version}
        try:
            return _converted([obj], wanted, reviews())[0]
        except Failed as error:
            raise Unconvertible(error.message) from None

    return OtherVersions({name: each.schema for name, each in by_name.items()}, convert_to)


def _told(obj: JsonObject) -> bytes:
    """Return what makes the conversion of an object another one."""
    metadata = obj["metadata"]
    told = {field: metadata.get(field) for field in _TOLD}
    if "generateName" not in metadata:
        told["name"] = metadata.get("name")
    return orjson.dumps({**obj, "metadata": told}, option=orjson.OPT_SORT_KEYS)


def _unnumbered(obj: JsonObject) -> JsonObject:
    """Return an object as it is stored: the storage gives it its version."""
    metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    return {**obj, "metadata": metadata}


def _shaped(obj: JsonObject, kind: ServedKind) -> JsonObject:
    """Return a copy in the shape of the version."""
    copied: JsonObject = orjson.loads(exact_json(obj))
    kind.decode(copied)
    return copied
