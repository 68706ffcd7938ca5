"""What came out: one result per case, all of them as a report. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from certwright.issuer.conformance.features import Feature
from certwright.pki import Violation


class Verdict(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Result:
    """How one case ended, and why if not well."""

    suite: str
    name: str
    needs: frozenset[Feature]
    violations: tuple[Violation, ...] = ()
    skipped: str = ""
    """The reason why it was not tried."""
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """How it ended."""
        if self.skipped:
            return Verdict.SKIPPED
        return Verdict.FAILED if self.violations else Verdict.PASSED


@dataclass(frozen=True, slots=True)
class Report:
    """How an issuer did."""

    subject: str
    results: Sequence[Result]
    unsupported: Mapping[Feature, str]

    def count(self, verdict: Verdict) -> int:
        """Return how many cases ended like this."""
        return sum(result.verdict is verdict for result in self.results)

    @property
    def conforms(self) -> bool:
        """Whether nothing failed, and something was tried."""
        return not self.count(Verdict.FAILED) and bool(self.count(Verdict.PASSED))

    def of(self, feature: Feature) -> list[Result]:
        """Return the results of the cases that need a feature."""
        return [result for result in self.results if feature in result.needs]
