"""One result per case, and all of them as a report. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from certwright.issuer.conformance.cases.features import Feature
from certwright.pki import Violation

_BY_EVERY_CASE = frozenset({Feature.SAVE_CA, Feature.SAVE_ROOT_CA})
"""Features that every case of a CertificateRequest shows."""
_SHOWN_BY = {Feature.EXACT_SANS: Feature.COMMON_NAME}
"""Features that no case needs, and which feature the cases have that show them."""


class CaseStatus(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended."""

    suite: str
    name: str
    needs: frozenset[Feature]
    violations: tuple[Violation, ...] = ()
    skipped: str = ""
    """Why it was not tried, if so."""
    seconds: float = 0.0
    repaired: tuple[Violation, ...] = ()
    """What was wrong with the authority's chain before the issuer put it in order."""

    @property
    def status(self) -> CaseStatus:
        """How it ended."""
        if self.skipped:
            return CaseStatus.SKIPPED
        return CaseStatus.FAILED if self.violations else CaseStatus.PASSED

    @property
    def missing_features(self) -> frozenset[Feature]:
        """The features that seem to be missing.

        If a violation belongs to one feature, the others that the case needs do not count.
        """
        missing_features: frozenset[Feature] = frozenset()
        for violation in self.violations:
            missing_features |= _missing_by(violation.name) or self.needs
        return missing_features


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
    """The results of one issuer."""

    subject: str
    results: Sequence[CaseResult]
    unsupported: Mapping[Feature, str]

    def count(self, status: CaseStatus) -> int:
        """Return how many cases ended like this."""
        return sum(result.status is status for result in self.results)

    @property
    def repaired(self) -> Sequence[Violation]:
        """Everything that was repaired in chains, each once."""
        found = [violation for result in self.results for violation in result.repaired]
        return list({violation.name: violation for violation in found}.values())

    @property
    def conforms(self) -> bool:
        """Whether something passed and nothing failed."""
        return not self.count(CaseStatus.FAILED) and bool(self.count(CaseStatus.PASSED))

    def status_of(self, feature: Feature) -> FeatureStatus:
        """Return what the results show of a feature."""
        if feature in self.unsupported:
            return FeatureStatus.UNSUPPORTED
        if any(feature in result.missing_features for result in self.results):
            return FeatureStatus.FAILED
        passed = [result for result in self.results if result.status is CaseStatus.PASSED]
        if feature in _BY_EVERY_CASE:
            passed = [result for result in passed if result.suite == "CertificateRequest"]
            return FeatureStatus.SUPPORTED if passed else FeatureStatus.NOT_TRIED
        shown_by = _SHOWN_BY.get(feature, feature)
        is_proven = any(shown_by in result.needs for result in passed)
        return FeatureStatus.SUPPORTED if is_proven else FeatureStatus.NOT_TRIED
