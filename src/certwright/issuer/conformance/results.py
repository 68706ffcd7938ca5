"""What came out: one result per case, all of them as a report. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from certwright.issuer.conformance.cases.features import Feature
from certwright.pki import Violation

_BY_EVERY_CASE = frozenset({Feature.SAVE_CA, Feature.SAVE_ROOT_CA})
"""What no case needs because each CertificateRequest shows it."""


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

    @property
    def blamed(self) -> frozenset[Feature]:
        """The features that are missing as it seems.

        Where a violation tells which one, the others that the case needs are not to blame.
        """
        blamed: frozenset[Feature] = frozenset()
        for violation in self.violations:
            blamed |= _missing_by(violation.name) or self.needs
        return blamed


def _missing_by(violation: str) -> frozenset[Feature]:
    """Return the features whose lack a violation shows, the most particular ones."""
    found = [feature for feature in Feature if violation in feature.forgives]
    fewest = min((len(feature.forgives) for feature in found), default=0)
    return frozenset(feature for feature in found if len(feature.forgives) == fewest)


class Standing(StrEnum):
    """What is known of a feature."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    FAILED = "FAILED"
    NOT_TRIED = "not tried"


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

    def standing(self, feature: Feature) -> Standing:
        """Return what is known of a feature after all."""
        if feature in self.unsupported:
            return Standing.UNSUPPORTED
        if any(feature in result.blamed for result in self.results):
            return Standing.FAILED
        passed = [result for result in self.results if result.verdict is Verdict.PASSED]
        if feature in _BY_EVERY_CASE:
            passed = [result for result in passed if result.suite == "CertificateRequest"]
            return Standing.SUPPORTED if passed else Standing.NOT_TRIED
        is_proven = any(feature in result.needs for result in passed)
        return Standing.SUPPORTED if is_proven else Standing.NOT_TRIED
