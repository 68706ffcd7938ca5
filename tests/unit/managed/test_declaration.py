"""What is declared becomes a ManagedResource and its Secrets."""

from typing import Any

from certwright.kube import JsonObject, Key
from certwright.managed import Declaration, KeepOptions, render, unpack
from certwright.managed.deploy import update_patch
from certwright.managed.references import references_in
from certwright.managed.unique import COLLECTABLE

KEY = Key("shop", "web")
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
PREFIX = "reference.resources.gardener.cloud/"


def test_a_plain_declaration_says_nothing_but_its_secrets() -> None:
    rendered = render(Declaration(key=KEY, objects=[OBJECT]))
    [secret] = rendered.secrets
    managed = rendered.managed_resource
    assert managed["spec"] == {"secretRefs": [{"name": secret["metadata"]["name"]}]}
    assert managed["metadata"]["namespace"] == "shop"
    assert {used.name for used in references_in(managed["metadata"]["annotations"])} == {
        secret["metadata"]["name"]
    }
    assert unpack([secret]) == [OBJECT]


def test_secrets_are_unique_immutable_and_collectable() -> None:
    declaration = Declaration(key=KEY, objects=[OBJECT], secret_labels={"a": "b"})
    [secret] = render(declaration).secrets
    assert secret["metadata"]["name"].startswith("managedresource-web-")
    assert secret["metadata"]["labels"] == {"a": "b", COLLECTABLE: "true"}
    assert secret["immutable"] is True
    [other] = render(Declaration(key=KEY, objects=[])).secrets
    assert other["metadata"]["name"] != secret["metadata"]["name"]


def test_every_option_has_its_field() -> None:
    options = KeepOptions(
        class_="seed",
        inject_labels={"a": "b"},
        keep_objects=True,
        force_overwrite_labels=True,
        force_overwrite_annotations=True,
        delete_persistent_volume_claims=True,
        equivalences=[[("extensions", "Deployment"), ("apps", "Deployment")]],
        depends_on=["db"],
        service_account_name="applier",
        suspend=True,
    )
    declaration = Declaration(
        key=KEY, objects=[], options=options, labels={"l": "1"}, annotations={"n": "2"}, origin="me"
    )
    managed = render(declaration).managed_resource
    assert managed["metadata"]["labels"] == {"l": "1", "origin": "me"}
    assert managed["metadata"]["annotations"]["n"] == "2"
    del managed["spec"]["secretRefs"]
    assert managed["spec"] == {
        "class": "seed",
        "injectLabels": {"a": "b"},
        "keepObjects": True,
        "forceOverwriteLabels": True,
        "forceOverwriteAnnotations": True,
        "deletePersistentVolumeClaims": True,
        "equivalences": [
            [{"group": "extensions", "kind": "Deployment"}, {"group": "apps", "kind": "Deployment"}]
        ],
        "dependsOn": [{"name": "db"}],
        "serviceAccountName": "applier",
        "suspend": True,
    }


def test_much_is_spread_over_several_secrets() -> None:
    objects = [
        {**OBJECT, "metadata": {"name": f"c{n}"}, "data": {"k": f"{n:x}" * 300}} for n in range(32)
    ]
    rendered = render(Declaration(key=KEY, objects=objects), most=150)
    assert len(rendered.secrets) > 1
    names = [secret["metadata"]["name"] for secret in rendered.secrets]
    assert rendered.managed_resource["spec"]["secretRefs"] == [{"name": name} for name in names]
    assert len({*names}) == len(names)


def managed(spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"metadata": {"resourceVersion": "7", **metadata}, "spec": spec}


def test_an_update_replaces_the_spec_and_keeps_the_metadata_of_others() -> None:
    current = managed(
        {"secretRefs": [{"name": "old"}], "injectLabels": {"gone": "x"}},
        labels={"theirs": "1", "ours": "old"},
        annotations={"theirs": "1", f"{PREFIX}secret-1": "old"},
    )
    wanted = managed(
        {"secretRefs": [{"name": "new"}], "injectLabels": {"a": "b"}},
        labels={"ours": "new"},
        annotations={f"{PREFIX}secret-2": "new"},
    )
    assert update_patch(current, wanted) == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {"ours": "new"},
            "annotations": {f"{PREFIX}secret-1": None, f"{PREFIX}secret-2": "new"},
        },
        "spec": {"secretRefs": [{"name": "new"}], "injectLabels": {"gone": None, "a": "b"}},
    }


def test_nothing_is_patched_when_nothing_changed() -> None:
    current = managed({"secretRefs": []}, labels={"theirs": "1"})
    assert update_patch(current, managed({"secretRefs": []})) is None


def test_contents_are_not_shown() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "c"},
        "data": {"k": "aHVudGVyMg=="},
    }
    declaration = Declaration(key=KEY, objects=[secret])
    rendered = render(declaration)
    assert "aHVudGVyMg" not in repr(declaration)
    assert rendered.secrets[0]["data"]["data.yaml.br"] not in repr(rendered)
