"""Entries whose objects are kept compressed show the same as others."""

import pytest

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import exact_json
from certwright.runtime import BadObject, Cache
from certwright.runtime.cache.compression import Compression
from certwright.runtime.cache.decode import EntryDecoder
from certwright.runtime.cache.entries import TOO_DEEP, Entry
from certwright.runtime.cache.store import Store
from certwright.testkit import EmbeddedCluster

COMPRESSION = Compression(
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"","namespace":'
)
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "settings",
        "namespace": "shop",
        "uid": "8f3c",
        "resourceVersion": "17",
        "annotations": {"note": "é"},
    },
    "data": {"colour": "green"},
}


def entry(raw: bytes) -> Entry:
    return EntryDecoder(ConfigMap, compression=COMPRESSION).entry(raw)


def test_all_that_is_read_is_as_it_was() -> None:
    found = entry(exact_json(OBJECT))
    plain = EntryDecoder(ConfigMap).entry(exact_json(OBJECT))
    assert (found.key, found.meta) == (Key("shop", "settings"), plain.meta)
    assert (found.uid, found.annotations, found.obj()) == ("8f3c", {"note": "é"}, OBJECT)
    assert found.json == plain.json == plain.raw
    assert len(found.raw) < len(plain.raw) / 1.5


def test_what_does_not_fit_is_named_as_ever() -> None:
    wrong = {**OBJECT, "metadata": {**OBJECT["metadata"], "annotations": 7}}  # type: ignore[dict-item]
    with pytest.raises(
        BadObject, match=r"ConfigMap shop/settings cannot be read: metadata\.annotations"
    ):
        _ = entry(exact_json(wrong)).annotations


def test_a_deep_object_is_known_by_its_metadata() -> None:
    deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    raw = exact_json(OBJECT)[:-1] + b',"more":' + deep + b"}"
    found = entry(raw)
    assert (found.key, found.uid, found.malformed) == (Key("shop", "settings"), "8f3c", TOO_DEEP)
    with pytest.raises(BadObject, match="nested too deeply"):
        found.obj()


def test_the_same_state_is_no_change() -> None:
    store = Store(EntryDecoder(ConfigMap, compression=COMPRESSION))
    changes: list[Key] = []
    store.listen(lambda _, new: changes.append(new.key) if new else None)
    for version in ("17", "18"):
        metadata = {**OBJECT["metadata"], "resourceVersion": version}  # type: ignore[dict-item]
        store.upsert(store.decoder.entry(exact_json({**OBJECT, "metadata": metadata})))
        store.upsert(store.decoder.entry(exact_json({**OBJECT, "metadata": metadata})))
    assert len(changes) == 2


async def test_views_with_and_without_are_two_stores(cluster: EmbeddedCluster) -> None:
    cache = Cache(cluster.client)
    plain = cache.store(ConfigMap)
    assert cache.store(ConfigMap, compression=COMPRESSION).store is not plain.store
    same = cache.store(ConfigMap, compression=Compression(COMPRESSION.dictionary))
    assert cache.store(ConfigMap, compression=COMPRESSION).store is same.store
