import copy

import pytest

from certwright.apiserver.builtins import served_kinds
from certwright.apiserver.writes.writes import restrict
from certwright.kube import JsonObject

DEPLOYMENT = next(kind for kind in served_kinds() if kind.resource.kind == "Deployment")


@pytest.mark.parametrize(
    ("subresource", "restored"), [("", "status"), ("status", "spec"), ("finalize", "status")]
)
def test_what_is_restored_is_not_shared_with_the_stored_object(
    subresource: str, restored: str
) -> None:
    old = {"metadata": {"name": "a"}, "spec": {"a": {"b": 1}}, "status": {"a": {"b": 1}}}
    before = copy.deepcopy(old)
    new: JsonObject = {
        "metadata": {"name": "a"},
        "spec": {"a": {"b": 2}},
        "status": {"a": {"b": 2}},
    }

    restrict(DEPLOYMENT, new, old, subresource)
    assert new[restored] == before[restored]
    new[restored]["a"]["default"] = 3

    assert old == before
