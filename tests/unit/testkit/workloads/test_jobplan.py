"""How a Job makes, counts and gives up pods."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certwright.testkit.builders import job
from certwright.testkit.workloads.jobindexes import INDEX, index_ranges, matched_success
from certwright.testkit.workloads.jobplan import FINALIZER, JobPlan, decide_job, finished_status

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


def stored(completions: int | None = 3, status: Any = None, **spec: Any) -> dict[str, Any]:
    obj = job("once", completions=3)
    obj["metadata"] |= {"namespace": "default", "uid": "j-1", "generation": 1}
    obj["spec"] |= {"backoffLimit": 2, **spec, "completions": completions}
    return obj | ({"status": status} if status else {})


def pod(
    name: str, phase: str = "Running", *, held: bool = True, ago: int = 3600, index: int = -1, **extra: Any
) -> dict[str, Any]:  # fmt: skip
    ended = (NOW - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    state = {} if phase == "Running" else {"terminated": {"finishedAt": ended}}
    metadata: dict[str, Any] = {"name": name, "uid": name, "creationTimestamp": ended, **extra}
    metadata |= {"finalizers": [FINALIZER]} if held else {}
    metadata |= {"annotations": {INDEX: str(index)}} if index >= 0 else {}
    status = {"phase": phase, "containerStatuses": [{"state": state}]}
    return {"metadata": metadata, "spec": {"nodeName": "n"}, "status": status}


def types(status: dict[str, Any]) -> list[str]:
    return [each["type"] for each in status["conditions"] if each["status"] == "True"]


def finish(plan: JobPlan) -> dict[str, Any]:
    return finished_status(plan, set(), NOW)[0]


def test_a_new_job_starts_as_many_as_may_run_at_once() -> None:
    plan = decide_job(stored(parallelism=2), [], NOW)
    assert len(plan.create) == 2
    assert plan.create[0]["metadata"]["finalizers"] == [FINALIZER]
    assert plan.status == {
        "startTime": "2031-05-06T07:08:09Z",
        "conditions": [],
        "active": 2,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }


def test_ended_pods_are_noted_then_counted() -> None:
    pods = [pod("a", "Succeeded"), pod("b")]
    plan = decide_job(stored(completions=2), pods, NOW)
    assert plan.status["uncountedTerminatedPods"] == {"succeeded": ["a"]}
    assert [each["metadata"]["name"] for each in plan.release] == ["a"]
    assert "succeeded" not in plan.status
    status = finish(plan)
    assert (status["succeeded"], status["uncountedTerminatedPods"]) == (1, {})
    again = decide_job(stored(2, plan.status), [pod("a", "Succeeded", held=False), pod("b")], NOW)
    assert again.status["succeeded"] == 1, "a pass that was cut short is made good"
    once = decide_job(stored(2, status), [pod("a", "Succeeded", held=False), pod("b")], NOW)
    assert (once.status["succeeded"], once.create) == (1, [])
    status, _ = finished_status(plan, {"a"}, NOW)
    assert "succeeded" not in status, "not while its finalizer holds it"
    assert status["uncountedTerminatedPods"] == {"succeeded": ["a"]}


def test_enough_successes_complete_it() -> None:
    pods = [pod(name, "Succeeded") for name in "abc"]
    plan = decide_job(stored(), pods, NOW)
    status = finish(plan)
    assert types(status) == ["SuccessCriteriaMet", "Complete"]
    assert (status["succeeded"], status["completionTime"]) == (3, "2031-05-06T07:08:09Z")
    assert {each["reason"] for each in status["conditions"]} == {"CompletionsReached"}
    assert {each["message"] for each in status["conditions"]} == {
        "Reached expected number of succeeded pods"
    }
    held, ended = finished_status(plan, {"a"}, NOW)
    assert (types(held), ended) == (["SuccessCriteriaMet"], False)


def test_without_completions_one_success_is_enough() -> None:
    plan = decide_job(stored(None), [pod("a", "Succeeded"), pod("b")], NOW)
    assert (plan.create, plan.finish) == ([], None), "the others are waited for"
    plan = decide_job(stored(None), [pod("a", "Succeeded"), pod("b", "Failed")], NOW)
    assert plan.finish is not None


def test_too_many_failures_fail_it_and_stop_the_rest() -> None:
    pods = [pod("a", "Failed"), pod("b", "Failed"), pod("c", "Failed"), pod("d")]
    plan = decide_job(stored(), pods, NOW)
    assert [each["metadata"]["name"] for each in plan.delete] == ["d"]
    assert plan.finish == (
        "Failed",
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    )
    assert (plan.status["terminating"], types(plan.status)) == (1, ["FailureTarget"])
    assert types(finish(plan)) == ["FailureTarget"], "not while a pod is terminating"
    gone = decide_job(stored(3, finish(plan)), [], NOW)
    status = finish(gone)
    assert (types(status), status["failed"]) == (["FailureTarget", "Failed"], 4)


def test_as_many_failures_as_the_limit_do_not_fail_it() -> None:
    plan = decide_job(stored(), [pod("a", "Failed"), pod("b", "Failed"), pod("c")], NOW)
    assert (plan.delete, plan.finish) == ([], None)


def by_code(action: str, operator: str, *values: int, **more: str) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": values, **more}}


def by_condition(action: str, type_: str, status: str = "True") -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": type_, "status": status}]}


@pytest.mark.parametrize(
    ("rules", "reason", "failed"),
    [
        ([by_code("FailJob", "In", 3, 4)], "PodFailurePolicy", 1),
        ([by_code("FailJob", "NotIn", 3)], "", 1),
        ([by_code("FailJob", "In", 3, containerName="main")], "PodFailurePolicy", 1),
        ([by_code("FailJob", "In", 3, containerName="other")], "", 1),
        ([by_code("Count", "In", 3), by_code("FailJob", "In", 3)], "", 1),
        ([by_code("Ignore", "In", 3), by_code("FailJob", "In", 3)], "", 0),
        ([by_condition("FailJob", "DisruptionTarget")], "PodFailurePolicy", 1),
        ([by_condition("FailJob", "DisruptionTarget", "False")], "", 1),
        ([by_condition("Ignore", "DisruptionTarget")], "", 0),
    ],
)
def test_the_policy_decides_about_failed_pods(rules: list[Any], reason: str, failed: int) -> None:
    one = pod("a", "Failed", ago=5, namespace="default")
    one["status"]["containerStatuses"][0]["name"] = "main"
    one["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] = 3
    one["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True"}]
    obj = stored(1, parallelism=1, podFailurePolicy={"rules": rules})
    plan = decide_job(obj, [one], NOW)
    assert (plan.finish or ("", "", ""))[1] == reason
    assert finish(plan).get("failed", 0) == failed
    assert len(plan.create) == (0 if failed else 1), "a failure that counts delays the next pod"
    assert [each["metadata"]["name"] for each in plan.release] == ["a"]


@pytest.mark.parametrize(
    ("rule", "succeeded", "is_met"),
    [
        ({"succeededIndexes": "1-2"}, {0, 1}, False),
        ({"succeededIndexes": "1-2"}, {1, 2}, True),
        ({"succeededIndexes": "1-3,5", "succeededCount": 2}, {0, 1, 4}, False),
        ({"succeededIndexes": "1-3,5", "succeededCount": 2}, {1, 5}, True),
        ({"succeededCount": 2}, {0}, False),
        ({"succeededCount": 2}, {0, 7}, True),
        ({"succeededCount": 1}, set(), False),
    ],
)
def test_a_rule_asks_for_indexes_or_their_number(
    rule: dict[str, Any], succeeded: set[int], *, is_met: bool
) -> None:
    other = {"succeededCount": 9}
    found = matched_success({"rules": [other, rule]}, succeeded)
    assert found == ("Matched rules at index 1" if is_met else "")


def test_a_job_succeeds_by_its_policy_and_ends_what_still_runs() -> None:
    policy = {"rules": [{"succeededIndexes": "1"}]}
    obj = stored(3, parallelism=3, completionMode="Indexed", successPolicy=policy)
    pods = [pod("a", index=0), pod("b", "Succeeded", index=1), pod("c", index=2)]
    plan = decide_job(obj, pods, NOW)
    assert [each["metadata"]["name"] for each in plan.delete] == ["a", "c"]
    assert types(plan.status) == ["SuccessCriteriaMet"]
    assert plan.finish == ("Complete", "SuccessPolicy", "Matched rules at index 0")
    assert (plan.status["completedIndexes"], plan.status["succeeded"]) == ("1", 1)
    assert "failed" not in finish(plan), "what is ended for that has not failed"


def test_the_message_of_the_policy_names_the_pod_and_the_rule() -> None:
    one = pod("a", "Failed", namespace="default")
    one["status"]["containerStatuses"][0] |= {"name": "main"}
    one["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] = 3
    rules = [by_code("Count", "In", 9), by_code("FailJob", "In", 3)]
    plan = decide_job(stored(1, podFailurePolicy={"rules": rules}), [one], NOW)
    message = "Container main for pod default/a failed with exit code 3"
    assert plan.finish is not None
    assert plan.finish[2] == f"{message} matching FailJob rule at index 1"


@pytest.mark.parametrize(
    ("failures", "wait"), [([5], 5), ([100, 5], 15), ([100, 90, 5], None), ([11], 0)]
)
def test_failures_delay_the_next_pod(failures: list[int], wait: float | None) -> None:
    pods = [pod(str(ago), "Failed", held=False, ago=ago) for ago in failures]
    counted = {"failed": len(failures), "startTime": "2031-05-06T07:00:00Z"}
    limit = 2 if wait is not None else 6
    plan = decide_job(stored(1, counted, backoffLimit=limit, parallelism=1), pods, NOW)
    if wait:
        assert (plan.create, plan.after) == ([], wait)
    elif wait == 0:
        assert len(plan.create) == 1
    else:
        assert plan.after == 35


def test_restarts_count_where_containers_are_restarted() -> None:
    obj = stored(1)
    obj["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    running = pod("a")
    running["status"]["containerStatuses"] = [{"restartCount": 2}]
    plan = decide_job(obj, [running], NOW)
    assert plan.finish is not None
    assert plan.finish[1] == "BackoffLimitExceeded"


def test_a_deadline_ends_it() -> None:
    early = {"startTime": "2031-05-06T07:08:00Z"}
    plan = decide_job(stored(3, early, activeDeadlineSeconds=10), [pod("a")], NOW)
    assert (plan.finish, plan.after) == (None, 1)
    plan = decide_job(stored(3, early, activeDeadlineSeconds=9), [pod("a")], NOW)
    assert plan.finish is not None
    assert plan.finish[1:] == (
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    )


def test_a_suspended_job_has_no_pods_and_goes_on_later() -> None:
    started = {"startTime": "2031-05-06T07:00:00Z"}
    plan = decide_job(stored(3, started, suspend=True), [pod("a")], NOW)
    assert [each["metadata"]["name"] for each in plan.delete] == ["a"]
    assert "startTime" not in plan.status
    assert types(plan.status) == ["Suspended"]
    [condition] = plan.status["conditions"]
    assert (condition["reason"], condition["message"]) == ("JobSuspended", "Job suspended")
    plan = decide_job(stored(3, plan.status), [], NOW)
    [condition] = plan.status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "JobResumed")
    assert (len(plan.create), plan.status["startTime"]) == (3, "2031-05-06T07:08:09Z")


def test_indexed_pods_have_numbers() -> None:
    obj = stored(completionMode="Indexed", parallelism=2)
    first, second = decide_job(obj, [], NOW).create
    assert (first["metadata"]["generateName"], second["spec"]["hostname"]) == ("once-0-", "once-1")
    assert first["metadata"]["labels"][INDEX] == first["metadata"]["annotations"][INDEX] == "0"
    plan = decide_job(obj, [pod("a", "Succeeded", index=1), pod("b", index=0)], NOW)
    assert [each["metadata"]["labels"][INDEX] for each in plan.create] == ["2"]
    assert (plan.status["completedIndexes"], plan.status["succeeded"]) == ("1", 1)
    later = decide_job({**obj, "status": finish(plan)}, [], NOW)
    assert [each["metadata"]["labels"][INDEX] for each in later.create] == ["0", "2"]


def test_index_ranges() -> None:
    assert index_ranges([0, 1, 2, 4, 6, 7]) == "0-2,4,6,7"
    assert index_ranges([]) == ""


def test_a_job_that_is_deleted_makes_no_more_pods_and_lets_go() -> None:
    obj = stored()
    obj["metadata"]["deletionTimestamp"] = "2031-05-06T07:08:09Z"
    plan = decide_job(obj, [pod("a")], NOW)
    assert (plan.create, [each["metadata"]["name"] for each in plan.release]) == ([], ["a"])
