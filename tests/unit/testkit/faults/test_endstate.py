"""What counts as the same end of two runs."""

from typing import Any

from certwright.testkit.faults.endstate import differences, end_state


def config_map(name: str = "a", uid: str = "1", **more: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": f"uid-{uid}",
        "resourceVersion": "5",
        "generation": 3,
        "creationTimestamp": "2031-01-01T00:00:00Z",
        **more.pop("metadata", {}),
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def test_versions_uids_and_instants_do_not_matter() -> None:
    one = end_state([config_map(data={"at": "2031-01-01T00:00:00Z", "x": "1"})])
    other = config_map(uid="9", data={"at": "2032-02-02T10:00:00.123456Z", "x": "1"})
    other["metadata"] |= {"resourceVersion": "77", "managedFields": [{}], "generation": 8}
    assert end_state([other]) == one


def test_content_matters_and_is_named() -> None:
    expected = end_state([config_map(data={"x": "1"}), config_map("gone", "2")])
    actual = end_state([config_map(data={"x": "2"}), config_map("new", "3")])
    assert differences(expected, actual) == [
        "ConfigMap n/a.data.x: '2', expected '1'",
        "ConfigMap n/gone: missing, expected {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'gone', 'namespace': 'n'}}",
        "ConfigMap n/new: unexpected {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'new', 'namespace': 'n'}}",
    ]


def test_an_owner_reference_is_whom_it_points_at() -> None:
    def owned(owner_uid: str) -> dict[str, Any]:
        return config_map("child", "c", metadata={"ownerReferences": [{"uid": f"uid-{owner_uid}"}]})

    first = end_state([config_map("owner", "1"), owned("1")])
    assert end_state([config_map("owner", "2"), owned("2")]) == first
    dangling = end_state([config_map("owner", "2"), owned("1")])
    assert differences(first, dangling) == [
        "ConfigMap n/child.metadata.ownerReferences[0].uid: '<uid of nothing>', expected '<uid of ConfigMap n/owner>'"
    ]


def test_observed_generation_counts_by_its_distance() -> None:
    current = config_map(status={"observedGeneration": 3})
    also_current = config_map(status={"observedGeneration": 9}, metadata={"generation": 9})
    behind = config_map(status={"observedGeneration": 2})
    assert end_state([current]) == end_state([also_current])
    assert differences(end_state([current]), end_state([behind])) == [
        "ConfigMap n/a.status.observedGeneration: '<1 behind>', expected '<current>'"
    ]


def test_generated_names_are_compared_by_their_prefix_and_number() -> None:
    def generated(name: str, uid: str) -> dict[str, Any]:
        return config_map(name, uid, metadata={"generateName": "job-"})

    two = end_state([generated("job-x1", "1"), generated("job-x2", "2")])
    assert end_state([generated("job-z9", "8"), generated("job-q3", "9")]) == two
    assert len(differences(two, end_state([generated("job-a", "1")]))) == 1


def test_events_and_leases_tell_of_the_way_and_not_of_the_end() -> None:
    event = config_map("e", "7") | {"kind": "Event"}
    lease = config_map("l", "8") | {"kind": "Lease"}
    assert end_state([config_map(), event, lease]) == end_state([config_map()])


def test_declared_fields_may_differ_and_nothing_else() -> None:
    ignore = ["ConfigMap.data.token", "ConfigMap.status.*.at"]
    one = config_map(data={"token": "1"}, status={"a": {"at": 1, "n": 1}})
    other = config_map(data={"token": "2"}, status={"a": {"at": 2, "n": 2}})
    assert differences(end_state([one], ignore), end_state([other], ignore)) == [
        "ConfigMap n/a.status.a.n: 2, expected 1"
    ]


def test_what_may_differ_may_also_be_absent() -> None:
    ignore = ["ConfigMap.data.token"]
    one, other = config_map(data={"token": "1", "a": "b"}), config_map(data={"a": "b"})
    assert end_state([one], ignore) == end_state([other], ignore)
