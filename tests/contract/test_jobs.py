"""What of a Job cannot be changed any more."""

import pytest
from tests.support.contract.transcript import Conversation, contract

from certwright.testkit.builders import job

JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
POLICY = {"rules": [{"succeededCount": 1}]}
CHANGES = {
    "another successPolicy": {"successPolicy": {"rules": [{"succeededCount": 2}]}},
    "no successPolicy": {"successPolicy": None},
    "another limit per index": {"backoffLimitPerIndex": 1},
}


@pytest.mark.parametrize("name", CHANGES)
@contract
async def test_changes_of_the_spec(api: Conversation, name: str) -> None:
    obj = job("once", completions=3)
    obj["spec"] |= {"completionMode": "Indexed", "successPolicy": POLICY, "suspend": True}
    obj["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    await api.post(JOBS, obj)
    quotes = name == "another successPolicy"  # the fields of which Go has other names for
    await api.merge(f"{JOBS}/once", {"spec": CHANGES[name]}, same_words=not quotes)
