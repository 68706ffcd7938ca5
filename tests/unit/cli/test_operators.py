"""`certwright crds` and `rbac` with the operators of this package."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.sources import file_name
from certwright.cli.main import main
from certwright.cli.operators import NAMES, named_operators
from certwright.operators.certmanager.grants import operand_rules
from certwright.testkit.actors.certmanager import small_release

SMALL = "v1.21.2-small"
BUNDLE = make_bundle(SMALL, small_release(SMALL))


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[list[Any], str]:
        monkeypatch.setattr(sys, "argv", ["certwright", *words])
        with pytest.raises(SystemExit) as ending:
            main()
        assert not ending.value.code
        captured = capsys.readouterr()
        return list(yaml.safe_load_all(captured.out)), captured.err

    return run


def test_every_operator_has_a_name() -> None:
    assert tuple(named_operators()) == NAMES


def test_definitions(run: Callable[..., Any]) -> None:
    definitions, _ = run("crds", "managedresource", "certmanager")
    assert {one["metadata"]["name"] for one in definitions} >= {
        "managedresources.resources.gardener.cloud",
        "certmanagerdeployments.operators.redhat.io",
    }


def test_the_role_holds_what_is_granted_and_no_way_around(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    """Without it, the API server would refuse the roles of cert-manager."""
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / file_name(SMALL)).write_bytes(encode(BUNDLE))
    [role], said = run("rbac", "certmanager")
    assert said == ""
    rules = role["rules"]
    verbs = {verb for rule in rules for verb in rule["verbs"]}
    assert not verbs & {"escalate", "bind", "*"}
    wanted = operand_rules([BUNDLE])
    assert len(wanted) > 10
    everything = {rule.group for rule in wanted if rule.resource == "*"}
    assert {rule["apiGroups"][0] for rule in rules if "*" in rule["resources"]} == everything
    for rule in wanted:
        held = {
            verb
            for one in rules
            if (one["apiGroups"], one["resources"]) == ([rule.group], [rule.resource])
            and set(one.get("resourceNames") or rule.names) >= set(rule.names)
            for verb in one["verbs"]
        }
        assert held >= set(rule.verbs), rule


def test_without_bundles_it_says_what_is_missing(run: Callable[..., Any]) -> None:
    [role], said = run("rbac", "certmanager")
    assert "certwright bundle build" in said
    assert role["rules"]


@pytest.mark.parametrize("words", [(), ("--recreate-jobs",)])
def test_jobs_may_be_deleted_only_where_that_is_asked_for(
    run: Callable[..., Any], words: tuple[str, ...]
) -> None:
    [role], _ = run("rbac", "rollout", *words)
    verbs = {
        verb for rule in role["rules"] if "jobs" in rule["resources"] for verb in rule["verbs"]
    }
    more = {"delete", "get", "list", "patch", "watch"} if words else set[str]()
    assert verbs == {"create"} | more
