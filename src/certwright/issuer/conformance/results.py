"""What came out: one result per case, all of them as a report. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from certwright.issuer.conformance.cases.features import Feature
from certwright.pki import Violation

_BY_EVERY_CASE = frozenset({Feature.SAVE_CA, Feature.SAVE_ROOT_CA})
"""What no case needs because each CertificateRequest shows it."""


class CaseStatus(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended, and why if not well."""

    suite: str
    name: str
    needs: frozenset[Feature]
    violations: tuple[Violation, ...] = ()
    skipped: str = ""
    """The reason why it was not tried."""
    seconds: float = 0.0

    @property
    def status(self) -> CaseStatus:
        """How it ended."""
        if self.skipped:
            return CaseStatus.SKIPPED
        return CaseStatus.FAILED if self.violations else CaseStatus.PASSED

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


class FeatureStatus(StrEnum):
    """What is known of a feature."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    FAILED = "FAILED"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """How an issuer did."""

    subject: str
    results: Sequence[CaseResult]
    unsupported: Mapping[Feature, str]

    def count(self, status: CaseStatus) -> int:
        """Return how many cases ended like this."""
        return sum(result.status is status for result in self.results)

    @property
    def conforms(self) -> bool:
        """Whether nothing failed, and something was tried."""
        return not self.count(CaseStatus.FAILED) and bool(self.count(CaseStatus.PASSED))

    def status_of(self, feature: Feature) -> FeatureStatus:
        """Return what is known of a feature after all."""
        if feature in self.unsupported:
            return FeatureStatus.UNSUPPORTED
        if any(feature in result.blamed for result in self.results):
            return FeatureStatus.FAILED
        passed = [result for result in self.results if result.status is CaseStatus.PASSED]
        if feature in _BY_EVERY_CASE:
            passed = [result for result in passed if result.suite == "CertificateRequest"]
            return FeatureStatus.SUPPORTED if passed else FeatureStatus.NOT_TRIED
        is_proven = any(feature in result.needs for result in passed)
        return FeatureStatus.SUPPORTED if is_proven else FeatureStatus.NOT_TRIED
