"""Jobs whose template cannot be changed: another takes the place of one, as Reloader does it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.rollout import job_object, pod_spec, workload_object

from certwright.cli.manager import flags as manager_flags
from certwright.cli.manager.process import refreshers
from certwright.cli.rollout import flags
from certwright.cli.rollout.process import settings_of
from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, Job
from certwright.kube.names import dns_subdomain_problems
from certwright.operators.rollout.dialects.choice import kinds_of
from certwright.operators.rollout.dialects.reloader import ReloaderDialect
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
from certwright.operators.rollout.engine.jobs import derived_name
from certwright.operators.rollout.engine.patches import RECREATED_FROM
from certwright.operators.rollout.engine.settings import BUILT_IN
from certwright.operators.rollout.operator import rollout_operator
from certwright.operators.rollout.policy import DIGEST, RECORD
from certwright.operators.rollout.workload import WorkloadKind
from certwright.runtime import Declared, Operator

AUTO = {"reloader.stakater.com/auto": "true"}


async def jobs(rolling: EmbeddedRolling) -> list[JsonObject]:
    return list(await rolling.cluster.list(Job))


async def begun(rolling: EmbeddedRolling, job: JsonObject) -> None:
    await rolling.secret()
    await rolling.cluster.create(job)
    options = ReloaderOptions(recreate_jobs=True)
    kinds = kinds_of(["reloader"], BUILT_IN, options)
    await rolling.run(dialects=[ReloaderDialect(options)], kinds=kinds)


async def test_a_job_is_recreated_once_for_new_contents(rolling: EmbeddedRolling) -> None:
    await begun(rolling, job_object("once", ["web-tls"], AUTO))
    [first] = await jobs(rolling)
    assert RECORD in first["metadata"]["annotations"]
    names = [first["metadata"]["name"]]
    for number in (2, 3):
        await rolling.renew(number=number)
        await rolling.wait()
        [job] = await jobs(rolling)
        names.append(job["metadata"]["name"])
        assert job["metadata"]["annotations"][RECREATED_FROM] == "once"
        assert DIGEST in job["spec"]["template"]["metadata"]["annotations"]
        before, after = (one["spec"]["template"]["spec"]["volumes"] for one in (first, job))
        assert before == after
        calls = await rolling.wait(minutes=30)
        assert calls.writes == 0
    assert len(set(names)) == 3
    assert [name.count("-") for name in names] == [0, 1, 1]


async def test_the_new_job_is_there_before_the_other_goes(rolling: EmbeddedRolling) -> None:
    await begun(rolling, job_object("once", ["web-tls"], AUTO))
    await rolling.renew()
    calls = (await rolling.wait()).of("Job")
    verbs = [call.verb for call in calls if call.verb in {"create", "delete"}]
    assert verbs == ["create", "delete"]


async def test_a_job_whose_deletion_takes_long_holds_no_other_up(rolling: EmbeddedRolling) -> None:
    await begun(rolling, job_object("once", ["web-tls"], AUTO))
    await rolling.renew(data={"a": "2"})
    await rolling.wait()
    [second] = await rolling.cluster.names(Job)
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    await rolling.cluster.patch(Job, second, held)
    await rolling.renew(data={"a": "3"})
    await rolling.wait()
    [third] = await rolling.cluster.names(Job) - {second}
    await rolling.renew(data={"a": "2"})  # the contents of the one that is still going
    await rolling.wait()
    [fourth] = await rolling.cluster.names(Job) - {second}
    assert fourth != third
    assert (await rolling.wait(minutes=10)).writes == 0


async def test_the_new_job_has_the_owners_of_the_other(rolling: EmbeddedRolling) -> None:
    await rolling.config("release")
    release = await rolling.cluster.get(ConfigMap, "release")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "release"}
    owner["uid"] = release["metadata"]["uid"]
    job = job_object("once", ["web-tls"], AUTO)
    job["metadata"]["ownerReferences"] = [{**owner, "blockOwnerDeletion": True}]
    await begun(rolling, job)
    await rolling.renew()
    await rolling.wait()
    [new] = await jobs(rolling)
    assert new["metadata"]["ownerReferences"] == [owner]


async def test_copies_have_a_successor_each(rolling: EmbeddedRolling) -> None:
    await begun(rolling, job_object("once", ["web-tls"], AUTO))
    await rolling.renew(data={"a": "2"})
    await rolling.wait()
    [original] = await jobs(rolling)
    copied = job_object("copy", ["web-tls"], original["metadata"]["annotations"])
    await rolling.cluster.create(copied)
    await rolling.renew(data={"a": "3"})
    await rolling.wait()
    found = {
        job["metadata"]["annotations"][RECREATED_FROM]: job["metadata"]["name"]
        for job in await jobs(rolling)
    }
    assert found.keys() == {"once", "copy"}
    assert all(name.startswith(f"{first}-") for first, name in found.items())
    assert (await rolling.wait(minutes=10)).writes == 0


async def test_long_names_that_begin_alike_are_not_mixed_up(rolling: EmbeddedRolling) -> None:
    names = [f"{'a' * 60}{letter}" for letter in "xy"]
    await rolling.cluster.create(job_object(names[0], ["web-tls"], AUTO))
    await begun(rolling, job_object(names[1], ["web-tls"], AUTO))
    await rolling.renew()
    await rolling.wait()
    found = [job["metadata"]["annotations"][RECREATED_FROM] for job in await jobs(rolling)]
    assert sorted(found) == names


async def test_jobs_of_cron_jobs_are_left_to_them(rolling: EmbeddedRolling) -> None:
    nightly = await rolling.cluster.create(workload_object("nightly", pod_spec(), "CronJob"))
    job = job_object("nightly-1", ["web-tls"], AUTO)
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    job["metadata"]["ownerReferences"] = [{**owner, "uid": nightly["metadata"]["uid"]}]
    await begun(rolling, job)
    await rolling.renew()
    calls = await rolling.wait()
    assert calls.writes == 0
    assert await rolling.cluster.names(Job) == {"nightly-1"}


@pytest.mark.parametrize("name", ["once", f"{'a' * 51}.nightly", f"{'a' * 51}-nightly"])
def test_what_takes_the_place_has_a_name_that_the_server_takes(name: str) -> None:
    assert not dns_subdomain_problems(derived_name(name, "uid", "sha256-Ab12"))


def test_jobs_are_watched_only_where_they_are_recreated() -> None:
    recreated = ReloaderOptions(recreate_jobs=True)
    ignored = replace(recreated, ignored_workloads=frozenset({WorkloadKind.JOB}))
    assert kinds_of(["reloader"], BUILT_IN, recreated) == (*BUILT_IN, WorkloadKind.JOB)
    assert kinds_of(["reloader"], BUILT_IN, ignored) == BUILT_IN
    assert kinds_of(["certwright", "redhat"], BUILT_IN, recreated) == BUILT_IN


def of_rollout_run(*words: str) -> Operator:
    return rollout_operator(settings_of(flags.parse(words, {})))


def of_manager(*words: str) -> Declared:
    [operator] = refreshers(manager_flags.parse(["--operators", "rollout", *words]))
    return operator


@pytest.mark.parametrize("started", [of_rollout_run, of_manager])
@pytest.mark.parametrize("words", [(), ("--recreate-jobs",)])
async def test_jobs_are_left_alone_unless_asked(
    rolling: EmbeddedRolling, started: Callable[..., Declared], words: tuple[str, ...]
) -> None:
    await rolling.secret()
    await rolling.cluster.create(job_object("once", ["web-tls"], AUTO))
    await rolling.embedded.settle(started(*words))
    await rolling.renew()
    await rolling.wait()
    left_alone = await rolling.cluster.names(Job) == {"once"}
    assert left_alone is not bool(words)
    asked_for = rolling.cluster.calls.of("Job")
    assert bool(asked_for) is bool(words)
