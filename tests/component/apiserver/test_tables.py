"""Tables: what ``kubectl get`` prints."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api, SetClock

from certwright.kube import JsonObject

TABLE = ("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")


def columns(table: JsonObject) -> list[str]:
    return [column["name"] for column in table["columnDefinitions"]]


def cells(table: JsonObject) -> list[list[int | str]]:
    return [row["cells"] for row in table["rows"]]


def test_columns_of_a_built_in_kind(
    api: Api, maps: str, config_map: Callable[..., Any], clock: SetClock
) -> None:
    api.create(maps, config_map("a", {"x": "1", "y": "2"}))
    clock.advance(125)

    table = api.get(maps, headers=[TABLE]).body

    assert columns(table) == ["Name", "Data", "Age"]
    assert cells(table) == [["a", 2, "2m5s"]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert table["metadata"]["resourceVersion"] == api.server.resource_version


def test_columns_of_a_custom_kind(
    api: Api, widgets: str, widget: Callable[..., Any], clock: SetClock
) -> None:
    api.create(widgets, widget("a", size=3))
    clock.advance(7200)

    table = api.get(widgets, headers=[TABLE]).body

    assert columns(table) == ["Name", "Size", "Age"]
    assert cells(table) == [["a", 3, "120m"]]


def test_one_object_is_a_table_of_one_row(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a"))

    assert cells(api.get(f"{maps}/a", headers=[TABLE]).body) == [["a", 0, "0s"]]


@pytest.mark.parametrize(
    ("include", "shown"),
    [("None", None), ("Metadata", "PartialObjectMetadata"), ("Object", "ConfigMap")],
)
def test_rows_hold_as_much_of_the_object_as_asked_for(
    api: Api, maps: str, config_map: Callable[..., Any], include: str, shown: str | None
) -> None:
    api.create(maps, config_map("a"))

    (row,) = api.get(maps, headers=[TABLE], includeObject=include).body["rows"]

    assert (row["object"] or {}).get("kind") == shown


async def test_a_watch_names_the_columns_once(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("a"))
    api.create(maps, config_map("b"))

    first, second = await api.events(maps, headers=[TABLE], until=bool)

    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None
    assert cells(second["object"]) == [["b", 0, "0s"]]


def test_pages_of_tables(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    for name in ("a", "b"):
        api.create(maps, config_map(name))

    table = api.get(maps, headers=[TABLE], limit=1).body

    assert table["metadata"]["remainingItemCount"] == 1
    assert table["metadata"]["continue"]
