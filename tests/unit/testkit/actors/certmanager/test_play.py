"""How a play is drawn and asked."""

from certwright.testkit.actors.certmanager.play import CertManagerPlay, random_play
from certwright.testkit.actors.podplay import NEVER, PodPlay

IMAGES = {
    name: f"quay.io/jetstack/cert-manager-{name}:v1.21.2"
    for name in ("controller", "webhook", "cainjector")
}


def test_the_longest_name_that_fits_counts() -> None:
    play = CertManagerPlay(
        pods={"*": PodPlay(start=1), "*-webhook:*": PodPlay(start=2), "*:v1.20.3": PodPlay(start=3)}
    )
    assert play.pod(IMAGES["controller"]).start == 1
    assert play.pod(IMAGES["webhook"]).start == 2
    assert play.pod("x/cert-manager-controller:v1.20.3").start == 3
    assert CertManagerPlay().pod(IMAGES["webhook"]) == PodPlay()


def test_a_seed_gives_one_play() -> None:
    assert random_play(5) == random_play(5)
    assert random_play(5) != random_play(7)


def broken(play: CertManagerPlay) -> list[str]:
    """Return what never happens in a play."""
    delays = {name: getattr(play, name) for name in ("authority", "injection", "issuance")}
    found = [name for name, delay in delays.items() if delay == NEVER]
    for name, image in IMAGES.items():
        pod = play.pod(image)
        if pod.pull_fails or NEVER in {pod.start, pod.ready}:
            found.append(name)
    return found


def test_every_second_play_has_one_fault() -> None:
    faults = [broken(random_play(seed)) for seed in range(60)]
    assert {len(found) for found in faults[::2]} == {0}
    assert {len(found) for found in faults[1::2]} == {1}
    assert len({found[0] for found in faults[1::2]}) == 6, "all kinds of faults are drawn"
    assert not any(broken(random_play(seed, faults=False)) for seed in range(60))
