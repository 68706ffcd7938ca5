"""Which changes in the target may be drift."""

import orjson

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.keep import SetState, SetStates, TargetStores
from certwright.keep.drift import Drift, could_be_drift, selects
from certwright.kube import Key
from certwright.kube.kinds import CustomResourceDefinition, Deployment
from certwright.runtime import Cache, Entry
from certwright.runtime.cache.decode import EntryDecoder

INTAKE = EntryDecoder(Deployment)


def entry(
    version: int = 1, *, generation: int = 1, status: object = None, **metadata: object
) -> Entry:
    whole = {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u",
            "resourceVersion": str(version),
            "generation": generation,
            **metadata,
        },
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": status,
    }
    return INTAKE.entry(orjson.dumps(whole))


def test_coming_and_going_may_be() -> None:
    assert could_be_drift(None, entry())
    assert could_be_drift(entry(), None)


def test_a_change_of_status_is_not() -> None:
    assert not could_be_drift(entry(1), entry(2, status={"replicas": 1}))


def test_a_change_of_the_spec_may_be() -> None:
    assert could_be_drift(entry(1), entry(2, generation=2))


def test_a_change_of_metadata_may_be() -> None:
    for changed in (
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"finalizers": ["a/b"]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "x"}]},
    ):
        assert could_be_drift(entry(1), entry(2, **changed)), changed


def test_kinds_without_generation_do_not_tell() -> None:
    assert could_be_drift(entry(1, generation=0), entry(2, generation=0))


def test_a_workload_selects_its_pods() -> None:
    ours = entry(labels={"app": "web", "more": "x"})
    assert selects(entry(), ours)
    assert not selects(entry(), entry(labels={"app": "other"}))


def test_who_waits_for_a_kind_is_told_of_the_status_of_definitions() -> None:
    client = Client(ApiServer().transport())
    woken: list[Key] = []
    states = SetStates(SetState)
    states.of(Key("shop", "web")).awaits_kinds = True
    drift = Drift(
        TargetStores(client, Cache(client), label="ours"),
        states,
        lambda _: None,
        repair=woken.append,
        judge=woken.append,
    )
    drift.changed(Deployment, entry(1), entry(2, status={"replicas": 1}))
    assert woken == []
    drift.changed(CustomResourceDefinition, entry(1), entry(2, status={"conditions": []}))
    assert woken == [Key("shop", "web")]
