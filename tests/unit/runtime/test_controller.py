"""What can be declared, and what is refused."""

from datetime import timedelta
from typing import Any

import pytest

from certwright.kube import Object, Resource
from certwright.kube.kinds import ConfigMap, Secret
from certwright.runtime import DONE, Controller, allow, mapped, policy_rules, select


class Greeting(Object):
    resource = Resource("demo.certwright.dev", "v1", "Greeting", "greetings")


async def reconcile(_ctx: Any, _key: Any) -> Any:
    return DONE


@pytest.mark.parametrize(
    ("kind", "name"),
    [("Greeting", "greeting"), ("ConfigMap", "config-map"), ("HTTPRoute", "http-route")],
)
def test_a_controller_is_called_after_its_kind(kind: str, name: str) -> None:
    resource = Resource("demo", "v1", kind, "things")
    assert Controller(resource, reconcile).name == name


def test_every_declared_kind_gets_a_store() -> None:
    controller = Controller(
        Greeting,
        reconcile,
        owns=[ConfigMap],
        watches=[mapped(select(Secret, labels="a=b"), lambda _: ())],
        reads=[select(ConfigMap)],
    )
    assert {watched.resource for watched in controller.watched} == {
        Greeting.resource,
        ConfigMap,
        Secret,
    }


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "Not Kebab"}, "kebab-case"),
        ({"workers": 0}, "at least 1"),
        ({"deadline": timedelta()}, "positive"),
        ({"resync": timedelta(seconds=-1)}, "positive"),
        ({"owns": [ConfigMap], "reads": [select(ConfigMap, labels="a=b")]}, "two different"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_declared(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Controller(Greeting, reconcile, **wrong)


def test_rules_follow_from_the_declaration() -> None:
    controller = Controller(
        Greeting, reconcile, owns=[ConfigMap], reads=[Secret], rbac=[allow(Secret, "create")]
    )
    rules = {
        (rule["apiGroups"][0], rule["resources"][0]): rule["verbs"]
        for rule in policy_rules([controller])
    }
    assert rules == {
        ("", "configmaps"): ["create", "delete", "get", "list", "patch", "watch"],
        ("", "secrets"): ["create", "get", "list", "watch"],
        ("coordination.k8s.io", "leases"): ["create", "get", "patch"],
        ("demo.certwright.dev", "greetings"): ["get", "list", "patch", "watch"],
        ("demo.certwright.dev", "greetings/finalizers"): ["update"],
        ("demo.certwright.dev", "greetings/status"): ["patch"],
        ("events.k8s.io", "events"): ["create", "patch"],
    }
