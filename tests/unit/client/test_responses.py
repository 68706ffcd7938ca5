"""Answers become objects, exceptions and warnings."""

from typing import Any, ClassVar

import msgspec
import orjson
import pytest

from certwright.client import BadResponse, Request, Response, WrongShape, request, responses
from certwright.client.responses import Decoders
from certwright.kube import (
    MERGE_PATCH,
    ApiError,
    Conflict,
    Invalid,
    Key,
    NotFound,
    Object,
    Resource,
    TooManyRequests,
)
from certwright.kube.kinds import ConfigMap, Secret

OPTIONS = request.WriteOptions("test")
ASKED = request.get(ConfigMap, Key("shop", "web"))


class Spec(msgspec.Struct):
    count: int


class Greeting(Object):
    resource: ClassVar = Resource("demo.certwright.dev", "v1", "Greeting", "greetings")
    spec: Spec


def refusal(code: int, *, headers: dict[str, str] | None = None, **status: Any) -> ApiError:
    body = orjson.dumps({"kind": "Status", "status": "Failure", "code": code, **status})
    return responses.to_error(Response(code, headers or {}, body))


def test_a_status_becomes_the_exception_of_its_reason() -> None:
    error = refusal(404, reason="NotFound", message='configmaps "web" not found')
    assert type(error) is NotFound
    assert str(error) == 'configmaps "web" not found'


def test_causes_name_the_fields() -> None:
    error = refusal(
        422,
        reason="Invalid",
        message="no",
        details={"causes": [{"field": "spec.x", "reason": "FieldValueRequired", "message": "m"}]},
    )
    assert type(error) is Invalid
    assert error.causes[0].field == "spec.x"


def test_a_conflict_is_told_from_a_name_that_is_taken() -> None:
    assert type(refusal(409, reason="Conflict")) is Conflict


def test_retry_after_comes_from_the_header_when_the_status_is_silent() -> None:
    error = refusal(429, headers={"retry-after": "7"})
    assert type(error) is TooManyRequests
    assert error.retry_after == 7


def test_a_text_answer_is_quoted_briefly() -> None:
    error = responses.to_error(Response(404, {}, b"404 page not found\n" + b"x" * 10_000))
    assert type(error) is NotFound
    assert str(error).startswith("the server answered 404: 404 page not found")
    assert len(str(error)) < 300


def test_a_web_page_is_not_quoted() -> None:
    headers = {"content-type": "text/html; charset=utf-8"}
    error = responses.to_error(Response(502, headers, b"<html>Bad gateway</html>"))
    assert str(error) == (
        "the server answered 502 with a web page; it comes from a "
        "proxy or load balancer in front of it"
    )


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"null"])
def test_a_refusal_without_a_status_is_still_a_refusal(body: bytes) -> None:
    error = responses.to_error(Response(418, {}, body))
    assert isinstance(error, ApiError)
    assert error.status_code == 418
    assert "418" in str(error)


def test_a_dict_gets_the_kind_that_lists_leave_out() -> None:
    obj = Decoders().read(ConfigMap, ASKED, b'{"metadata":{"name":"web"}}')
    assert obj == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}


def test_a_typed_object() -> None:
    found = Decoders().read(Greeting, ASKED, b'{"metadata":{"name":"hi"},"spec":{"count":3}}')
    assert isinstance(found, Greeting)
    assert (found.metadata.name, found.spec.count) == ("hi", 3)


def test_an_object_of_the_wrong_shape_is_named() -> None:
    body = b'{"metadata":{"namespace":"a","name":"hi"},"spec":{"count":"canary"}}'
    with pytest.raises(WrongShape) as caught:
        Decoders().read(Greeting, ASKED, body)
    assert str(caught.value) == (
        "Greeting a/hi does not fit Greeting: Expected `int`, got `str` - at `$.spec.count`; "
        "correct the object, or the class if the server's schema is newer"
    )


@pytest.mark.parametrize("kind", [ConfigMap, Greeting])
def test_truncated_json_is_named_and_not_quoted(kind: type[Greeting] | Resource) -> None:
    body = b'{"metadata":{"name":"canary"'
    with pytest.raises(BadResponse) as caught:
        Decoders().read(kind, ASKED, body)
    assert str(caught.value) == (
        "GET /api/v1/namespaces/shop/configmaps/web: the response (28 bytes) is not complete "
        "JSON; the server or a proxy cut it short"
    )


def test_json_that_is_no_object() -> None:
    with pytest.raises(BadResponse, match="the response is a JSON list, not an object"):
        Decoders().read(ConfigMap, ASKED, b"[]")


def test_a_page_keeps_its_items_as_bytes() -> None:
    body = b'{"metadata":{"resourceVersion":"7","continue":"t"},"items":[{"a":1},{"b":2}]}'
    page = responses.to_page(ASKED, body)
    assert [bytes(item) for item in page.items] == [b'{"a":1}', b'{"b":2}']
    assert page.metadata.resource_version == "7"
    assert page.metadata.continue_token == "t"


def test_an_empty_list_may_say_null() -> None:
    assert responses.to_page(ASKED, b'{"metadata":{},"items":null}').items == []


def test_a_page_that_is_cut_or_no_list() -> None:
    with pytest.raises(BadResponse, match="not complete JSON"):
        responses.to_page(ASKED, b'{"items":[{"a":')
    with pytest.raises(WrongShape, match="the response is not a list"):
        responses.to_page(ASKED, b'{"items":"x"}')


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        (None, []),
        ('299 - "unknown field \\"spec.x\\""', ['unknown field "spec.x"']),
        ('299 - "one", 299 - "two, with a comma"', ["one", "two, with a comma"]),
        ('199 - "not for us"', []),
        ("nonsense", []),
    ],
)
def test_warnings(header: str | None, texts: list[str]) -> None:
    headers = {} if header is None else {"warning": header}
    assert responses.warnings(headers) == texts


# Deep responses


def tower(levels: int) -> bytes:
    return b'{"f:x":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


def deep_map(levels: int, name: bytes = b"web") -> bytes:
    """Return an object that is deep in managedFields only."""
    return b'{"metadata":{"name":"%b","managedFields":[%b]},"data":{}}' % (name, tower(levels))


@pytest.mark.parametrize("levels", [201, 2_000, 50_000])
def test_deep_managed_fields_are_left_out(levels: int) -> None:
    given = Response(200, {}, deep_map(levels))
    shallow = responses.shallow(ASKED, given)
    assert orjson.loads(shallow.body) == {"metadata": {"name": "web"}, "data": {}}
    same = Response(200, {}, deep_map(100))
    assert responses.shallow(ASKED, same) is same


@pytest.mark.parametrize("body", [b'{"metadata":{"name":"web"},"data":%b}', b"%b", b'{"a":%b'])
def test_objects_that_are_too_deep_are_refused(body: bytes) -> None:
    with pytest.raises(BadResponse, match=r"^GET /api/v1/namespaces/shop/configmaps/web: the "):
        responses.shallow(ASKED, Response(200, {}, body % tower(2_000)))


def test_a_list_keeps_its_items_whatever_their_depth() -> None:
    asked = request.list_page(ConfigMap, request.EVERYWHERE)
    deep = b'{"metadata":{"namespace":"shop","name":"b"},"spec":%b}' % tower(5_000)
    body = b'{"metadata":{"resourceVersion":"7"},"items":[%b,%b]}' % (deep_map(5_000), deep)
    page = responses.to_page(asked, responses.shallow(asked, Response(200, {}, body)).body)
    assert page.metadata.resource_version == "7"
    first = responses.shallow_item(asked, page.items[0])
    assert orjson.loads(first) == {"metadata": {"name": "web"}, "data": {}}
    with pytest.raises(BadResponse, match="shop/b is nested more than 200 levels deep"):
        responses.shallow_item(asked, page.items[1])
    with pytest.raises(BadResponse, match="not complete JSON"):
        responses.to_page(asked, body[:-3])


def test_events_of_deep_objects_are_read() -> None:
    line = b'{"type":"ADDED","object":%b}'
    assert responses.to_event(line % deep_map(5_000)) == {
        "type": "ADDED",
        "object": {"metadata": {"name": "web"}, "data": {}},
    }
    deep = b'{"metadata":{"name":"b"},"spec":%b}' % tower(5_000)
    with pytest.raises(BadResponse, match="b is nested more than 200"):
        responses.to_event(line % deep)
    for broken in (b"{", line % tower(5_000), (line % deep)[:-1], b'{"object":%b}' % deep_map(900)):
        with pytest.raises(BadResponse):
            responses.to_event(broken)


def test_a_deep_refusal_is_cut_short() -> None:
    error = responses.to_error(Response(500, {}, tower(50_000)))
    assert len(str(error)) < 500


# Secrets


def test_values_of_a_secret_are_masked_in_its_refusal() -> None:
    value = 'canary&"4711"'
    quoted = 'canary\\u0026\\"4711\\"'
    body = {"metadata": {"name": "s", "namespace": "shop"}, "stringData": {"k": value}}
    asked = request.create(Secret, {"apiVersion": "v1", "kind": "Secret", **body}, OPTIONS)
    cause = {"field": "data", "reason": "FieldValueInvalid", "message": f"no: {quoted}"}
    told = {"message": f"Invalid value: {quoted}", "details": {"name": "s", "causes": [cause]}}
    error = responses.to_error(Response(422, {}, orjson.dumps(told)), asked)
    assert error.message == "Invalid value: ***"
    assert error.causes[0].message == "no: ***"
    assert error.details == {"name": "s"}
    assert responses.without_values(f"deprecated: {value}", asked) == "deprecated: ***"

    def patch(kind: Resource, value: str) -> Request:
        change = {"data": {"k": value}}
        return request.patch(kind, Key("shop", "s"), change, OPTIONS, content_type=MERGE_PATCH)

    patched = patch(Secret, "Y2FuYXJ5")
    told = {"message": "bad: canary"}
    assert responses.to_error(Response(422, {}, orjson.dumps(told)), patched).message == "bad: ***"
    other = patch(ConfigMap, "canary")
    told = {"message": "bad: canary"}
    assert responses.to_error(Response(422, {}, orjson.dumps(told)), other).message == "bad: canary"
