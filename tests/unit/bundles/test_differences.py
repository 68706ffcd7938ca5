from tests.support.bundles.small import definition, objects, small_bundle

from certwright.bundles.bundle import Bundle, make_bundle
from certwright.bundles.differences import compare_bundles


def test_nothing_differs() -> None:
    same = compare_bundles(small_bundle(), small_bundle())
    assert not same
    assert same.unchanged == 11


def test_objects_that_come_go_and_change() -> None:
    newer = [obj for obj in objects("v9.9.2") if obj["kind"] != "ValidatingWebhookConfiguration"]
    newer.append(definition("zones.example.com"))
    found = compare_bundles(small_bundle("v9.9.1"), make_bundle("v9.9.2", newer))
    assert [str(ref) for ref in found.added] == ["CustomResourceDefinition zones.example.com"]
    assert [str(ref) for ref in found.removed] == [
        "ValidatingWebhookConfiguration cert-manager-webhook"
    ]
    assert {str(ref): [change.path for change in diff.changes] for ref, diff in found.changed} == {
        f"Deployment cert-manager/{name}": [f"spec.template.spec.containers[name={name}].image"]
        for name in ("cert-manager", "cert-manager-cainjector", "cert-manager-webhook")
    }
    assert found.unchanged == 7


def test_another_version_of_a_group_is_the_same_object() -> None:
    older = [
        {**obj, "apiVersion": obj["apiVersion"].replace("apps/v1", "apps/v1beta1")}
        for obj in objects()
    ]
    found = compare_bundles(make_bundle("v9.9.0", older), small_bundle())
    assert not found.added
    assert not found.removed
    assert len(found.changed) == 3


def test_the_label_with_the_version_does_not_count() -> None:
    def labelled(version: str) -> Bundle:
        found = objects("v9.9.0")
        for obj in found:
            obj["metadata"]["labels"] = {"app.kubernetes.io/version": version, "app": "a"}
            if obj["kind"] == "Deployment":
                template = obj["spec"]["template"]["metadata"]
                template["labels"]["app.kubernetes.io/version"] = version
        return make_bundle(version, found)

    found = compare_bundles(labelled("v9.9.1"), labelled("v9.9.2"))
    assert not found
    assert found.unchanged == 11
