"""Fields that a kind does not have."""

from collections.abc import Callable
from typing import Any

from tests.component.apiserver.conftest import Api


def test_by_default_they_are_dropped_with_a_warning(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    created = api.create(maps, {**config_map("a"), "bogus": 1})

    assert created.status == 201
    assert "bogus" not in created.body
    assert created.headers["warning"] == '299 - "unknown field \\"bogus\\""'


def test_strictly_they_are_refused(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    refusal = api.create(maps, {**config_map("a"), "bogus": 1}, fieldValidation="Strict")

    assert refusal.status == 400
    assert refusal.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "bogus"'
    )


def test_they_can_be_ignored(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    created = api.create(maps, {**config_map("a"), "bogus": 1}, fieldValidation="Ignore")

    assert created.status == 201
    assert "warning" not in created.headers


def test_fields_given_twice_are_noticed(api: Api, maps: str) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"x":"1","x":"2"}}'

    assert api.create(maps, body, fieldValidation="Strict").status == 400
    created = api.create(maps, body)
    assert created.body["data"] == {"x": "2"}
    assert 'duplicate field \\"data.x\\"' in created.headers["warning"]


def test_the_way_of_validation_must_be_known(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    assert api.create(maps, config_map("a"), fieldValidation="Loose").status == 422
