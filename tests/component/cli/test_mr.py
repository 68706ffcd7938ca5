"""`certwright mr`, `gc` and `unique` against a server that listens."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.component.cli.conftest import Ask, Done

from certwright.api.managedresources import ManagedResource
from certwright.client import Client, until_served
from certwright.kube import JsonObject, Key, crd_manifest
from certwright.kube.kinds import ConfigMap, Secret
from certwright.testkit.builders import config_map, secret

MR = ManagedResource.resource


def managed(name: str, *secrets: str, **metadata: Any) -> JsonObject:
    return {
        "apiVersion": MR.api_version,
        "kind": MR.kind,
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"secretRefs": [{"name": one} for one in secrets]},
    }


def told(name: str, about: str, reason: str, message: str) -> JsonObject:
    """Return an Event about a ManagedResource."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {
            "apiVersion": MR.api_version,
            "kind": MR.kind,
            "namespace": "default",
            "name": about,
        },
        "reason": reason,
        "message": message,
        "type": "Normal",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


@pytest.fixture
def create(ask: Ask) -> Callable[..., Any]:
    def create(*objects: JsonObject) -> None:
        async def question(client: Client) -> None:
            for obj in objects:
                metadata = {"namespace": "default", **obj["metadata"]}
                await client.create({**obj, "metadata": metadata})

        ask(question)

    return create


@pytest.fixture
def installed(ask: Ask) -> None:
    async def question(client: Client) -> None:
        await client.apply(crd_manifest(ManagedResource))
        await until_served(client, crd_manifest(ManagedResource))

    ask(question)


@pytest.fixture
def web(installed: None, create: Callable[..., Any]) -> None:
    objects = [
        config_map("settings", {"color": "blue"}, namespace="default"),
        secret("keys", {"password": "hunter2"}, namespace="default"),
    ]
    create(secret("web", {"objects.yaml": yaml.safe_dump_all(objects)}), managed("web", "web"))


@pytest.mark.parametrize(
    "words",
    [("list",), ("explain", "web"), ("diff", "web"), ("force-delete", "web")],
    ids=lambda words: words[0],
)
def test_a_cluster_without_managed_resources_says_how_to_get_them(
    cli: Callable[..., Any], words: tuple[str, ...]
) -> None:
    done = cli("mr", *words)
    assert done.code == 2
    assert "certwright resource-manager --print-crds | kubectl apply -f -" in done.err


def test_list(cli: Callable[..., Any], web: None) -> None:
    done = cli("mr", "list")
    assert done.code == 0
    assert done.out.splitlines()[1].split()[:2] == ["web", "-"]
    assert cli("mr", "list", "-A").out.startswith("NAMESPACE")
    found = json.loads(cli("mr", "list", "-A", "-o", "json").out)
    assert found["items"][0]["kind"] == "ManagedResource"


def test_explain(cli: Callable[..., Any], web: None, create: Callable[..., Any]) -> None:
    done = cli("mr", "explain", "web")
    assert done.code == 0
    assert "none yet; check that a resource manager of its class is running" in done.out
    assert "✓ web: 2 objects under objects.yaml" in done.out
    create(managed("odd", "nowhere", "broken"), secret("broken", {"x.yaml": "a: ["}))
    odd = cli("mr", "explain", "odd")
    assert "✗ nowhere does not exist; create it, or take it out of spec.secretRefs" in odd.out
    assert "✗ broken, x.yaml: document 1 (line 1): " in odd.out


def test_explain_names_what_others_changed(
    cli: Callable[..., Any], web: None, create: Callable[..., Any]
) -> None:
    repaired = "Restored ConfigMap default/settings (data.color by kubectl-edit)"
    create(
        told("repaired", "web", "Repaired", repaired),
        told("other", "web", "QuestionableInput", "of no interest here"),
        told("of-another", "odd", "Repaired", "Restored what another one keeps"),
    )
    said = cli("mr", "explain", "web").out.partition("What others changed:\n")[2]
    assert said.splitlines()[0].endswith(f" ago: {repaired}")
    assert "of no interest" not in said
    assert "another one" not in said
    assert json.loads(cli("mr", "explain", "web", "-o", "json").out)["repairs"] == [repaired]


def test_explain_for_programs(cli: Callable[..., Any], web: None) -> None:
    found = json.loads(cli("mr", "explain", "web", "-o", "json").out)
    assert found["resource"]["metadata"]["name"] == "web"
    assert found["secrets"][0].startswith("✓ web: 2 objects")
    assert found["repairs"] == []
    assert yaml.safe_load(cli("mr", "explain", "web", "-o", "yaml").out)["secrets"]


def test_who_may_not_read_secrets_gets_the_rest_explained(
    cli: Callable[..., Any], web: None, as_reader_of: Callable[..., Any]
) -> None:
    done = cli("mr", "explain", "web", *as_reader_of("managedresources"))
    assert done.code == 0
    assert "none yet; check that a resource manager of its class is running" in done.out
    assert '? web: secrets "web" is forbidden' in done.out


@pytest.mark.parametrize(
    "words",
    [
        ("mr", "list", "-n", "a/b"),
        ("mr", "explain", "a/b"),
        ("mr", "diff", ""),
        ("mr", "force-delete", "../web", "-y"),
        ("gc", "-n", "a/b"),
        ("tree", "-i", "app", "-n", "a/b"),
        ("delete", "-i", "app", "-n", "A"),
    ],
    ids=" ".join,
)
def test_names_that_cannot_be_are_refused_in_one_line(
    cli: Callable[..., Any], words: tuple[str, ...]
) -> None:
    done = cli(*words)
    assert done.code == 2
    assert done.err.startswith(("error: namespace ", "error: ManagedResource "))
    assert "must consist of lower case" in done.err
    assert done.err.count("\n") == 1


def test_an_empty_namespace_is_said_to_be_empty(cli: Callable[..., Any], installed: None) -> None:
    done = cli("mr", "list", "-n", "nobody")
    assert (done.code, done.out) == (0, "")
    assert (
        done.err == "there are no ManagedResources in namespace nobody; -A lists all namespaces\n"
    )
    assert cli("mr", "list", "-A").err == "there are no ManagedResources in this cluster\n"
    assert json.loads(cli("mr", "list", "-o", "json").out)["items"] == []
    assert "choose another namespace with -n" in cli("mr", "explain", "web").err


@pytest.mark.parametrize("command", ["explain", "diff", "force-delete"])
def test_one_that_does_not_exist_leads_to_those_that_do(
    cli: Callable[..., Any], web: None, command: str
) -> None:
    done = cli("mr", command, "wbe")
    assert done.code == 2
    assert done.err == (
        "error: there is no ManagedResource wbe in namespace default; there are: web\n"
    )


def test_diff_against_a_target_of_its_own(
    cli: Callable[..., Any], web: None, listening: Path
) -> None:
    done = cli("mr", "diff", "web", "--target-kubeconfig", listening, "--cluster-id", "id")
    assert (done.code, "ConfigMap default/settings would be created" in done.out) == (1, True)
    assert cli("mr", "diff", "web", "--target-kubeconfig", "nowhere").code == 2


def test_diff_shows_what_a_pass_would_do_and_does_nothing(
    cli: Callable[..., Any], web: None, ask: Ask
) -> None:
    done = cli("mr", "diff", "web")
    assert done.code == 1
    assert "ConfigMap default/settings would be created" in done.out
    assert "Secret default/keys would be created" in done.out
    assert "hunter2" not in done.out
    assert ask.names(ConfigMap) == set()
    programs = json.loads(cli("mr", "diff", "web", "-o", "json").out)
    assert {change["action"] for change in programs["changes"]} == {"created"}


def test_diff_names_what_cannot_be_applied(
    cli: Callable[..., Any], installed: None, create: Callable[..., Any]
) -> None:
    create(managed("odd", "odd"), secret("odd", {"a.yaml": "a: [", "b.yaml": "kind: X"}))
    done = cli("mr", "diff", "odd")
    assert done.code == 2
    assert "error: Could not decode resource at index 0 in 'a.yaml'" in done.err


@pytest.fixture
def kept(installed: None, create: Callable[..., Any], ask: Ask) -> Any:
    """Have a ManagedResource that has kept so many ConfigMaps, of which some are there."""

    def kept(number: int, text: str = "", there: Sequence[str] = ()) -> None:
        create(managed("many", "many"), secret("many", {"a.yaml": text}))
        origin = {"resources.gardener.cloud/origin": "default/many"}
        create(*(config_map(name, annotations=origin) for name in there))
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default"}
        listed = [{**reference, "name": f"m{one}"} for one in range(number)]
        status = {"status": {"resources": listed, "conditions": []}}
        ask(lambda client: client.patch(MR, Key("default", "many"), status, subresource="status"))

    return kept


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., Path]:
    """Write a configuration of the resource manager; return its path."""

    def configured(**controllers: Any) -> Path:
        head = {
            "apiVersion": "resourcemanager.config.gardener.cloud/v1alpha1",
            "kind": "ResourceManagerConfiguration",
        }
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump({**head, "controllers": controllers}), "utf-8")
        return path

    return configured


def actions(done: Done) -> JsonObject:
    return {change["name"]: change["action"] for change in json.loads(done.out)["changes"]}


ALL = [f"m{number}" for number in range(12)]


def test_diff_tells_that_a_large_deletion_waits_to_be_confirmed(
    cli: Callable[..., Any], kept: Callable[..., Any], ask: Ask
) -> None:
    kept(12, there=ALL)
    told = "note: nothing is deleted before that is confirmed: 12 of 12 objects"
    held = cli("mr", "diff", "many", "-o", "json")
    assert (held.code, told in held.err) == (1, True)
    assert set(actions(held).values()) == {"blocked"}
    assert json.loads(held.out)["notes"] == [
        line.removeprefix("note: ") for line in held.err.splitlines()
    ]
    ask.patch(
        MR,
        "many",
        {"metadata": {"annotations": {"resources.certwright.dev/confirm-prune": "true"}}},
    )
    agreed = cli("mr", "diff", "many")
    assert told not in agreed.err
    assert "ConfigMap default/m0 would be deleted" in agreed.out


def test_diff_does_not_count_what_is_gone_anyway(
    cli: Callable[..., Any], kept: Callable[..., Any]
) -> None:
    kept(12, there=ALL[:3])
    done = cli("mr", "diff", "many")
    assert "nothing is deleted" not in done.err


def test_diff_says_what_it_assumes_of_the_resource_manager_or_takes_its_file(
    cli: Callable[..., Any], kept: Callable[..., Any], configured: Callable[..., Path]
) -> None:
    kept(12, there=ALL)
    assumed = "note: assumed of the resource manager: deleting more than 50 % of 10 or more objects"
    assert assumed in cli("mr", "diff", "many").err
    lenient = configured(managedResource={"pruneGuard": {"percent": 100}})
    done = cli("mr", "diff", "many", "--config", lenient)
    assert (done.code, done.err) == (1, "")
    assert "ConfigMap default/m0 would be deleted" in done.out
    strict = configured(managedResource={"pruneGuard": {"objects": 12, "percent": 99}})
    held = cli("mr", "diff", "many", "--config", strict)
    assert "which is more than 99 %" in held.err
    assert "assumed" not in held.err
    wrong = configured(managedResource={"pruneGuard": {"percent": "many"}})
    refused = cli("mr", "diff", "many", "--config", wrong)
    assert (refused.code, "pruneGuard.percent" in refused.err) == (2, True)


def test_diff_knows_the_limits_and_the_account_of_the_file(
    cli: Callable[..., Any], web: None, configured: Callable[..., Path]
) -> None:
    limits = {"allowedNamespaces": ["elsewhere"], "serviceAccountName": "applier"}
    done = cli("mr", "diff", "web", "--config", configured(managedResource=limits))
    assert "must not be touched by this resource manager" in done.err
    assert "acts as the ServiceAccount applier of its namespace" in done.err


def test_diff_leaves_collectable_objects_to_the_garbage_collector_that_runs(
    cli: Callable[..., Any], kept: Callable[..., Any], configured: Callable[..., Path], ask: Ask
) -> None:
    kept(1, there=["m0"])
    labels = {"resources.gardener.cloud/garbage-collectable-reference": "true"}
    ask.patch(ConfigMap, "m0", {"metadata": {"labels": labels}})
    assert actions(cli("mr", "diff", "many", "-o", "json")) == {"m0": "deleted"}
    collecting = configured(garbageCollector={"enabled": True})
    done = cli("mr", "diff", "many", "-o", "json", "--config", collecting)
    assert actions(done) == {"m0": "kept"}


def test_diff_knows_that_what_is_ignored_is_released_and_not_deleted(
    cli: Callable[..., Any], kept: Callable[..., Any]
) -> None:
    ignored = config_map("m0", namespace="default")
    ignored["metadata"]["annotations"] = {"resources.gardener.cloud/mode": "Ignore"}
    kept(1, yaml.safe_dump(ignored), there=["m0"])
    done = cli("mr", "diff", "many")
    assert done.out == "ConfigMap default/m0 kept: its mode is Ignore now: it is released\n"
    assert done.code == 0


def test_diff_deletes_nothing_while_the_input_is_in_doubt(
    cli: Callable[..., Any], kept: Callable[..., Any]
) -> None:
    kept(2, "a: [", there=["m0", "m1"])
    done = cli("mr", "diff", "many", "-o", "json")
    assert done.code == 2
    assert actions(done) == {"m0": "blocked", "m1": "blocked"}
    assert "while the input is in doubt" in done.out


def test_force_delete_asks_first_and_tells_what_holds(
    cli: Callable[..., Any], web: None, ask: Ask
) -> None:
    tried = cli("mr", "force-delete", "web", "--dry-run")
    assert (tried.code, "(dry run: nothing was changed)" in tried.out) == (0, True)
    refused = cli("mr", "force-delete", "web")
    assert refused.code == 2
    assert "keeps 0 objects" in refused.err
    assert ask.names(MR) == {"web"}
    assert "add --yes" in refused.err
    ask.patch(MR, "web", {"metadata": {"finalizers": ["example.com/held"]}})
    late = cli("mr", "force-delete", "web", "--yes", "--timeout", "300ms")
    assert late.code == 2
    assert "error: ManagedResource default/web is not gone after 0.3 s: " in late.err
    assert "finalizers: example.com/held" in late.err
    found = ask(lambda client: client.get(MR, Key("default", "web")))
    assert found["metadata"]["annotations"]["resources.certwright.dev/force-delete"] == "true"
    ask.patch(MR, "web", {"metadata": {"finalizers": None}})
    assert ask.names(MR) == set()


def test_gc_lists_then_deletes(
    cli: Callable[..., Any], create: Callable[..., Any], ask: Ask
) -> None:
    labels = {"resources.gardener.cloud/garbage-collectable-reference": "true"}
    create(config_map("old", labels=labels), secret("used", labels=labels), config_map("mine"))
    create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {
                "containers": [
                    {"name": "c", "image": "c", "envFrom": [{"secretRef": {"name": "used"}}]}
                ]
            },
        }
    )
    nothing = cli("gc", "-n", "nobody")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith("nothing to delete: ")
    words = ("gc", "--minimum-lifetime", "0s")
    dry = cli(*words, "--dry-run")
    assert dry.code == 0
    assert ["ConfigMap", "default/old", "collectable"] in dry.rows("KIND")
    assert "Pod default/p uses it" in dry.out
    assert "1 would be deleted" in dry.err
    assert ask.names(ConfigMap) == {"old", "mine"}
    tried = json.loads(cli(*words, "--dry-run", "-o", "json").out)
    assert (tried["dryRun"], tried["problems"]) == (True, [])
    assert tried["summary"].startswith("1 would be deleted")
    done = json.loads(cli(*words, "-o", "json").out)
    assert [one["deleted"] for one in done["objects"]] == [True, False]
    assert (done["dryRun"], done["summary"]) == (False, "1 deleted")
    assert ask.names(ConfigMap) == {"mine"}
    assert ask.names(Secret) == {"used"}
    assert "error: --minimum-lifetime: " in cli("gc", "--minimum-lifetime", "soon").err


def test_unique_is_a_filter(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump(config_map("a", {"k": "v"})), "utf-8")
    made = yaml.safe_load(cli("unique", "-f", path).out)
    assert made["metadata"]["name"].startswith("a-")
    assert json.loads(cli("unique", "-f", path, "-o", "json").out)["kind"] == "List"
    assert "yaml or json" in cli("unique", "-f", path, "-o", "table").err
