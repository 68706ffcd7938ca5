"""Controllers with well-known mistakes: torture must find them, and show them again."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import ConfigMap, Secret
from certwright.runtime import DONE, Context, Controller, Outcome
from certwright.testkit import (
    EmbeddedCluster,
    SimulationFailed,
    break_each_watch,
    crash_after_every_write,
    simulate,
    stale_restart,
    survives,
)
from certwright.testkit.builders import config_map, secret
from certwright.testkit.faults.faults import At, Meddle
from certwright.testkit.faults.simulation import Play, run, storm


async def one_secret(cluster: EmbeddedCluster) -> None:
    await cluster.create(secret("s", {"k": "v"}))
    await cluster.settle()
    await cluster.patch(Secret, "s", {"metadata": {"labels": {"touched": "yes"}}})
    await cluster.settle()


def copy_of(source: JsonObject, name: str) -> JsonObject:
    return config_map(name, {"of": "s"}, namespace=source["metadata"]["namespace"])


async def mark_first_then_work(ctx: Context, key: Key) -> Outcome:
    """Says it is done before it is."""
    source = ctx.get(Secret, key)
    if source is None or "done" in source["metadata"].get("annotations", {}):
        return DONE
    patch: JsonObject = {"metadata": {"annotations": {"done": "yes"}}}
    await ctx.client.patch(Secret, key, patch)
    await ctx.apply(copy_of(source, "copy"), owner=source)
    return DONE


async def create_when_not_seen(ctx: Context, key: Key) -> Outcome:
    """Takes what it does not see for what is not there."""
    source = ctx.get(Secret, key)
    if source is not None and not ctx.owned(ConfigMap, source):
        copy = copy_of(source, "")
        copy["metadata"] |= {"generateName": "copy-", "ownerReferences": [_owner(source)]}
        del copy["metadata"]["name"]
        await ctx.client.create(copy)
    return DONE


async def sweep(ctx: Context, key: Key) -> Outcome:
    """Deletes by name what may be another object by now."""
    source = ctx.get(Secret, key)
    if source is None:
        return DONE
    for extra in ctx.list(ConfigMap, key.namespace, labels="litter"):
        with contextlib.suppress(NotFound):
            await ctx.client.delete(ConfigMap, Key(key.namespace, extra["metadata"]["name"]))
    await ctx.apply(copy_of(source, "copy"), owner=source)
    return DONE


def _owner(source: JsonObject) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": source["metadata"]["uid"]}


FORGETFUL = Controller(Secret, mark_first_then_work, owns=[ConfigMap])
SWEEPER = Controller(Secret, sweep, owns=[ConfigMap])
BLIND = Controller(Secret, create_when_not_seen, owns=[ConfigMap])


def test_a_crash_between_two_writes_that_belong_together() -> None:
    with pytest.raises(SimulationFailed) as failed:
        survives(one_secret, FORGETFUL, crash_after_every_write)
    message = str(failed.value)
    assert "after Crash(answered=False, behind=0, hold_seconds=5.0) at write 1" in message
    assert "ConfigMap default/copy: missing" in message
    assert "--certwright-replay=crash_after_every_write/1@" in message


def test_a_child_made_twice_because_the_first_was_not_seen() -> None:
    survives(one_secret, BLIND, crash_after_every_write)
    with pytest.raises(SimulationFailed, match=r"ConfigMap default/copy-\*\+: unexpected"):
        survives(one_secret, BLIND, stale_restart)


def test_a_deletion_without_preconditions_on_an_old_state() -> None:
    async def litter(cluster: EmbeddedCluster) -> None:
        await cluster.create(secret("s", {"k": "v"}))
        for name in ("paper", "peel"):
            await cluster.create(config_map(name, labels={"litter": ""}))
        await cluster.settle()

    with pytest.raises(SimulationFailed, match="on an old state and unconditionally"):
        survives(litter, SWEEPER, stale_restart)


async def keep_a_copy(ctx: Context, key: Key) -> Outcome:
    """Makes no mistake."""
    source = ctx.get(Secret, key)
    if source is not None:
        await ctx.apply(copy_of(source, "copy"), owner=source)
    return DONE


def test_what_another_client_adds_and_is_not_undone() -> None:
    async def scenario(cluster: EmbeddedCluster) -> None:
        await one_secret(cluster)
        await cluster.advance(minutes=15)  # watches are opened anew

    async def add(cluster: EmbeddedCluster) -> None:
        with contextlib.suppress(NotFound):
            await cluster.patch(ConfigMap, "copy", {"data": {"theirs": "1"}})

    play = Play(scenario, (Controller(Secret, keep_a_copy, owns=[ConfigMap]),), meddle=add)
    calm = run(play)
    plans = [At(requests={number: Meddle()}) for number in range(1, calm.requests + 1)]
    found = [wrong for plan in plans for wrong in run(play, plan).differences_from(calm)]
    assert "ConfigMap default/copy.data.theirs: unexpected '1'" in found


def test_a_fault_may_cost_as_many_writes_as_the_scenario_says() -> None:
    calm = run(Play(one_secret, (Controller(Secret, keep_a_copy, owns=[ConfigMap]),)))
    hit = replace(calm, writes=calm.writes + 7, faults=1)
    assert hit.differences_from(calm) == [
        f"{calm.writes + 7} writes, where {calm.writes} do it in calm weather"
    ]
    assert not hit.differences_from(calm, extra_writes=5)


def test_a_campaign_tries_every_point(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(Secret, keep_a_copy, owns=[ConfigMap])
    monkeypatch.delenv("CERTWRIGHT_SEEDS", raising=False)
    assert survives(one_secret, controller, break_each_watch, most=2) == 2
    monkeypatch.setenv("CERTWRIGHT_SEEDS", "1")
    assert survives(one_secret, controller, break_each_watch, most=2) > 2


def test_random_storms_find_it_too() -> None:
    with pytest.raises(SimulationFailed, match="after the storm of seed"):
        simulate(one_secret, FORGETFUL, seeds=range(100))


def test_a_scenario_that_fails_by_itself_is_not_blamed_on_faults() -> None:
    async def impossible(cluster: EmbeddedCluster) -> None:
        await cluster.create(config_map("a"))
        await cluster.create(config_map("a"))

    with pytest.raises(SimulationFailed, match="fails in calm weather: AlreadyExists"):
        survives(impossible, BLIND, crash_after_every_write)


def test_the_same_seed_takes_the_same_way() -> None:
    play = Play(one_secret, (BLIND,))
    assert run(play) == run(play)
    runs = [storm(play, seed) for seed in range(10)]
    assert [storm(play, seed) for seed in range(10)] == runs
    assert len({result.digest for result in runs}) == 10


FAILING = """
import sys
sys.path.insert(0, {folder!r})
from test_torture_finds_faults import FORGETFUL, one_secret
from certwright.testkit import simulate

def test_fails():
    simulate(one_secret, FORGETFUL, seeds=range(100))
"""


def test_the_printed_command_replays_an_identical_trace(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILING.format(folder=str(Path(__file__).parent)))
    first = _pytest(tmp_path, [sys.executable, "-m", "pytest", "test_it.py"], hash_seed="1")
    command = re.search(r"replay with: python (.*)", first)
    assert command is not None, first
    arguments = shlex.split(command[1])
    second = _pytest(tmp_path, [sys.executable, *arguments], hash_seed="2")
    assert _verdict(second) == _verdict(first)
    assert "the replay took another way" not in second
    arguments[-1] = re.sub("@.*", "@0123456789abcdef", arguments[-1])
    third = _pytest(tmp_path, [sys.executable, *arguments], hash_seed="3")
    assert "the replay took another way" in third


def _pytest(folder: Path, command: list[str], hash_seed: str) -> str:
    """Run in another process with another order of sets, which must not matter."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CERTWRIGHT")}
    environment = kept | {"PYTHONHASHSEED": hash_seed}
    command = [*command, "-p", "no:cacheprovider", "--show-capture=no"]
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, check=False
    )
    return done.stdout


def _verdict(output: str) -> list[str]:
    """The failure as printed: differences, trace and command."""
    return [line for line in output.splitlines() if line.startswith("E  ")]
