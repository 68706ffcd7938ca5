"""The life of a played pod: states, times and conditions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certwright.testkit.actors.podplay import NEVER, PodPlay, played_status, until_stopped

NOW = datetime(2031, 5, 6, 7, 8, 9, 500_000, tzinfo=UTC)


class Stage:
    """One pod that is played over time."""

    def __init__(self, text: str = "", policy: str = "Always") -> None:
        self.play = PodPlay.parse(text)
        containers = [{"name": "main", "image": "app"}]
        self.pod: dict[str, Any] = {
            "metadata": {"name": "web-1", "namespace": "default", "uid": "u-1"},
            "spec": {"containers": containers, "restartPolicy": policy, "nodeName": "played"},
        }
        self.after: float | None = None

    def at(self, seconds: float) -> dict[str, Any]:
        played = played_status(self.pod, self.play, NOW + timedelta(seconds=seconds))
        self.pod["status"], self.after = played.status, played.after
        return played.status

    def state(self, seconds: float) -> str:
        [container] = self.at(seconds)["containerStatuses"]
        [(name, state)] = container["state"].items()
        return str(state.get("reason", name))

    @property
    def ready(self) -> str:
        [ready] = [c for c in self.pod["status"]["conditions"] if c["type"] == "Ready"]
        return str(ready["status"])


def test_a_pod_runs_at_once_and_for_ever() -> None:
    stage = Stage()
    status = stage.at(0)
    assert (status["phase"], stage.ready, stage.after) == ("Running", "True", None)
    assert status["startTime"] == "2031-05-06T07:08:09Z"
    assert status["podIP"].startswith("10.")
    assert stage.at(3600) == status, "nothing is written again"


def test_a_pod_takes_its_time() -> None:
    stage = Stage("pull=2,start=3,ready=4")
    assert (stage.state(0), stage.at(0)["phase"]) == ("ContainerCreating", "Pending")
    assert stage.after == pytest.approx(4.5), "counted from the whole second it began in"
    assert (stage.state(5), stage.at(5)["phase"], stage.ready) == ("running", "Running", "False")
    [unready] = [c for c in stage.at(5)["conditions"] if c["type"] == "ContainersReady"]
    assert unready["reason"] == "ContainersNotReady"
    assert unready["message"] == "containers with unready status: [main]"
    stage.at(9)
    assert (stage.ready, stage.after) == ("True", None)


def test_a_pod_that_crashes_is_restarted_later_each_time() -> None:
    stage = Stage("run=1,exit=3")
    assert stage.state(0) == "running"
    assert stage.state(1) == "running"
    assert stage.at(1)["containerStatuses"][0]["restartCount"] == 1
    assert stage.state(2) == "CrashLoopBackOff"
    assert (stage.at(2)["phase"], stage.ready) == ("Running", "False")
    assert stage.after == pytest.approx(9.5)
    [container] = stage.at(12)["containerStatuses"]
    assert (container["restartCount"], "running" in container["state"]) == (2, True)
    assert container["lastState"]["terminated"]["exitCode"] == 3
    assert stage.state(13) == "CrashLoopBackOff"
    assert stage.after == pytest.approx(19.5)
    assert "back-off 20s restarting failed container=main pod=web-1" in str(stage.at(13))
    assert stage.at(86_400)["containerStatuses"][0]["restartCount"] > 100


@pytest.mark.parametrize(
    ("text", "policy", "phase"),
    [
        ("", "Never", "Succeeded"),
        ("", "OnFailure", "Succeeded"),
        ("fail", "Never", "Failed"),
        ("fail", "OnFailure", "Running"),
        ("hang", "Never", "Pending"),
        ("run=never", "Never", "Running"),
    ],
)
def test_pods_that_are_to_end_do(text: str, policy: str, phase: str) -> None:
    assert Stage(text, policy).at(0)["phase"] == phase


def test_images_that_cannot_be_pulled() -> None:
    stage = Stage("pull=error")
    assert stage.state(0) == "ErrImagePull"
    assert stage.state(11) == "ImagePullBackOff"
    assert (stage.pod["status"]["phase"], stage.after) == ("Pending", None)
    stage.play = PodPlay()
    assert stage.state(12) == "running", "the image is there now"


def test_what_makes_no_sense_means_nothing() -> None:
    assert PodPlay.parse("") == PodPlay.parse("nonsense,=,start=soon,ready=-1,exit=x") == PodPlay()
    assert PodPlay.parse("start=never, stop=2.5") == PodPlay(start=NEVER, stop=2.5)
    assert PodPlay.parse("exit=999").exit_code == 255


def test_a_clock_that_is_set_back_stops_no_pod() -> None:
    stage = Stage("ready=5")
    stage.at(0)
    assert stage.ready == "False"
    stage.at(-3600)
    assert stage.ready == "True"


def test_no_container_starts_or_ends_later_than_the_clock_shows() -> None:
    late = Stage("start=5")
    late.at(0)
    [container] = late.at(-3600)["containerStatuses"]
    assert container["state"] == {"running": {"startedAt": "2031-05-06T06:08:09Z"}}
    failing = Stage("run=1,exit=3")
    failing.at(0)
    [container] = failing.at(-3600)["containerStatuses"]
    assert container["restartCount"] == 1, "not again and again until the old time"
    assert container["lastState"]["terminated"]["finishedAt"] == "2031-05-06T06:08:09Z"


@pytest.mark.parametrize(
    ("stop", "passed", "left"),
    [
        ("0", 0, -0.5),
        ("10", 0, 9.5),
        ("10", 12, -2.5),
        ("10", -3600, 0.0),
        ("never", 12, NEVER),
        ("never", -3600, NEVER),
    ],
)
def test_a_pod_takes_its_time_to_stop_by_another_clock(
    stop: str, passed: float, left: float
) -> None:
    deleted = {"deletionTimestamp": "2031-05-06T07:08:39Z", "deletionGracePeriodSeconds": 30}
    play, now = PodPlay.parse(f"stop={stop}"), NOW + timedelta(seconds=passed)
    assert until_stopped({"metadata": deleted}, play, now) == left
