"""`certwright apply` beside other field managers: conflicts are named, and forced only if asked."""

import json
from collections.abc import Callable
from typing import Any

from tests.component.cli.conftest import Ask

from certwright.apply.engine.declared import LAST_APPLIED
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

KEY = Key("default", "a")


def test_a_conflict_names_field_and_manager_and_stops_no_other(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(config_map("a", {"k": "1"}))
    cli("apply", "-f", path, "-i", "app")
    patch = {"data": {"k": "edited"}}
    ask(lambda client: client.patch(ConfigMap, KEY, patch, field_manager="kubectl-edit"))
    write(config_map("a", {"k": "2"}), config_map("b"))
    done = cli("apply", "-f", path, "-i", "app")
    assert done.code == 2
    assert ["ConfigMap", "default/b", "created"] in done.rows("KIND")
    assert "1 field is held by other managers: .data.k by kubectl-edit" in done.out
    assert done.out.endswith("1 created, 1 failed; other managers hold 1 field of 1 object\n")
    assert "to leave a field to its manager, remove it from the manifest" in done.err
    assert "--force-conflicts" in done.err
    told = json.loads(cli("diff", "-f", path, "-i", "app", "-o", "json").out)
    (held,) = [change["conflicts"] for change in told["changes"] if "conflicts" in change]
    assert held == [{"path": ".data.k", "manager": "kubectl-edit"}]
    assert ask(lambda client: client.get(ConfigMap, KEY))["data"] == {"k": "edited"}
    compared = cli("diff", "-f", path, "-i", "app")
    assert (compared.code, "--force-conflicts" in compared.err) == (2, True)
    assert cli("diff", "-f", path, "-i", "app", "--force-conflicts").code == 1
    forced = cli("apply", "-f", path, "-i", "app", "--force-conflicts")
    assert forced.code == 0
    assert ask(lambda client: client.get(ConfigMap, KEY))["data"] == {"k": "2"}
    assert "2 unchanged" in cli("apply", "-f", path, "-i", "app").out


def test_what_was_taken_over_can_move_to_another_inventory(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    """We hold no field in two ways: that would be a conflict with ourselves."""
    left = config_map("a", {"k": "1"}, namespace="default", annotations={LAST_APPLIED: "{}"})
    ask(lambda client: client.create(left, field_manager="kubectl-client-side-apply"))
    path = write(config_map("a", {"k": "2"}))
    assert cli("apply", "-f", path, "-i", "app").code == 0
    moved = cli("apply", "-f", path, "-i", "other", "--take-over")
    assert moved.code == 0, moved.out
    found = ask(lambda client: client.get(ConfigMap, KEY))
    assert found["metadata"]["annotations"] == {"certwright.dev/inventory": "default/other"}


def test_nothing_is_pruned_while_others_hold_fields(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(config_map("a", {"k": "1"}), config_map("b"))
    cli("apply", "-f", path, "-i", "app")
    patch = {"data": {"k": "edited"}}
    ask(lambda client: client.patch(ConfigMap, KEY, patch, field_manager="kubectl-edit"))
    write(config_map("a", {"k": "2"}))
    assert cli("apply", "-f", path, "-i", "app", "--prune").code == 2
    assert "b" in ask.names(ConfigMap)
