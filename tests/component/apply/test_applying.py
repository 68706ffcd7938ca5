"""What an apply does to a server: as little as possible, and nothing of others."""

import pytest

from certwright.apply import Action, Rules
from certwright.kube.kinds import ConfigMap, Deployment, Secret
from certwright.testkit.builders import config_map, deployment, secret


async def test_creates_then_leaves_alone(bench):
    changes = await bench.apply(config_map("a", {"k": "v"}), secret("s", {"p": "x"}))
    assert bench.told(changes) == {"ConfigMap/a": "created", "Secret/s": "created"}
    with bench.counted() as calls:
        changes = await bench.apply(config_map("a", {"k": "v"}), secret("s", {"p": "x"}))
    assert bench.told(changes) == {"ConfigMap/a": "unchanged", "Secret/s": "unchanged"}
    assert calls[0].writes == 0


async def test_a_restart_writes_nothing(bench):
    objects = [config_map("a", {"k": "v"}), secret("s", {"p": "x"}), deployment("d", replicas=2)]
    await bench.apply(*objects)
    bench.restart()
    with bench.counted() as calls:
        changes = await bench.apply(*objects)
    assert calls[0].writes == 0
    assert changes.entries[0].action is Action.UNCHANGED


async def test_what_is_no_longer_wanted_disappears_and_what_others_set_stays(bench):
    await bench.apply(config_map("a", {"old": "1", "kept": "2"}))
    await bench.cluster.patch(ConfigMap, "a", {"data": {"foreign": "3"}})
    changes = await bench.apply(config_map("a", {"kept": "2", "new": "4"}))
    assert bench.told(changes) == {"ConfigMap/a": "configured"}
    assert (await bench.cluster.get(ConfigMap, "a"))["data"] == {
        "kept": "2",
        "new": "4",
        "foreign": "3",
    }
    assert {c.path for c in changes.entries[0].diff.changes} == {"data.old", "data.new"}
