import pytest

from certwright.apiserver.builtins.notation import definitions
from certwright.apiserver.patch.mismatch import type_mismatch
from certwright.kube import JsonObject

DEPLOYMENT = definitions()["io.k8s.api.apps.v1.Deployment"]


@pytest.mark.parametrize(
    ("patched", "why"),
    [
        ({"spec": {"replicas": 1, "paused": True}, "metadata": {"labels": {"a": "b"}}}, ""),
        ({"spec": None}, ""),
        ({"unknown": {"a": 1}}, ""),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": True}}}, "unrecognized type: string"),
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"spec": "x"}, "cannot restore struct from: string"),
        ({"spec": {"template": {"spec": {"containers": {}}}}}, "cannot restore slice from map"),
        (
            {"spec": {"template": {"spec": {"containers": [{"name": []}]}}}},
            "unrecognized type: string",
        ),
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "25%"}}}}, ""),
    ],
)
def test_the_first_value_that_does_not_fit_is_named(patched: JsonObject, why: str) -> None:
    assert type_mismatch(patched, DEPLOYMENT) == why
