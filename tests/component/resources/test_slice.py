"""From a Secret to healthy objects, and away again."""

import pytest

from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map


@pytest.mark.scenario("MR-1")
async def test_objects_of_a_secret_are_applied(keeping, healthy):
    await keeping.declare("web", config_map("b", {"n": "2"}), config_map("a", {"n": "1"}))
    calls = await keeping.settle()
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}
    assert await keeping.inventory("web") == ["ConfigMap/a", "ConfigMap/b"]
    assert await keeping.conditions("web") == healthy
    resource = await keeping.get("web")
    assert resource["status"]["observedGeneration"] == resource["metadata"]["generation"]
    assert (calls.writes, calls.reads) == (4, 0)
