"""`certwright apply`, `diff`, `delete` and `tree` against a server that listens."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.component.cli.conftest import Ask, Done

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap, Secret
from certwright.testkit.builders import config_map, deployment, secret


def apply(cli: Callable[..., Any], path: str, *words: str) -> Done:
    value: Done = cli("apply", "-f", path, "-i", "app", *words)
    return value


def test_apply_then_nothing_then_a_change(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    path = write(config_map("a", {"k": "1"}), secret("s", {"password": "hunter2"}))
    done = apply(cli, path)
    assert done.code == 0
    assert done.rows("KIND") == [["Secret", "default/s", "created"], ["ConfigMap", "default/a", "created"]]  # fmt: skip
    assert "[2/2]" in done.err
    assert "2 created" in done.out
    again = apply(cli, path)
    assert "2 unchanged" in again.out
    write(config_map("a", {"k": "2"}), secret("s", {"password": "hunter3"}))
    compared = cli("diff", "-f", path, "-i", "app")
    assert compared.code == 1
    assert "data.k" in compared.out
    assert "hunter" not in compared.out + compared.err
    assert apply(cli, path).code == 0
    same = cli("diff", "-f", path, "-i", "app")
    assert (same.code, same.out) == (0, "nothing differs\n")


def test_prune_removes_what_is_gone_from_the_files_and_only_if_asked(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(config_map("a"), config_map("b"))
    apply(cli, path)
    write(config_map("a"))
    kept = apply(cli, path)
    assert ["ConfigMap", "default/b", "kept"] in kept.rows("KIND")
    compared = cli("diff", "-f", path, "-i", "app", "--prune")
    assert (compared.code, "default/b would be deleted" in compared.out) == (1, True)
    assert apply(cli, path, "--prune", "--dry-run").code == 0
    assert "b" in ask.names(ConfigMap)
    assert ["ConfigMap", "default/b", "deleted"] in apply(cli, path, "--prune").rows("KIND")
    assert "b" not in ask.names(ConfigMap)


def test_dry_run_changes_nothing_and_speaks_json(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(config_map("a"))
    done = apply(cli, path, "--dry-run", "-o", "json")
    assert [change["action"] for change in json.loads(done.out)["changes"]] == ["created"]
    assert ask.names(ConfigMap) == set()
    done = apply(cli, path, "-o", "yaml")
    assert yaml.safe_load(done.out)["summary"] == "1 created"


def test_losing_most_objects_at_once_needs_a_yes(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(*(config_map(f"c{n}") for n in range(12)))
    apply(cli, path)
    write(config_map("c0"))
    refused = apply(cli, path, "--prune")
    assert refused.code == 2
    assert "11 of the 12 objects in this inventory are to be deleted:\n" in refused.err
    assert refused.err.endswith("error: there is no terminal to ask on; add --yes if that is what you want\n")  # fmt: skip
    assert len(ask.names(ConfigMap, labels="!certwright.dev/inventory")) == 12
    assert apply(cli, path, "--prune", "--yes").code == 0
    assert ask.names(ConfigMap, labels="!certwright.dev/inventory") == {"c0"}


def test_delete_all_or_some(cli: Callable[..., Any], write: Callable[..., Any], ask: Ask) -> None:
    path = write(config_map("a"), config_map("b"), config_map("c"))
    apply(cli, path)
    some = write(config_map("b"), config_map("stranger"), name="some.yaml")
    done = cli("delete", "-i", "app", "-f", some)
    assert done.rows("KIND") == [["ConfigMap", "default/b", "deleted"]]
    assert cli("delete", "-i", "app", "--dry-run").code == 0
    assert ask.names(ConfigMap, labels="!certwright.dev/inventory") == {"a", "c"}
    assert cli("delete", "-i", "app").code == 0
    assert ask.names(ConfigMap) == set()


def test_what_does_not_go_is_named_with_what_holds_it(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/held"]
    apply(cli, write(held))
    done = cli("delete", "-i", "app", "--no-wait")
    assert done.code == 2
    assert "example.com/held" in done.out
    waited = cli("delete", "-i", "app", "--timeout", "300ms", "-o", "json")
    assert waited.code == 2
    assert json.loads(waited.out)["changes"][0]["action"] == "blocked"
    assert (
        "error: not gone after 0.3 s: ConfigMap default/a: held by finalizer example.com/held"
        in waited.err
    )
    ask.patch(ConfigMap, "a", {"metadata": {"finalizers": None}})
    assert cli("delete", "-i", "app").code == 0
    assert "a" not in ask.names(ConfigMap)


def test_waiting_ends_when_all_is_healthy(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    done = apply(cli, write(config_map("a")), "--wait")
    assert done.code == 0
    assert done.err.endswith("\nall objects are healthy\n")


def test_waiting_says_what_is_not_healthy(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    done = apply(cli, write(deployment("web")), "--wait", "--timeout", "300ms")
    assert done.code == 2
    assert '1 of 1: Deployment "default/web"' in done.err
    assert "error: not healthy after 0.3 s: Deployment" in done.err


def test_one_refusal_stops_no_other_and_is_an_error(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    bad = config_map("Bad_Name")
    done = apply(cli, write(bad, config_map("good")))
    assert done.code == 2
    assert ["ConfigMap", "default/Bad_Name", "failed"] in [row[:3] for row in done.rows("KIND")]
    assert "good" in ask.names(ConfigMap)


def test_another_inventorys_objects_are_refused_unless_taken(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    path = write(config_map("a"))
    apply(cli, path)
    refused = cli("apply", "-f", path, "-i", "other")
    assert refused.code == 2
    assert "default/app" in refused.out
    assert cli("apply", "-f", path, "-i", "other", "--take-over").code == 0


def test_what_is_there_already_is_adopted_unless_told_otherwise(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(config_map("a", {"k": "new"}))
    ask(lambda client: client.create({**config_map("a", {"k": "old"}, namespace="default")}))
    refused = apply(cli, path, "--no-adopt")
    assert refused.code == 2
    assert "it exists already and is not ours" in refused.out
    assert cli("diff", "-f", path, "-i", "app", "--no-adopt").code == 2
    assert apply(cli, path, "--force-conflicts").code == 0
    assert "1 unchanged" in apply(cli, path, "--no-adopt").out


def test_definitions_come_with_their_objects(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    group = "demo.example.com"
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "t"}}
    done = apply(cli, write(toy, crd), "-n", "default")
    assert done.code == 0, done.out
    assert ["Toy", "default/t", "created"] in done.rows("KIND")
    assert cli("delete", "-i", "app", "--delete-protected", "crds").code == 0


def test_the_tree_shows_what_is_owned_and_how_it_is(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(deployment("web"), config_map("a"))
    apply(cli, path)
    shown = cli("tree", "-i", "app")
    assert shown.code == 1
    assert "✓ ConfigMap default/a" in shown.out
    assert "✗ Deployment default/web" in shown.out
    assert cli("tree", "-f", path, "-o", "json").code == 1
    ask.delete(ConfigMap, "a")
    assert "✗ ConfigMap default/a  Required ConfigMap" in cli("tree", "-i", "app").out
    assert cli("tree").code == 2


def test_the_tree_shows_what_may_be_seen_and_names_the_rest(
    cli: Callable[..., Any], write: Callable[..., Any], as_reader_of: Callable[..., Any]
) -> None:
    path = write(config_map("a"), secret("s"))
    apply(cli, path)
    shown = cli("tree", "-i", "app", *as_reader_of("configmaps"))
    assert shown.code == 1
    assert "✓ ConfigMap default/a\n" in shown.out
    assert "✗ Secret default/s  Error executing health check" in shown.out
    assert "is forbidden" in shown.out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "document 1 (line 1): "),
        ("kind: ConfigMap", "no apiVersion; every object has one"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {}}", "no metadata.name"),
        ("{apiVersion: a/b/c, kind: X, metadata: {name: x}}", "not a kind"),
        ("# nothing", "no manifests found"),
    ],
)
def test_bad_input_is_named_and_nothing_is_applied(
    cli: Callable[..., Any], tmp_path: Path, ask: Ask, text: str, complaint: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"{text}\n", "utf-8")
    done = apply(cli, str(path))
    assert done.code == 2
    assert complaint in done.err
    assert "Traceback" not in done.err
    assert ask.names(ConfigMap) == set()


@pytest.fixture
def half(cli: Callable[..., Any], write: Callable[..., Any], tmp_path: Path) -> str:
    """Apply three objects, then spoil one document and take another one away; return the file."""
    path = write(config_map("a"), config_map("b"), config_map("c"))
    apply(cli, path)
    changed = json.dumps(config_map("a", {"k": "changed"}))
    nameless = "apiVersion: v1\nkind: ConfigMap"
    (tmp_path / "app.yaml").write_text(f"{changed}\n---\nkind: [\n---\n{nameless}\n", "utf-8")
    value: str = path
    return value


def test_the_good_part_of_the_input_is_applied_and_nothing_is_pruned(
    cli: Callable[..., Any], half: str, ask: Ask
) -> None:
    done = apply(cli, half, "--prune", "--yes")
    assert done.code == 2
    assert f"error: {half}: document 2 (line 3): " in done.err
    assert f"error: {half}: document 3 (line 5): no metadata.name" in done.err
    assert ["ConfigMap", "default/a", "configured"] in done.rows("KIND")
    assert "nothing is pruned while the input is in doubt: 2 documents cannot be used" in done.out
    assert ask.names(ConfigMap, labels="!certwright.dev/inventory") == {"a", "b", "c"}
    kept = cli("tree", "-i", "app")
    assert all(f"default/{name}" in kept.out for name in "abc")


def test_what_is_missing_in_half_an_input_is_not_said_to_be_unwanted(
    cli: Callable[..., Any], half: str
) -> None:
    done = apply(cli, half)
    assert "in doubt" in done.out
    assert "not wanted any more" not in done.out


@pytest.mark.parametrize("command", [["apply", "--dry-run"], ["diff"]])
def test_half_an_input_is_compared_and_is_an_error(
    cli: Callable[..., Any], half: str, ask: Ask, command: list[str]
) -> None:
    done = cli(*command, "-f", half, "-i", "app", "--prune", "-o", "json")
    assert done.code == 2
    found = json.loads(done.out)
    assert len(found["problems"]) == 2
    actions = {change["name"]: change["action"] for change in found["changes"]}
    assert actions == {"a": "configured", "b": "blocked", "c": "blocked"}
    assert done.err.count("error: ") == 2
    assert ask(lambda client: client.get(ConfigMap, Key("default", "a"))).get("data") is None


def test_half_an_input_deletes_what_it_names_and_the_rest_stays_listed(
    cli: Callable[..., Any], half: str, ask: Ask
) -> None:
    tried = cli("delete", "-f", half, "-i", "app", "--dry-run")
    assert (tried.code, "1 would be deleted" in tried.out) == (2, True)
    done = cli("delete", "-f", half, "-i", "app", "-o", "json")
    assert done.code == 2
    found = json.loads(done.out)
    assert [(change["name"], change["action"]) for change in found["changes"]] == [("a", "deleted")]
    assert len(found["problems"]) == 2
    assert f"error: {half}: document 2 (line 3): " in done.err
    assert ask.names(ConfigMap, labels="!certwright.dev/inventory") == {"b", "c"}
    kept = cli("tree", "-i", "app")
    assert all(f"default/{name}" in kept.out for name in "bc")


def test_input_of_which_nothing_can_be_used_does_not_mean_all(
    cli: Callable[..., Any], half: str, ask: Ask, tmp_path: Path
) -> None:
    (tmp_path / "app.yaml").write_text("kind: [", "utf-8")
    done = cli("delete", "-f", half, "-i", "app", "--yes")
    assert done.code == 2
    assert ask.names(ConfigMap, labels="!certwright.dev/inventory") == {"a", "b", "c"}


def test_who_is_asked_before_much_is_deleted_knows_what_was_not_read(
    cli: Callable[..., Any], write: Callable[..., Any], tmp_path: Path
) -> None:
    path = write(*(config_map(f"c{n}") for n in range(12)))
    apply(cli, path)
    with (tmp_path / "app.yaml").open("a", encoding="utf-8") as file:
        file.write("---\nkind: [\n")
    done = cli("delete", "-f", path, "-i", "app")
    assert done.code == 2
    assert done.err.startswith(
        "1 document cannot be used, so the objects in there stay\n12 of the 12 "
    )


@pytest.mark.parametrize("words", [(), ("-i", "app")])
def test_half_an_input_is_shown_and_is_an_error(
    cli: Callable[..., Any], half: str, words: tuple[str, ...]
) -> None:
    done = cli("tree", "-f", half, *words)
    assert (done.code, done.out) == (2, "✓ ConfigMap default/a\n")
    assert done.err.count(f"error: {half}: document ") == 2
    found = json.loads(cli("tree", "-f", half, *words, "-o", "json").out)
    assert [one["name"] for one in found["objects"]] == ["a"]
    assert len(found["problems"]) == 2


def test_the_tree_of_an_inventory_can_be_narrowed_to_files(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    apply(cli, write(config_map("a"), config_map("b")))
    some = write(config_map("b"), config_map("stranger"), name="some.yaml")
    assert cli("tree", "-i", "app", "-f", some).out == "✓ ConfigMap default/b\n"
    assert "✗ ConfigMap default/stranger" in cli("tree", "-f", some).out


@pytest.mark.parametrize(
    "metadata",
    ["{name: ''}", "{name: a/b}", '{name: "a\\nv1/Secret/x/y"}', "{name: a, namespace: 5}"],
)
def test_names_that_cannot_be_never_get_into_the_inventory(
    cli: Callable[..., Any], tmp_path: Path, ask: Ask, metadata: str
) -> None:
    path = tmp_path / "bad.yaml"
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: "
    path.write_text(f"{head}{{name: good}}\n---\n{head}{metadata}\n", "utf-8")
    done = apply(cli, str(path))
    assert done.code == 2
    assert f"error: {path}: document 2 (line 5): " in done.err
    assert cli("tree", "-i", "app").out == "✓ ConfigMap default/good\n"


def test_a_definition_that_is_none_is_refused_by_the_server_alone(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    metadata = {"name": "toys.example.com"}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    done = apply(cli, write({**head, "metadata": metadata, "spec": ["a"]}, config_map("a")))
    assert done.code == 2
    assert "1 created, 1 failed" in done.out


def test_closed_standard_input_is_an_empty_one(
    cli: Callable[..., Any], write: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(*(config_map(f"c{n}") for n in range(12)))
    monkeypatch.setattr(sys, "stdin", None)
    assert apply(cli, path).code == 0
    assert "no manifests found" in apply(cli, "-").err
    assert "there is no terminal to ask on" in cli("delete", "-i", "app").err


def test_names_and_times_that_are_none(cli: Callable[..., Any], write: Callable[..., Any]) -> None:
    path = write(config_map("a"))
    assert "error: --inventory Bad_Name: " in cli("apply", "-f", path, "-i", "Bad_Name").err
    assert "error: --inventory Bad_Name: " in cli("tree", "-i", "Bad_Name").err
    assert "error: --timeout: " in apply(cli, path, "--wait", "--timeout", "soon").err
    assert "write it like 30s" in apply(cli, path, "--wait", "--timeout", "0s").err
    missing = apply(cli, "nowhere.yaml")
    assert (missing.code, "No such file" in missing.err) == (2, True)


def test_places_that_do_not_exist_are_named_with_what_to_do(
    cli: Callable[..., Any], write: Callable[..., Any]
) -> None:
    path = write(config_map("a"))
    nowhere = apply(cli, path, "-n", "nowhere")
    assert nowhere.code == 2
    assert nowhere.err.endswith("create it with: kubectl create namespace nowhere\n")
    unknown = cli("tree", "-i", "unknown")
    assert unknown.code == 2
    assert (
        "inventory unknown in namespace default lists nothing; to see all inventories"
        in unknown.err
    )


def test_dry_runs_say_so(cli: Callable[..., Any], write: Callable[..., Any]) -> None:
    path = write(config_map("a"))
    tried = apply(cli, path, "--dry-run")
    assert "[1/1] ConfigMap default/a would be created" in tried.err
    assert tried.out.endswith("1 would be created (dry run: nothing was changed)\n")
    apply(cli, path)
    tried = cli("delete", "-i", "app", "--dry-run")
    assert "[1/1] ConfigMap default/a would be deleted" in tried.err
    assert tried.out.endswith("1 would be deleted (dry run: nothing was changed)\n")


def test_an_inventory_that_cannot_be_read_deletes_nothing(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(config_map("a"), config_map("b"))
    apply(cli, path)
    ask.patch(ConfigMap, "certwright-inventory-app", {"data": {"objects": "nonsense"}})
    write(config_map("a"))
    done = apply(cli, path, "--prune")
    assert done.code == 2
    assert "nothing was deleted. Restore the ConfigMap" in done.err
    assert {"a", "b"} <= ask.names(ConfigMap)
    assert "Restore the ConfigMap" in cli("tree", "-i", "app").err


def test_secrets_stay_masked_in_every_format(
    cli: Callable[..., Any], write: Callable[..., Any], ask: Ask
) -> None:
    path = write(secret("s", {"password": "hunter2"}))
    apply(cli, path)
    write(secret("s", {"password": "hunter3"}))
    for words in ((), ("-o", "json"), ("-o", "yaml")):
        shown = cli("diff", "-f", path, "-i", "app", *words)
        assert shown.code == 1
        assert "hunter" not in shown.out
        assert "aHVudGVy" not in shown.out
    assert ask.names(Secret) == {"s"}


CANARY = "canary-4711"


@pytest.mark.parametrize("command", ["diff", "apply"])
def test_no_command_shows_what_annotations_and_refusals_repeat(
    cli: Callable[..., Any], write: Callable[..., Any], command: str
) -> None:
    value = f'p&w"<{CANARY}>\n'
    copy = json.dumps(secret("s", {"password": value}))
    tools = ["kubectl.kubernetes.io/last-applied-configuration", "kapp.k14s.io/original"]
    path = write(secret("s", {"password": "other"}))
    apply(cli, path)
    write(secret("s", {"password": "other"}, annotations=dict.fromkeys(tools, copy)))
    for words in ((), ("-o", "json"), ("-o", "yaml")):
        shown = cli(command, "-f", path, "-i", "app", *words)
        assert CANARY not in shown.out + shown.err
    for bad in ({"password": [value]}, {"pass word": value}, value):
        write({**secret("t"), "stringData": bad})
        shown = cli(command, "-f", path, "-i", "app")
        assert shown.code == 2
        assert CANARY not in shown.out + shown.err


def test_no_command_shows_what_a_broken_file_holds(cli: Callable[..., Any], tmp_path: Any) -> None:
    path = tmp_path / "app.yaml"
    for text in (f"a: !!int {CANARY}", f"---{CANARY}", f'a: "{CANARY}', f"\t{CANARY}", CANARY):
        path.write_text(text, "utf-8")
        shown = cli("diff", "-f", str(path), "-i", "app")
        assert shown.code == 2
        assert CANARY not in shown.out + shown.err
