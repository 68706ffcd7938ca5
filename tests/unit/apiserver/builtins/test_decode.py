import pytest

from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube import JsonObject
from certwright.kube.errors import BadRequest

PREFIX = 'Deployment in version "v1" cannot be handled as a Deployment: '


@pytest.fixture
def deployment(kinds: dict[str, ServedKind]) -> ServedKind:
    return kinds["deployments.apps"]


def test_unknown_fields_are_dropped_and_named(deployment: ServedKind) -> None:
    obj = {"foo": 1, "spec": {"template": {"spec": {"containers": [{"name": "c", "bar": {}}]}}}}

    unknown = deployment.decode(obj)

    assert unknown == ["foo", "spec.template.spec.containers[0].bar"]
    assert obj == {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}


def test_what_go_leaves_out_when_empty_is_left_out(deployment: ServedKind) -> None:
    obj = {
        "metadata": {"name": "x", "labels": {}, "annotations": None},
        "spec": {"replicas": 0, "paused": False, "minReadySeconds": 0, "strategy": {}},
    }

    deployment.decode(obj)

    # Replicas is a pointer: zero is not the same as absent.
    assert obj == {"metadata": {"name": "x"}, "spec": {"replicas": 0, "strategy": {}}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([], "json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        ({"replicas": "1"}, "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ({"replicas": 1.5}, "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ({"replicas": 3000000000}, "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ({"paused": "yes"}, "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool"),
        ({"template": {"spec": {"containers": {}}}}, "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container"),
        ({"template": {"spec": {"nodeSelector": {"a": 1}}}}, "json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.nodeSelector of type string"),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type_make_an_object_unreadable(
    deployment: ServedKind, spec: object, message: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        deployment.decode({"spec": spec})

    assert str(caught.value) == PREFIX + message


def test_quantities_are_made_canonical(kinds: dict[str, ServedKind]) -> None:
    requests = {"cpu": 0.5, "memory": "1024Mi"}
    pod = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}

    kinds["pods"].decode(pod)

    assert requests == {"cpu": "500m", "memory": "1Gi"}


def test_nulls_inside_maps_and_lists_are_zeros(kinds: dict[str, ServedKind]) -> None:
    limits: JsonObject = {"cpu": None}
    selector: JsonObject = {"a": None}
    pod: JsonObject = {
        "spec": {
            "nodeSelector": selector,
            "containers": [{"name": "c", "args": [None], "resources": {"limits": limits}}],
        }
    }

    kinds["pods"].decode(pod)

    assert limits == {"cpu": "0"}
    assert selector == {"a": ""}
    assert pod["spec"]["containers"][0]["args"] == [""]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("2024-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
        ("2024-01-01T00:00:00.1234567Z", 'cannot parse "7Z" as "Z07:00"'),
        ("soon", 'cannot parse "soon" as "2006"'),
    ],
)
def test_micro_times_have_six_decimals(
    kinds: dict[str, ServedKind], given: str, problem: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        kinds["leases.coordination.k8s.io"].decode({"spec": {"renewTime": given}})

    assert str(caught.value).endswith(problem)


def test_micro_times_are_written_in_utc(kinds: dict[str, ServedKind]) -> None:
    lease = {"spec": {"renewTime": "2024-01-01T02:00:00.123456+02:00"}}

    kinds["leases.coordination.k8s.io"].decode(lease)

    assert lease["spec"]["renewTime"] == "2024-01-01T00:00:00.123456Z"


def test_data_must_be_base64(kinds: dict[str, ServedKind]) -> None:
    with pytest.raises(BadRequest, match="illegal base64 data at input byte 1"):
        kinds["secrets"].decode({"data": {"a": "x%"}})


def test_nesting_is_bounded(kinds: dict[str, ServedKind]) -> None:
    deep: JsonObject = {}
    for _ in range(100_000):
        deep = {"not": deep}

    with pytest.raises(BadRequest, match="exceeded max depth"):
        kinds["customresourcedefinitions.apiextensions.k8s.io"].decode(deep)
    while deep:  # dismantled here, or the interpreter would recurse to free it
        deep = deep.pop("not")
