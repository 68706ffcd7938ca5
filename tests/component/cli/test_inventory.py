"""`certwright inventory`: which sets of objects there are."""

import json
from collections.abc import Callable
from typing import Any

from tests.component.cli.conftest import Ask

from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map, namespace


def test_inventories_of_one_namespace_and_of_all(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    ask(lambda client: client.create(namespace("shop")))
    empty = cli("inventory", "list")
    assert (empty.code, empty.out) == (0, "")
    assert empty.err == (
        "there are no inventories in namespace default; -A shows those of all namespaces\n"
    )
    cli("apply", "-f", write(config_map("a"), config_map("b")), "-i", "app")
    cli("apply", "-f", write(config_map("c")), "-i", "app", "-n", "shop")
    shown = cli("inventory", "list", "-A")
    assert shown.code == 0
    assert shown.rows("NAMESPACE") == [["default", "app", "2"], ["shop", "app", "1"]]
    head = shown.out.splitlines()[0].split("   ")
    assert [word.strip() for word in head if word.strip()] == [
        "NAMESPACE", "NAME", "OBJECTS", "WRITTEN BY", "CHANGED", "AGE",
    ]  # fmt: skip
    assert "certwright-cli" in shown.out
    (one,) = json.loads(cli("inventory", "list", "-n", "shop", "-o", "json").out)["inventories"]
    assert (one["namespace"], one["name"], one["objects"]) == ("shop", "app", 1)
    assert one["lastWriter"]["manager"] == "certwright-cli"


def test_a_damaged_inventory_hides_no_other(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    cli("apply", "-f", write(config_map("a")), "-i", "app")
    cli("apply", "-f", write(config_map("b")), "-i", "broken")
    ask.patch(ConfigMap, "certwright-inventory-broken", {"data": {"objects": "nonsense"}})
    shown = cli("inventory", "list")
    assert shown.code == 2
    assert shown.rows("NAMESPACE") == [["default", "app", "1"], ["default", "broken", "damaged"]]
    assert "error: default/broken: ConfigMap certwright-inventory-broken: 'nonsense'" in shown.err


def test_what_an_inventory_lists(cli: Callable[..., Any], write: Callable[..., Any]) -> None:
    cli("apply", "-f", write(config_map("b"), config_map("a")), "-i", "app")
    shown = cli("inventory", "show", "app")
    assert shown.rows("KIND") == [["ConfigMap", f"default/{name}", "v1"] for name in "ab"]
    told = json.loads(cli("inventory", "show", "app", "-o", "json").out)
    assert [one["name"] for one in told["objects"]] == ["a", "b"]
    missing = cli("inventory", "show", "unknown")
    assert missing.code == 2
    assert "inventory unknown in namespace default lists nothing" in missing.err
