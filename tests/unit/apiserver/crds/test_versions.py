"""What a definition says about its versions: stored ones, conversion, deprecation."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from certwright.apiserver.crds import accept, prepare, served_kinds
from certwright.apiserver.crds.rules import validate
from certwright.kube import JsonObject

Json = dict[str, Any]

SCHEMA: Json = {"type": "object", "properties": {"spec": {"type": "string"}}}
NOW = "2030-01-02T03:04:05Z"
WEBHOOK: Json = {"clientConfig": {"url": "https://a/b"}, "conversionReviewVersions": ["v1"]}

UNREADABLE = "unable to load root certificates: unable to parse bytes as PEM block"


@pytest.fixture
def two(crd: Callable[..., Any]) -> Json:
    """A definition with v1, which is stored, and v2."""
    found: Json = crd(SCHEMA)
    first = found["spec"]["versions"][0]
    found["spec"]["versions"].append({**deepcopy(first), "name": "v2", "storage": False})
    accept(found, NOW)
    return found


def swap(definition: Json) -> Json:
    changed = deepcopy(definition)
    for version in changed["spec"]["versions"]:
        version["storage"] = not version["storage"]
    return changed


def causes(new: Json, old: Json | None = None) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in validate(new, old)]


def test_a_new_stored_version_is_added(two: Json) -> None:
    changed = swap(two)

    prepare(changed, two)

    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    assert causes(changed, two) == []


def test_a_stored_version_cannot_go(two: Json) -> None:
    changed = swap(two)
    del changed["spec"]["versions"][0]
    prepare(changed, two)

    ((field, message),) = causes(changed, two)

    assert field == "status.storedVersions[0]"
    assert message == (
        'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and '
        "must remain in spec.versions until a storage migration ensures no data remains persisted "
        "in v1 and removes v1 from status.storedVersions"
    )


def test_a_write_to_the_status_says_what_is_stored(two: Json) -> None:
    old = swap(two)
    old["status"]["storedVersions"] = ["v1", "v2"]
    new = deepcopy(old)
    new["status"]["storedVersions"] = ["v2"]

    prepare(new, old)

    assert new["status"]["storedVersions"] == ["v2"]
    assert causes(new, old) == []
    emptied = deepcopy(old)
    emptied["status"]["storedVersions"] = []
    prepare(emptied, old)
    assert emptied["status"]["storedVersions"] == ["v2"], "the default"


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        ({}, [("spec.conversion.strategy", "Required value")]),
        ({"strategy": "None", "webhook": WEBHOOK}, [
            ("spec.conversion.webhookClientConfig", "Forbidden: should not be set when strategy is not set to Webhook"),
            ("spec.conversion.conversionReviewVersions", "Forbidden: should not be set when strategy is not set to Webhook"),
        ]),
        ({"strategy": "Webhook"}, [
            ("spec.conversion.webhookClientConfig", "Required value: required when strategy is set to Webhook"),
            ("spec.conversion.conversionReviewVersions", "Required value"),
        ]),
        ({"strategy": "Webhook", "webhook": WEBHOOK}, []),
        ({"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {}}}, [
            ("spec.conversion.webhookClientConfig", "Required value: exactly one of url or service is required"),
        ]),
        ({"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {"url": "http://a?b#c"}}}, [
            ("spec.conversion.webhookClientConfig.url", 'Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]'),
            ("spec.conversion.webhookClientConfig.url", 'Invalid value: "c": fragments are not permitted in the URL'),
            ("spec.conversion.webhookClientConfig.url", 'Invalid value: "b": query parameters are not permitted in the URL'),
        ]),
        ({"strategy": "Webhook", "webhook": {**WEBHOOK, "clientConfig": {"service": {"name": "a", "namespace": "b", "port": 0, "path": "/a//b"}}}}, [
            ("spec.conversion.webhookClientConfig.service.port", "Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"),
            ("spec.conversion.webhookClientConfig.service.path", 'Invalid value: "/a//b": segment[1] may not be empty'),
        ]),
        ({"strategy": "Webhook", "webhook": {**WEBHOOK, "conversionReviewVersions": ["v2", "v2"]}}, [
            ("spec.conversion.conversionReviewVersions[1]", 'Invalid value: "v2": duplicate version'),
            ("spec.conversion.conversionReviewVersions", 'Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1'),
        ]),
    ],
)  # fmt: skip
def test_conversions(two: Json, conversion: Json, expected: list[tuple[str, str]]) -> None:
    two["spec"]["conversion"] = conversion

    assert causes(two) == expected


def test_a_broken_authority_keeps_a_kind_from_being_served(two: Json) -> None:
    del two["status"]["conditions"]
    broken = {**WEBHOOK, "clientConfig": {"url": "https://a/b", "caBundle": "bm8="}}
    two["spec"]["conversion"] = {"strategy": "Webhook", "webhook": broken}
    assert causes(two) == [], "not served yet"

    accept(two, NOW)

    (established,) = (c for c in two["status"]["conditions"] if c["type"] == "Established")
    assert (established["status"], established["reason"]) == ("False", "InvalidCABundle")


def test_a_served_kind_gets_no_broken_authority(two: Json) -> None:
    changed = deepcopy(two)
    broken = {**WEBHOOK, "clientConfig": {"url": "https://a/b", "caBundle": "bm8="}}
    changed["spec"]["conversion"] = {"strategy": "Webhook", "webhook": broken}

    assert causes(changed, two) == [
        (
            "spec.conversion.webhookClientConfig.caBundle",
            'Invalid value: "bm8=": ' + UNREADABLE,
        )
    ]
    assert causes(changed, changed) == [], "it has one already"


def warnings(definition: Json) -> dict[str, str]:
    return {kind.resource.version: kind.deprecation for kind in served_kinds(definition)}


def test_deprecated_versions_name_the_best_newer_one(crd: Callable[..., Any]) -> None:
    definition = crd(SCHEMA)
    (only,) = definition["spec"]["versions"]

    def version(name: str, **parts: Any) -> JsonObject:
        return {**only, "name": name, "storage": name == "v1", **parts}

    definition["spec"]["versions"] = [
        version("v1alpha1", deprecated=True),
        version("v1beta1"),
        version("v1"),
        version("v2", served=False),
        version("v3", deprecated=True, deprecationWarning="mind the gap"),
        version("v4", deprecated=True),
    ]

    assert warnings(definition) == {
        "v1alpha1": "x.dev/v1alpha1 Widget is deprecated; use x.dev/v1 Widget",
        "v1beta1": "",
        "v1": "",
        "v3": "mind the gap",
        "v4": "x.dev/v4 Widget is deprecated",
    }


def test_every_version_knows_all_others(two: Json) -> None:
    two["spec"]["versions"][1]["served"] = False

    (kind,) = served_kinds(two)

    assert list(kind.versions) == ["v1", "v2"]
    assert kind.versions["v1"] is kind
