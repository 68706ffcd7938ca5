from collections.abc import Sequence

from certwright.kube import Key, Resource
from certwright.kube.kinds import ConfigMap, Namespace, Secret
from certwright.runtime import Entry, mapped, select
from certwright.runtime.cache.entries import CachedOwner, Meta
from certwright.runtime.triggers import own, owned

Greeting = Resource("demo.certwright.dev", "v1", "Greeting", "greetings")


def entry(name: str = "a", owners: Sequence[CachedOwner] = ()) -> Entry:
    return Entry(Key("ns", name), Meta(owners=tuple(owners)), b"{}")


def owner(
    name: str,
    kind: str = "Greeting",
    api_version: str = "demo.certwright.dev/v1",
    *,
    controller: bool = True,
) -> CachedOwner:
    return CachedOwner(api_version, kind, name, "uid-" + name, controller)


def test_an_object_wakes_itself_once_per_change() -> None:
    trigger = own(Greeting)
    assert list(trigger.keys(entry(), entry())) == [Key("ns", "a")]
    assert list(trigger.keys(entry(), None)) == [Key("ns", "a")]


def test_an_owned_object_wakes_its_controller_whatever_version_it_names() -> None:
    trigger = owned(ConfigMap, Greeting)
    old_version = owner("hi", api_version="demo.certwright.dev/v1alpha1")
    assert list(trigger.keys(None, entry(owners=[old_version]))) == [Key("ns", "hi")]


def test_owners_of_other_kinds_groups_or_roles_are_left_alone() -> None:
    trigger = owned(ConfigMap, Greeting)
    strangers = [
        owner("a", kind="Other"),
        owner("b", api_version="elsewhere.dev/v1"),
        owner("c", controller=False),
    ]
    for stranger in strangers:
        assert list(trigger.keys(None, entry(owners=[stranger]))) == []


def test_a_change_of_owner_wakes_the_old_and_the_new_one() -> None:
    trigger = owned(ConfigMap, Greeting)
    keys = trigger.keys(entry(owners=[owner("old")]), entry(owners=[owner("new")]))
    assert set(keys) == {Key("ns", "old"), Key("ns", "new")}


def test_a_cluster_wide_owner_has_no_namespace() -> None:
    trigger = owned(ConfigMap, Namespace)
    keys = trigger.keys(None, entry(owners=[owner("prod", "Namespace", "v1")]))
    assert list(keys) == [Key("", "prod")]


def test_a_mapper_sees_both_sides_and_a_predicate_can_stop_it() -> None:
    trigger = mapped(Secret, lambda e: [Key("ns", e.key.name + "-user")])
    assert list(trigger.keys(entry("a"), entry("b"))) == [Key("ns", "b-user"), Key("ns", "a-user")]
    silent = mapped(Secret, lambda e: [e.key], lambda _old, _new: False)
    assert list(silent.keys(None, entry())) == []


def test_a_selection_carries_its_selectors() -> None:
    trigger = mapped(select(Secret, labels="app=x", namespace="prod"), lambda _: ())
    assert (trigger.watched.resource, trigger.watched.labels, trigger.watched.namespace) == (
        Secret,
        "app=x",
        "prod",
    )
