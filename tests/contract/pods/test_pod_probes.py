"""Probes and hooks: what they ask, what follows, what is told."""

import pytest
from tests.support.node.rig import PodRig, condition, last_state, state, status_of

from certwright.kube import JsonObject
from certwright.kube.kinds import Pod

pytestmark = pytest.mark.asyncio(loop_scope="module")

FOLDER = [{"name": "v", "emptyDir": {}}]


def sh(script: str, **more: object) -> JsonObject:
    mounts = [{"name": "v", "mountPath": "/v"}]
    return {"command": ["sh", "-c", script], "volumeMounts": mounts, **more}


def asks(script: str, **more: object) -> JsonObject:
    command = ["sh", "-c", script]  # which takes more than the usual second on a busy machine
    return {"exec": {"command": command}, "periodSeconds": 1, "timeoutSeconds": 30, **more}


def stub(**more: object) -> JsonObject:
    return {"image": "stub:1", "ports": [{"containerPort": 8080, "name": "web"}], **more}


async def test_readiness_by_command(rig: PodRig) -> None:
    probe = asks("test -e /v/up", failureThreshold=1)
    await rig.run(sh("sleep 1000", readinessProbe=probe), volumes=FOLDER)
    pod = await rig.until(lambda pod: "running" in state(pod))
    assert condition(pod, "Ready")["status"] == "False"
    assert status_of(pod)["started"]
    (await rig.file("up")).touch()
    await rig.ready()
    (await rig.file("up")).unlink()
    pod = await rig.until(lambda pod: condition(pod, "Ready")["status"] == "False")
    assert condition(pod, "Ready")["reason"] == "ContainersNotReady"
    assert status_of(pod)["restartCount"] == 0
    await rig.event("Unhealthy", "Readiness probe failed: ")


async def test_readiness_by_http(rig: PodRig) -> None:
    probe = {"httpGet": {"path": "/healthz", "port": "web"}, "periodSeconds": 1}
    await rig.run(stub(readinessProbe=probe))
    await rig.ready()


async def test_readiness_by_tcp(rig: PodRig) -> None:
    await rig.run(stub(readinessProbe={"tcpSocket": {"port": 8080}, "periodSeconds": 1}))
    await rig.ready()


async def test_a_refused_connection_is_told(rig: PodRig) -> None:
    probe = {"httpGet": {"path": "/x", "port": 9090}, "periodSeconds": 1, "timeoutSeconds": 30}
    await rig.run({"command": ["sleep", "1000"], "readinessProbe": probe})
    pod = await rig.until(lambda pod: "running" in state(pod))
    ip = pod["status"]["podIP"]
    told = await rig.event("Unhealthy")
    assert told["message"] == (
        f'Readiness probe failed: Get "http://{ip}:9090/x": '
        f"dial tcp {ip}:9090: connect: connection refused"
    )
    assert told["involvedObject"]["fieldPath"] == "spec.containers{main}"


async def test_an_unhealthy_container_is_restarted(rig: PodRig) -> None:
    probe = asks("test ! -e /v/sick", failureThreshold=2)
    await rig.run(sh("sleep 0.2; touch /v/sick; sleep 1000", livenessProbe=probe), volumes=FOLDER)
    pod = await rig.until(lambda pod: status_of(pod).get("restartCount", 0) >= 1)
    assert last_state(pod)["terminated"]["exitCode"] == 143
    await rig.event("Unhealthy", "Liveness probe failed: ")
    await rig.event("Killing", "Container main failed liveness probe, will be restarted")


async def test_a_container_that_does_not_start_is_restarted(rig: PodRig) -> None:
    await rig.run(sh("sleep 1000", startupProbe=asks("exit 1", failureThreshold=2)), volumes=FOLDER)
    pod = await rig.until(lambda pod: status_of(pod).get("restartCount", 0) >= 1)
    assert not status_of(pod)["started"]
    await rig.event("Unhealthy", "Startup probe failed: ")
    await rig.event("Killing", "Container main failed startup probe, will be restarted")


async def test_other_probes_wait_for_the_start(rig: PodRig) -> None:
    startup = asks("test -e /v/up", failureThreshold=100)
    liveness = asks("test -e /v/up", failureThreshold=1)
    await rig.run(sh("sleep 1000", startupProbe=startup, livenessProbe=liveness), volumes=FOLDER)
    await rig.event("Unhealthy", "Startup probe failed: ")
    assert not status_of(await rig.pod())["started"]
    (await rig.file("up")).touch()
    pod = await rig.ready()
    assert status_of(pod)["started"]
    assert status_of(pod)["restartCount"] == 0


async def test_a_slow_probe_has_failed(rig: PodRig) -> None:
    probe = asks("sleep 1000")
    del probe["timeoutSeconds"]  # one by default
    await rig.run(sh("sleep 1000", readinessProbe=probe), volumes=FOLDER)
    told = await rig.event("Unhealthy")
    assert told["message"] == "Readiness probe failed: command timed out after 1s"


async def test_a_hook_before_the_end(rig: PodRig) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "touch /v/warned"]}}}
    script = "trap 'test -e /v/warned && exit 5; exit 6' TERM; touch /v/armed; sleep 1000 & wait"
    armed = asks("test -e /v/armed")
    await rig.run(sh(script, lifecycle=hook, readinessProbe=armed), volumes=FOLDER,
                  metadata={"finalizers": ["x.io/keep"]})  # fmt: skip
    await rig.ready()
    await rig.client.delete(Pod, rig.key("p"))
    pod = await rig.until(lambda pod: "terminated" in state(pod))
    assert state(pod)["terminated"]["exitCode"] == 5
    await rig.client.patch(Pod, rig.key("p"), {"metadata": {"finalizers": None}})
    await rig.gone()


async def test_a_hook_after_the_start_that_fails(rig: PodRig) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "exit 1"]}}}
    await rig.run(sh("sleep 1000", lifecycle=hook), volumes=FOLDER)
    await rig.until(lambda pod: status_of(pod).get("restartCount", 0) >= 1)
    await rig.event("FailedPostStartHook", "PostStartHook failed")
    await rig.event("Killing", "FailedPostStartHook")


async def test_init_containers_come_first(rig: PodRig) -> None:
    init = [
        {"image": "busybox:1", "name": "one", **sh("echo 1 >> /v/log")},
        {"image": "busybox:1", "name": "two", **sh("echo 2 >> /v/log")},
    ]
    await rig.run(sh("cat /v/log; sleep 1000"), initContainers=init, volumes=FOLDER)
    pod = await rig.ready()
    await rig.prints("1", "2")
    for name in ("one", "two"):
        assert state(pod, name)["terminated"]["reason"] == "Completed"
        assert status_of(pod, name)["ready"]


async def test_an_init_container_that_fails_is_repeated(rig: PodRig) -> None:
    init = [
        {
            "image": "busybox:1",
            "name": "one",
            **sh("test -e /v/again || { touch /v/again; exit 4; }"),
        }
    ]
    await rig.run(sh("sleep 1000"), initContainers=init, volumes=FOLDER)
    pod = await rig.ready()
    assert status_of(pod, "one")["restartCount"] == 1
    assert last_state(pod, "one")["terminated"]["exitCode"] == 4


async def test_an_init_container_that_keeps_failing(rig: PodRig) -> None:
    init = [{"image": "busybox:1", "name": "one", "command": ["sh", "-c", "exit 4"]}]
    await rig.run({"command": ["true"]}, initContainers=init)
    pod = await rig.until(
        lambda pod: (state(pod, "one").get("waiting") or {}).get("reason") == "CrashLoopBackOff"
    )
    assert pod["status"]["phase"] == "Pending"
    assert state(pod)["waiting"]["reason"] == "PodInitializing"
    assert condition(pod, "Initialized")["message"] == "containers with incomplete status: [one]"


async def test_an_init_container_that_fails_for_good(rig: PodRig) -> None:
    init = [{"image": "busybox:1", "name": "one", "command": ["sh", "-c", "exit 4"]}]
    await rig.run({"command": ["true"]}, initContainers=init, restartPolicy="Never")
    pod = await rig.phase("Failed")
    assert state(pod, "one")["terminated"]["exitCode"] == 4


async def test_a_sidecar_runs_beside_and_ends_last(rig: PodRig) -> None:
    init = [{"image": "busybox:1", "name": "side", "restartPolicy": "Always",
             **sh("trap 'exit 0' TERM; touch /v/side; sleep 1000 & wait")}]  # fmt: skip
    await rig.run(sh("until test -e /v/side -a -e /v/end; do sleep 0.05; done"), volumes=FOLDER,
                  initContainers=init, restartPolicy="Never")  # fmt: skip
    pod = await rig.until(lambda pod: "running" in state(pod))
    assert "running" in state(pod, "side")
    assert status_of(pod, "side")["started"]
    (await rig.file("end")).touch()
    pod = await rig.phase("Succeeded")
    assert state(pod, "side")["terminated"]["exitCode"] == 0
    assert state(pod)["terminated"]["exitCode"] == 0
