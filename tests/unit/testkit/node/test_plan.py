"""What is done next for a pod: order of containers, restarts, ends. In virtual time."""

from tests.support.node.playedpod import PlayedPod, pod

from certwright.testkit.node.pod.plan import MountVolumes, StartContainer, plan

SIDECAR = {"name": "side", "restartPolicy": "Always"}
ONE_INIT = {"name": "one"}
TWO_INIT = {"name": "two"}


def names(played: PlayedPod) -> list[str]:
    return [name for name, _ in played.starts]


def test_volumes_come_first() -> None:
    played = PlayedPod(pod())
    assert plan(played.pod, played.facts, played.now).actions == (MountVolumes(),)


def test_nothing_starts_before_volumes_are_there() -> None:
    played = PlayedPod(pod())
    played.facts.mount_retry = played.now.replace(second=10)
    decided = plan(played.pod, played.facts, played.now)
    assert decided.actions == ()
    assert decided.wake == played.facts.mount_retry


def test_init_containers_run_one_after_the_other() -> None:
    played = PlayedPod(pod(init=[ONE_INIT, TWO_INIT]), {"one": [(2, 0)], "two": [(3, 0)]})
    played.play(10)
    assert played.starts == [("one", 0), ("two", 2), ("main", 5)]


def test_a_failed_init_container_is_repeated() -> None:
    played = PlayedPod(pod(init=[ONE_INIT]), {"one": [(1, 1), (1, 1), (1, 0)]})
    played.play(30)
    assert played.starts == [("one", 0), ("one", 1), ("one", 12), ("main", 13)]


def test_a_failed_init_container_ends_a_pod_that_never_restarts() -> None:
    played = PlayedPod(pod(init=[ONE_INIT], restartPolicy="Never"), {"one": [(1, 7)]})
    played.play(30)
    assert names(played) == ["one"]
    assert played.status["phase"] == "Failed"
    assert plan(played.pod, played.facts, played.now).over


def test_sidecars_start_in_order_and_stay() -> None:
    played = PlayedPod(pod(init=[SIDECAR, ONE_INIT]), {"one": [(1, 0)]})
    played.play(5)
    assert played.starts == [("side", 0), ("one", 0), ("main", 1)]
    assert played.facts.containers["side"].running


def test_a_sidecar_is_waited_for_until_its_startup_probe_succeeded() -> None:
    played = PlayedPod(pod(init=[SIDECAR]))
    played.facts.mounted = True
    side = played.facts.containers["side"]
    side.start("id", played.now)
    assert plan(played.pod, played.facts, played.now).actions == ()
    side.started = True
    assert plan(played.pod, played.facts, played.now).actions == (StartContainer("main"),)


def test_a_sidecar_that_ends_is_restarted_whatever_the_policy() -> None:
    played = PlayedPod(pod(init=[SIDECAR], restartPolicy="Never"), {"side": [(1, 0), (1, 0)]})
    played.play(60)
    assert [at for name, at in played.starts if name == "side"] == [0, 1, 12]


def test_sidecars_stop_when_the_others_are_done() -> None:
    played = PlayedPod(
        pod(init=[SIDECAR, {**SIDECAR, "name": "last"}], restartPolicy="Never"), {"main": [(3, 0)]}
    )
    played.play(10)
    assert [name for name, *_ in played.stops] == ["last", "side"]
    assert played.status["phase"] == "Succeeded"


def test_a_deleted_pod_stops_its_containers_first() -> None:
    played = PlayedPod(pod({"name": "a"}, {"name": "b"}, init=[SIDECAR]))
    played.play(1)
    played.delete(grace=10)
    played.play(5)
    assert [(name, grace) for name, _, grace in played.stops] == [
        ("a", 10), ("b", 10), ("side", 9.5),
    ]  # fmt: skip
    assert plan(played.pod, played.facts, played.now).over


def test_every_container_gets_two_seconds() -> None:
    played = PlayedPod(pod(init=[SIDECAR]), ignores_sigterm={"main"})
    played.play(1)
    played.delete(grace=1)
    played.play(10)
    assert [(name, grace) for name, _, grace in played.stops] == [("main", 2), ("side", 2)]


def test_nothing_is_restarted_in_a_deleted_pod() -> None:
    played = PlayedPod(pod(), {"main": [(1, 1), (1, 1)]})
    played.play(5)
    played.delete()
    played.play(600)
    assert len(played.starts) == 2
    assert plan(played.pod, played.facts, played.now).over


def test_a_deleted_pod_that_never_started_is_over_at_once() -> None:
    played = PlayedPod(pod())
    played.delete()
    assert plan(played.pod, played.facts, played.now).over


def test_the_deadline_ends_a_pod() -> None:
    played = PlayedPod(pod(activeDeadlineSeconds=20))
    played.play(60)
    assert played.stops[0][1] == 20
    status = played.status
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_the_deadline_does_not_touch_a_pod_that_is_done() -> None:
    played = PlayedPod(pod(activeDeadlineSeconds=20, restartPolicy="Never"), {"main": [(3, 0)]})
    played.play(60)
    assert played.status["phase"] == "Succeeded"


def test_an_unhealthy_container_is_stopped_and_started_again() -> None:
    played = PlayedPod(pod(terminationGracePeriodSeconds=7))
    played.play(5)
    played.facts.containers["main"].unhealthy = "Container main failed liveness probe"
    played.play(5)
    assert played.stops == [("main", 5, 7)]
    assert played.starts == [("main", 0), ("main", 5.5)]
    assert played.container()["lastState"]["terminated"]["exitCode"] == 143


def test_main_containers_do_not_wait_for_each_other() -> None:
    played = PlayedPod(pod({"name": "a"}, {"name": "b"}), {"a": [(1, 1)] * 9})
    played.play(100)
    assert played.facts.containers["b"].restarts == 0
    assert played.facts.containers["a"].restarts == 4
