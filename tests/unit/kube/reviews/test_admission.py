"""AdmissionReview as bytes: what is read, what is refused, what is written."""

from typing import Any

import orjson
import pytest
from tests.support.webhook import admission, admission_body, config_map

from certwright.kube import BadRequest, GroupVersionKind, Key
from certwright.kube.reviews.admission import (
    AdmissionResponse,
    ReviewedResource,
    read_admission_review,
    write_admission_review,
)
from greeting import Greeting


def test_a_review_is_read() -> None:
    request = read_admission_review(admission_body(oldObject=config_map("old"), dryRun=True))
    assert request.kind == GroupVersionKind("", "v1", "ConfigMap")
    assert request.resource == ReviewedResource("", "v1", "configmaps")
    assert request.key == Key("default", "a")
    assert request.user_info.username == "jane"
    assert request.dry_run
    assert request.obj() == config_map()
    assert request.old() == config_map("old")
    assert request.options()["kind"] == "CreateOptions"


def test_objects_are_fresh_on_each_call() -> None:
    request = read_admission_review(admission_body())
    request.obj()["metadata"]["name"] = "changed"
    assert request.obj() == config_map()


def test_missing_objects_are_empty() -> None:
    request = read_admission_review(admission_body(object=None, operation="DELETE"))
    assert request.obj() == request.old() == {}


def test_typed_objects_are_read_or_refused() -> None:
    obj = {"apiVersion": "demo.certwright.dev/v1", "kind": "Greeting", "spec": {"count": 3}}
    obj["metadata"] = {"name": "a"}
    assert read_admission_review(admission_body(obj)).as_(Greeting).spec.count == 3
    obj["spec"] = {"count": "many"}
    with pytest.raises(BadRequest, match=r"Greeting cannot be read.*count"):
        read_admission_review(admission_body(obj)).as_(Greeting)


def with_(**changes: Any) -> bytes:
    return orjson.dumps(admission() | changes)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "cannot be read"),
        (b"<html>no</html>", "cannot be read"),
        (b"[]", "Expected `object`"),
        (b"{}", "the body is of kind ''"),
        (with_(kind="ConversionReview"), "AdmissionReview is served here"),
        (with_(apiVersion="admission.k8s.io/v1beta1"), "name only admission.k8s.io/v1"),
        (with_(request=None), "without a request"),
        (admission_body(uid=""), "no uid"),
        (admission_body(uid=5), "Expected `str`, got `int`"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "more than 200 levels deep"),
        (admission_body()[:-3], "cannot be read"),
    ],
)
def test_everything_else_is_refused_by_name(body: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as raised:
        read_admission_review(body)
    assert message in str(raised.value)


def test_only_what_is_said_is_written() -> None:
    answer = orjson.loads(write_admission_review(AdmissionResponse(uid="u", allowed=True)))
    assert answer == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True},
    }
    patched = AdmissionResponse(uid="u", allowed=True, patch=b"[]", patch_type="JSONPatch")
    assert orjson.loads(write_admission_review(patched))["response"]["patch"] == "W10="
