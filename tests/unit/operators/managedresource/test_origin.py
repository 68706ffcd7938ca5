import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import JsonObject, Key
from certwright.operators.managedresource.ownership import (
    Origin,
    needs_identity,
    owner_of,
    resolve_cluster_id,
)

ORIGIN = "resources.gardener.cloud/origin"
PART = st.text(st.characters(exclude_characters=":/", codec="ascii"), max_size=12)


@pytest.mark.parametrize(
    ("text", "cluster_id", "key"),
    [
        ("garden/mr", "", Key("garden", "mr")),
        ("id:garden/mr", "id", Key("garden", "mr")),
    ],
)
def test_reading_and_writing(text: str, cluster_id: str, key: Key) -> None:
    assert Origin.parse(text) == Origin(cluster_id, key)
    assert str(Origin(cluster_id, key)) == text


@pytest.mark.parametrize("text", ["id:foo", "id:foo:bar", "foo", "id/foo/bar", "a:b:c/d", ""])
def test_what_is_no_origin(text: str) -> None:
    with pytest.raises(ValueError, match="not of the form"):
        Origin.parse(text)


@given(cluster_id=PART, namespace=PART, name=PART)
def test_what_was_written_can_be_read(cluster_id: str, namespace: str, name: str) -> None:
    origin = Origin(cluster_id, Key(namespace, name))
    assert Origin.parse(str(origin)) == origin


@pytest.mark.parametrize(
    ("value", "ours", "owner"),
    [
        (None, "", None),
        ("nonsense", "", None),
        (7, "", None),
        ("a/b", "", Key("a", "b")),
        ("a/b", "id", None),
        ("id:a/b", "", None),
        ("other:a/b", "id", None),
        ("id:a/b", "id", Key("a", "b")),
    ],
)
def test_only_origins_with_our_cluster_id_lead_to_us(
    value: object, ours: str, owner: Key | None
) -> None:
    annotations = {} if value is None else {ORIGIN: value}
    assert owner_of(annotations, ours) == owner


IDENTITY = {"data": {"cluster-identity": "landscape-1"}}


@pytest.mark.parametrize(
    ("configured", "identity", "resolved"),
    [
        ("", None, ""),
        ("literal", None, "literal"),
        ("literal", IDENTITY, "literal"),
        ("<default>", None, ""),
        ("<default>", {"data": {"other": "x"}}, ""),
        ("<default>", {}, ""),
        ("<default>", IDENTITY, "landscape-1"),
        ("<cluster>", IDENTITY, "landscape-1"),
    ],
)
def test_cluster_ids(configured: str, identity: JsonObject | None, resolved: str) -> None:
    assert resolve_cluster_id(configured, identity) == resolved


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        (None, "does not exist"),
        ({"data": {"other": "x"}}, "has no key 'cluster-identity'"),
        ({"data": {"cluster-identity": ""}}, "has no key 'cluster-identity'"),
    ],
)
def test_a_required_cluster_id_that_is_not_there(identity: JsonObject | None, words: str) -> None:
    with pytest.raises(ValueError, match=f"kube-system/cluster-identity .*{words}"):
        resolve_cluster_id("<cluster>", identity)


@pytest.mark.parametrize(
    ("configured", "needed"),
    [("", False), ("x", False), ("<cluster>", True), ("<default>", True)],
)
def test_the_config_map_is_read_only_when_it_is_needed(configured: str, *, needed: bool) -> None:
    assert needs_identity(configured) is needed
