"""How a played cert-manager behaves: its delays and its faults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random

from certwright.testkit.actors.podplay import NEVER, PodPlay


@dataclass(frozen=True, slots=True, kw_only=True)
class CertManagerPlay:
    """Delays in seconds; `NEVER` is for what does not happen."""

    pods: Mapping[str, PodPlay] = field(default_factory=dict)
    """How pods live, by image: names may hold ``*``, and the longest that fits counts."""
    authority: float = 0.0
    """From the start of a webhook until its authority is stored in a Secret."""
    injection: float = 0.0
    """From the moment a caBundle is not right until the cainjector writes it."""
    answer: float = 0.0
    """How long the webhook takes to answer a review."""
    issuance: float = 0.0
    """From the moment a Certificate can be issued until it is."""
    releases_lease: bool = True
    """Whether a pod that is stopped gives up its Lease, instead of letting it expire."""
    lease: float = 60.0
    """How long a Lease is valid that is not renewed."""
    deadline: float = 40.0
    """How long the holder of a Lease goes on if it cannot renew it."""
    retry: float = 15.0
    """How often a Lease is tried for; pods that do not hold it try less often, by up to 120 %."""
    renewal: float | None = None
    """How often the holder of a Lease renews it; None: as often as others try to take it."""
    seed: int = 0

    def pod(self, image: str) -> PodPlay:
        """Return how a pod with an image lives."""
        fitting = [pattern for pattern in self.pods if fnmatchcase(image, pattern)]
        return self.pods[max(fitting, key=len)] if fitting else PodPlay()


def random_play(seed: int, *, faults: bool = True) -> CertManagerPlay:
    """Draw a play; with *faults*, in every second one something never happens."""
    rng = Random(f"cert-manager {seed}")
    pods = {f"*cert-manager-{name}[:@]*": _random_pod(rng) for name in _COMPONENTS}
    play = {name: rng.choice((0.0, 1.0, rng.uniform(0, 30))) for name in _DELAYS}
    if faults and seed % 2:
        broken = rng.choice((*_COMPONENTS, *_DELAYS))
        if broken in play:
            play[broken] = NEVER
        else:
            fault = rng.choice((PodPlay(pull_fails=True), PodPlay(start=NEVER), _NEVER_READY))
            pods[f"*cert-manager-{broken}[:@]*"] = fault
    releases, answer = rng.random() < 0.7, rng.choice((0.0, 2.0))
    return CertManagerPlay(pods=pods, seed=seed, releases_lease=releases, answer=answer, **play)


_COMPONENTS = ("controller", "webhook", "cainjector")
_DELAYS = ("authority", "injection", "issuance")
_NEVER_READY = PodPlay(ready=NEVER)


def _random_pod(rng: Random) -> PodPlay:
    delays = [rng.choice((0.0, float(rng.randrange(20)))) for _ in range(4)]
    return PodPlay(pull=delays[0], start=delays[1], ready=delays[2], stop=delays[3])
