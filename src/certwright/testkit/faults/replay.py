"""Seeing a failed run again: how it is named, and how one asks for it.

The pytest plugin turns its options into the environment variables read here, so that the
simulation needs no pytest.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

REPLAY = "CERTWRIGHT_REPLAY"
SEEDS = "CERTWRIGHT_SEEDS"


@dataclass(frozen=True, slots=True)
class Replay:
    """One run: its name within the test, and the digest of its trace."""

    name: str
    digest: str = ""

    @classmethod
    def asked_for(cls, environment: Mapping[str, str] = os.environ) -> "Replay | None":
        """Return the run to repeat, if any."""
        text = environment.get(REPLAY, "")
        if not text:
            return None
        name, _, digest = text.partition("@")
        return cls(name, digest)

    @staticmethod
    def seeds(default: range, environment: Mapping[str, str] = os.environ) -> range:
        """Return the seeds to run: the default, or up to the number asked for."""
        text = environment.get(SEEDS, "")
        return range(default.start, int(text), default.step) if text else default

    @staticmethod
    def is_campaign(environment: Mapping[str, str] = os.environ) -> bool:
        """Return whether more runs are asked for than by default."""
        return SEEDS in environment

    def command(self, environment: Mapping[str, str] = os.environ) -> str:
        """Return the command that repeats the run; a campaign tries what is else left out."""
        test = environment.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        replay = f"--certwright-replay={self.name}@{self.digest}"
        campaign = [f"--certwright-seeds={environment[SEEDS]}"] if SEEDS in environment else []
        return shlex.join(["python", "-m", "pytest", test, replay, *campaign])

    def compare(self, digest: str) -> list[str]:
        """Report when a replay did not take the same way as the run it repeats."""
        if not self.digest or self.digest == digest:
            return []
        return [f"the replay took another way: trace {digest}, not {self.digest}"]
