"""Pods from their creation to their end: status, restarts, events, as kubelet writes them."""

import asyncio
import os
import socket

import pytest
from tests.support.node.rig import (
    PATIENCE_SECONDS,
    PodRig,
    condition,
    is_ready,
    last_state,
    state,
    status_of,
    waits_for,
)

from certwright.kube import JsonObject
from certwright.kube.kinds import Pod
from certwright.testkit.controlplane.component import free_ports

pytestmark = pytest.mark.asyncio(loop_scope="module")

SLEEP = {"command": ["sleep", "1000"]}


def sh(script: str, **more: object) -> JsonObject:
    return {"command": ["sh", "-c", script], **more}


async def test_a_pod_is_bound_and_runs(rig: PodRig) -> None:
    await rig.run(SLEEP)
    pod = await rig.ready()
    assert pod["spec"]["nodeName"] == rig.node.name
    status = pod["status"]
    assert status["phase"] == "Running"
    assert status["podIP"].startswith("10.244.")
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIP"] == "192.0.2.1"
    assert status["startTime"]
    assert status["qosClass"] == "BestEffort"
    main = status_of(pod)
    assert main["started"]
    assert main["ready"]
    assert main["restartCount"] == 0
    assert main["image"] == "busybox:1"
    assert main["state"]["running"]["startedAt"]
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }


async def test_its_events_tell_of_its_life(rig: PodRig) -> None:
    await rig.run(SLEEP)
    await rig.ready()
    await rig.client.delete(Pod, rig.key("p"))
    await rig.gone()
    told = {
        (one["type"], one["reason"], one["message"], one["involvedObject"].get("fieldPath"))
        for one in await rig.events()
    }
    place = "spec.containers{main}"
    image = 'Container image "busybox:1" already present on machine and can be accessed by the pod'
    assert told == {
        (
            "Normal",
            "Scheduled",
            f"Successfully assigned {rig.namespace}/p to {rig.node.name}",
            None,
        ),
        ("Normal", "Pulled", image, place),
        ("Normal", "Created", "Container created", place),
        ("Normal", "Started", "Container started", place),
        ("Normal", "Killing", "Stopping container main", place),
    }


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (7, "Failed")])
async def test_a_pod_that_never_restarts_ends(rig: PodRig, code: int, phase: str) -> None:
    await rig.run(sh(f"exit {code}"), restartPolicy="Never")
    pod = await rig.phase(phase)
    ended = state(pod)["terminated"]
    assert ended["exitCode"] == code
    assert ended["reason"] == ("Error" if code else "Completed")
    assert status_of(pod)["restartCount"] == 0
    assert condition(pod, "Ready")["reason"] == ("PodFailed" if code else "PodCompleted")


async def test_a_signal_is_an_exit_code(rig: PodRig) -> None:
    await rig.run(sh("kill -9 $$$$"), restartPolicy="Never")
    pod = await rig.phase("Failed")
    assert state(pod)["terminated"]["exitCode"] == 137


@pytest.mark.parametrize(("policy", "code"), [("Always", 0), ("Always", 1), ("OnFailure", 1)])
async def test_a_container_that_ends_is_restarted(rig: PodRig, policy: str, code: int) -> None:
    await rig.run(sh(f"exit {code}"), restartPolicy=policy)
    pod = await rig.until(lambda pod: status_of(pod).get("restartCount", 0) >= 2)
    assert last_state(pod)["terminated"]["exitCode"] == code
    assert pod["status"]["phase"] == "Running"


async def test_a_success_is_not_restarted_on_failure(rig: PodRig) -> None:
    await rig.run(sh("exit 0"), restartPolicy="OnFailure")
    assert status_of(await rig.phase("Succeeded"))["restartCount"] == 0


async def test_a_crash_loop_is_backed_off(rig: PodRig) -> None:
    await rig.run(sh("exit 3"))
    pod = await rig.until(waits_for("CrashLoopBackOff"))
    uid = pod["metadata"]["uid"]
    assert state(pod)["waiting"]["message"] in {
        f"back-off {delay} restarting failed container=main pod=p_{rig.namespace}({uid})"
        for delay in ("500ms", "1s", "2s")
    }
    assert last_state(pod)["terminated"]["exitCode"] == 3
    assert pod["status"]["phase"] == "Running"
    assert condition(pod, "Ready")["message"] == "containers with unready status: [main]"
    told = await rig.event("BackOff")
    assert told["type"] == "Warning"
    assert told["message"] == (
        f"Back-off restarting failed container main in pod p_{rig.namespace}({uid})"
    )


async def test_a_crash_loop_ends_with_the_pod(rig: PodRig) -> None:
    await rig.run(sh("exit 3"))
    await rig.until(waits_for("CrashLoopBackOff"))
    await rig.client.delete(Pod, rig.key("p"))
    await rig.gone()


async def test_an_unknown_image_is_not_pulled(rig: PodRig) -> None:
    await rig.run({"image": "example.com/unknown:1"})
    pod = await rig.until(waits_for("ErrImagePull"))
    assert pod["status"]["phase"] == "Pending"
    pod = await rig.until(waits_for("ImagePullBackOff"))
    message = state(pod)["waiting"]["message"]
    assert message.startswith('Back-off pulling image "example.com/unknown:1": ErrImagePull: ')
    assert not status_of(pod)["ready"]
    await rig.event("Pulling", 'Pulling image "example.com/unknown:1"')
    await rig.event("Failed", 'Failed to pull image "example.com/unknown:1": ')
    await rig.event("Failed", "Error: ErrImagePull")
    await rig.event("BackOff", 'Back-off pulling image "example.com/unknown:1"')
    await rig.event("Failed", "Error: ImagePullBackOff")


async def test_an_image_that_must_be_there_is_not_pulled_either(rig: PodRig) -> None:
    await rig.run({"image": "example.com/unknown:1", "imagePullPolicy": "Never"})
    pod = await rig.until(waits_for("ErrImageNeverPull"))
    assert state(pod)["waiting"]["message"] == (
        'Container image "example.com/unknown:1" is not present with pull policy of Never'
    )


async def test_a_program_that_does_not_exist(rig: PodRig) -> None:
    await rig.run({"command": ["no-such-program"]}, restartPolicy="Never")
    pod = await rig.phase("Failed")
    ended = state(pod)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "no-such-program" in ended["message"]
    await rig.event("Failed", "no-such-program")


async def test_a_deleted_pod_is_asked_to_end(rig: PodRig) -> None:
    await rig.run(sh("trap 'echo bye > /data/bye; exit 0' TERM; sleep 1000 & wait",
                     volumeMounts=[{"name": "d", "mountPath": "/data"}]),
                  volumes=[{"name": "d", "emptyDir": {}}])  # fmt: skip
    pod = await rig.ready()
    folder = rig.node.pods[pod["metadata"]["uid"]].folder
    await rig.client.delete(Pod, rig.key("p"))
    await rig.gone()
    assert not folder.exists()


async def test_a_program_that_ignores_sigterm_is_killed(rig: PodRig) -> None:
    script = "trap '' TERM; echo deaf; while :; do sleep 0.05; done"
    await rig.run(sh(script), metadata={"finalizers": ["x.io/keep"]})
    await rig.prints("deaf")
    await rig.client.delete(Pod, rig.key("p"), grace_seconds=1)
    pod = await rig.until(lambda pod: "terminated" in state(pod))
    assert state(pod)["terminated"]["exitCode"] == 137
    await rig.client.patch(Pod, rig.key("p"), {"metadata": {"finalizers": None}})
    await rig.gone()


async def test_a_pod_deleted_without_grace_is_gone_at_once(rig: PodRig) -> None:
    await rig.run(SLEEP)
    pod = await rig.ready()
    worker = rig.node.pods[pod["metadata"]["uid"]]
    await rig.client.delete(Pod, rig.key("p"), grace_seconds=0)
    await rig.gone()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while worker.uid in rig.node.pods:
            await asyncio.sleep(0.02)
    assert not worker.folder.exists()


async def test_what_a_program_leaves_behind_ends_with_it(rig: PodRig) -> None:
    await rig.run(sh("sleep 1000 & echo $!; (setsid sleep 1001 & echo $!); sleep 1; exit 0"),
                  restartPolicy="Never")  # fmt: skip
    await rig.phase("Succeeded")
    for pid in await rig.output():
        assert not _runs(int(pid)), "a child outlived its container"


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_an_evicted_pod_goes(rig: PodRig) -> None:
    await rig.run(SLEEP)
    await rig.ready()
    await rig.client.create_subresource(
        Pod,
        rig.key("p"),
        "eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction",
         "metadata": {"name": "p", "namespace": rig.namespace}},
    )  # fmt: skip
    await rig.gone()


async def test_the_deadline_of_a_pod(rig: PodRig) -> None:
    await rig.run(SLEEP, activeDeadlineSeconds=1)
    pod = await rig.phase("Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert pod["status"]["message"] == (
        "Pod was active on the node longer than the specified deadline"
    )
    await rig.until(lambda pod: "terminated" in state(pod))
    await rig.event("DeadlineExceeded")


async def test_containers_run_side_by_side(rig: PodRig) -> None:
    await rig.run({**SLEEP, "name": "a"}, sh("exit 0", name="b"), restartPolicy="Never")
    pod = await rig.until(lambda pod: "terminated" in state(pod, "b"))
    assert "running" in state(pod, "a")
    assert pod["status"]["phase"] == "Running"


async def test_a_preset_node_is_respected(rig: PodRig) -> None:
    await rig.run(SLEEP, nodeName=rig.node.name)
    await rig.ready()


async def test_another_node_is_not_ours(rig: PodRig) -> None:
    await rig.run(SLEEP, name="other", nodeName="elsewhere")
    await rig.run(SLEEP)
    await rig.ready()
    assert "startTime" not in (await rig.pod("other"))["status"]
    await rig.client.delete(Pod, rig.key("other"), grace_seconds=0)


async def test_a_pod_that_asks_for_labels_the_node_lacks(rig: PodRig) -> None:
    await rig.run(SLEEP, nodeSelector={"disk": "ssd"})
    pod = await rig.until(lambda pod: condition(pod, "PodScheduled").get("status") == "False")
    assert condition(pod, "PodScheduled")["reason"] == "Unschedulable"
    assert "didn't match Pod's node affinity/selector" in condition(pod, "PodScheduled")["message"]
    await rig.event("FailedScheduling")


async def test_a_gated_pod_waits(rig: PodRig) -> None:
    await rig.run(SLEEP, name="gated", schedulingGates=[{"name": "example.com/wait"}])
    await rig.run(SLEEP)
    await rig.ready()
    assert not (await rig.pod("gated"))["spec"].get("nodeName")


async def test_a_port_of_the_node_is_given_once(rig: PodRig) -> None:
    ports = [{"containerPort": 80, "hostPort": 18089}]
    await rig.run({**SLEEP, "ports": ports}, name="first")
    await rig.ready("first")
    await rig.run({**SLEEP, "ports": ports})
    pod = await rig.phase("Failed")
    assert pod["status"]["reason"] == "NodePorts"
    assert pod["status"]["message"] == (
        "Pod was rejected: Predicate NodePorts failed: "
        "node(s) didn't have free ports for the requested pod ports"
    )
    await rig.event("NodePorts")


async def test_a_port_that_another_process_has(rig: PodRig) -> None:
    """The program says so and ends, again and again, until the port is free."""
    [port] = free_ports(1)
    probe = {"tcpSocket": {"port": 80}, "periodSeconds": 1, "timeoutSeconds": 30}
    ports = [{"containerPort": 80, "hostPort": port}]
    with socket.create_server(("127.0.0.1", port)):
        await rig.run({"image": "stub:1", "ports": ports, "readinessProbe": probe})
        pod = await rig.until(waits_for("CrashLoopBackOff"))
        assert last_state(pod)["terminated"]["exitCode"] == 1
        assert "Address already in use" in (await rig.output())[-1]
    pod = await rig.ready()
    assert status_of(pod)["restartCount"] >= 1


async def test_last_words_come_from_a_file(rig: PodRig) -> None:
    await rig.run(sh("printf broken > /dev/termination-log; exit 1"), restartPolicy="Never")
    assert state(await rig.phase("Failed"))["terminated"]["message"] == "broken"


async def test_last_words_come_from_the_log_on_request(rig: PodRig) -> None:
    await rig.run(
        sh("echo it broke; exit 1", terminationMessagePolicy="FallbackToLogsOnError"),
        restartPolicy="Never",
    )
    assert state(await rig.phase("Failed"))["terminated"]["message"] == "it broke\n"


async def test_a_readiness_gate_is_awaited(rig: PodRig) -> None:
    await rig.run(SLEEP, readinessGates=[{"conditionType": "example.com/on"}])
    pod = await rig.until(lambda pod: condition(pod, "ContainersReady").get("status") == "True")
    assert condition(pod, "Ready")["reason"] == "ReadinessGatesNotReady"
    conditions = [*pod["status"]["conditions"], {"type": "example.com/on", "status": "True"}]
    await rig.client.patch(
        Pod, rig.key("p"), {"status": {"conditions": conditions}}, subresource="status"
    )
    await rig.until(is_ready)
