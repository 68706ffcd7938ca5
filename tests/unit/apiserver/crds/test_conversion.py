"""What a webhook may make of objects."""

from typing import Any

import pytest
from tests.support.conversion import Review

from certwright.apiserver.crds.conversion import (
    ConversionFailed,
    ConversionRequest,
    conversion_request,
    converted_objects,
)
from certwright.apiserver.kinds.kind import ConversionWebhook
from certwright.kube import JsonObject

Json = dict[str, Any]

METADATA: Json = {
    "name": "a",
    "namespace": "n",
    "uid": "u-1",
    "generation": 3,
    "labels": {"x": "y"},
    "managedFields": [{"manager": "me"}],
}
ORIGINAL: Json = {"apiVersion": "example.com/v1", "kind": "Link", "metadata": METADATA, "spec": {}}
CONVERTED: Json = {**ORIGINAL, "apiVersion": "example.com/v2", "spec": {"host": "h"}}
REQUEST = ConversionRequest("example.com/v2", (ORIGINAL,), "1234")
ASKED = Review({**REQUEST.review, "request": {**REQUEST.review["request"], "uid": "1234"}})
WHO = "conversion webhook for example.com/v1, Kind=Link"


def with_(path: str, value: Any) -> JsonObject:
    """Return a good answer with one part changed."""
    answer: Any = ASKED.converted([{**CONVERTED, "metadata": dict(METADATA)}])
    *parents, last = path.split(".")
    node = answer
    for part in parents:
        node = node[int(part)] if part.isdigit() else node[part]
    node[last] = value
    found: JsonObject = answer
    return found


OBJECT = "response.convertedObjects.0"


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (ASKED.failed("no"), f"{WHO} failed: no"),
        (with_("response.result", {"status": "Failure"}), f"{WHO} failed: response.result.status was 'Failure', not 'Success'"),
        (with_("response.result", {}), f"{WHO} failed: response.result.status was '', not 'Success'"),
        (with_("response.uid", "1"), f'{WHO} failed: expected response.uid="1234", got "1"'),
        (with_("response", None), f"{WHO} failed: no response provided"),
        (with_("apiVersion", "apiextensions.k8s.io/v1beta1"), f"{WHO} failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"),
        (with_("kind", ""), f"{WHO} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind="),
        (with_("response.convertedObjects", []), f"{WHO} returned 0 objects, expected 1"),
        (with_("response.convertedObjects", [CONVERTED] * 2), f"{WHO} returned 2 objects, expected 1"),
        (with_("response.convertedObjects", ["x"]), "Object 'Kind' is missing in '\"x\"'"),
        (with_(f"{OBJECT}.apiVersion", "example.com/v1"), f"{WHO} returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)"),
        (with_(f"{OBJECT}.kind", "Other"), f"{WHO} returned invalid object at index 0: invalid kind (expected Link, received Other)"),
        (with_(f"{OBJECT}.metadata.name", "b"), f"{WHO} returned invalid object: must have the same name: a != b"),
        (with_(f"{OBJECT}.metadata.namespace", "m"), f"{WHO} returned invalid object: must have the same namespace: n != m"),
        (with_(f"{OBJECT}.metadata.uid", 5), f"{WHO} returned invalid object: must have the same UID: u-1 != "),
        (with_(f"{OBJECT}.metadata.labels", []), f"{WHO} returned invalid metadata: invalid metadata.labels of type []interface {{}} in converted object"),
        (with_(f"{OBJECT}.metadata.labels", {"x": 1}), f"{WHO} returned invalid metadata: metadata.labels[x] must be a string, but is int64 in converted object"),
        (with_(f"{OBJECT}.metadata.annotations", {"a b": ""}), f'{WHO} returned invalid metadata: metadata.annotation: Invalid value: "a b": name part'),
    ],
)  # fmt: skip
def test_answers_that_are_refused(review: JsonObject, message: str) -> None:
    with pytest.raises(ConversionFailed) as error:
        converted_objects(REQUEST, review)

    assert str(error.value).startswith(message)


def test_metadata_stays_but_for_labels_and_annotations() -> None:
    wild = {**METADATA, "generation": 9, "finalizers": ["a/b"], "labels": {"p": "q"}}
    del wild["managedFields"]

    (found,) = converted_objects(REQUEST, with_(f"{OBJECT}.metadata", wild))

    assert found == {**CONVERTED, "metadata": {**METADATA, "labels": {"p": "q"}}}


def test_objects_are_taken_in_their_order() -> None:
    names = ("a", "b")
    objects = [{**ORIGINAL, "metadata": {**METADATA, "name": name}} for name in names]
    request = ConversionRequest("example.com/v2", tuple(objects), "1234")
    converted = [{**obj, "apiVersion": "example.com/v2"} for obj in objects]

    assert converted_objects(request, ASKED.converted(converted)) == converted
    with pytest.raises(ConversionFailed, match="must have the same name: a != b"):
        converted_objects(request, ASKED.converted(converted[::-1]))


@pytest.mark.parametrize(
    ("understood", "sent"), [(["v1"], "v1"), (["v2", "v1beta1", "v1"], "v1beta1")]
)
def test_the_first_version_that_both_know_is_sent(understood: list[str], sent: str) -> None:
    webhook = ConversionWebhook("links.example.com", {}, tuple(understood))

    assert conversion_request(webhook, [ORIGINAL], "example.com/v2").review_version == sent


def test_without_a_version_that_both_know_nothing_is_sent() -> None:
    webhook = ConversionWebhook("links.example.com", {}, ("v2",))

    with pytest.raises(ConversionFailed, match="no supported conversion review versions"):
        conversion_request(webhook, [ORIGINAL], "example.com/v2")


def test_old_reviews_need_no_uid() -> None:
    old = ConversionRequest("example.com/v2", (ORIGINAL,), "1234", "v1beta1")
    answer = Review(old.review).converted([CONVERTED])

    assert converted_objects(old, answer) == [CONVERTED]
