"""Issuers that answer Kubernetes' own CertificateSigningRequests wrongly."""

from dataclasses import replace
from datetime import timedelta

from tests.component.issuer.conformance.bare import Bare
from tests.component.issuer.conformance.faulty.certificates import AnotherKey, FiveMinutesLonger
from tests.component.issuer.conformance.faulty.certificates import UsagesIgnored as UsagesOfOne
from tests.component.issuer.conformance.faulty.chains import RootInChain
from tests.component.issuer.conformance.faulty.encodings import NamesNotCritical
from tests.component.issuer.conformance.faulty.fault import CSR_BEHAVIOUR, fault

from certwright import pki
from certwright.kube import JsonObject, Key
from certwright.runtime import Context, Outcome

CSR = "CertificateSigningRequest"
RSA = "one DNS name, RSA key"
APPROVAL = "a request waits for approval"


# Certificates


@fault("KeyMismatch", RSA, CSR)
class AnotherKeyInCsrs(AnotherKey):
    pass


@fault("DurationMismatch", RSA, CSR)
class FiveMinutesLongerInCsrs(FiveMinutesLonger):
    pass


@fault("RootInChain", RSA, CSR)
class RootInChainOfCsrs(RootInChain):
    pass


@fault("NotCritical", "a URI", CSR)
class NamesNotCriticalInCsrs(NamesNotCritical):
    pass


@fault("MissingUsage", "four usages", CSR)
class UsagesOfCsrsIgnored(UsagesOfOne):
    pass


@fault("DurationMismatch", "a lifetime by annotation and by seconds", CSR)
class AnnotationOfLifetimeIgnored(Bare):
    def csr_terms(self, request: JsonObject) -> pki.RequestTerms:
        seconds = timedelta(seconds=request["spec"]["expirationSeconds"])
        return replace(super().csr_terms(request), lifetime=seconds)


@fault("DurationMismatch", "a common name and a lifetime by seconds", CSR)
class SecondsIgnored(Bare):
    def csr_terms(self, request: JsonObject) -> pki.RequestTerms:
        return replace(super().csr_terms(request), lifetime=pki.RequestTerms().lifetime)


@fault("CaMismatch", "a certificate authority", CSR)
class AnnotationOfAuthorityIgnored(Bare):
    def csr_terms(self, request: JsonObject) -> pki.RequestTerms:
        return replace(super().csr_terms(request), is_ca=False)


# Behaviour


@fault("UnapprovedTouched", APPROVAL, CSR_BEHAVIOUR)
class AsksForNoApprovalOfCsrs(Bare):
    def may_sign_csr(self, types: set[str]) -> bool:
        return True


@fault("NotAnswered", APPROVAL, CSR_BEHAVIOUR)
class NeverAnswersCsrs(Bare):
    def may_sign_csr(self, types: set[str]) -> bool:
        return False


@fault("DeniedTouched", "a denied request is left alone", CSR_BEHAVIOUR)
class FailsDeniedCsrs(Bare):
    def may_sign_csr(self, types: set[str]) -> bool:
        return True

    def csr_terms(self, request: JsonObject) -> pki.RequestTerms:
        raise ValueError("denied")


@fault("ForeignTouched", "requests to other signers are left alone", CSR_BEHAVIOUR)
class AnswersForOtherSigners(Bare):
    def is_our_signer(self, plural: str) -> bool:
        return True


@fault("FailedWithoutIssuer", "a request waits for its issuer", CSR_BEHAVIOUR)
class FailsCsrsWithoutIssuer(Bare):
    async def wait_csr(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        return await self.refuse_csr(ctx, key, request)


@fault("BadRequestSigned", "a lifetime that cannot be parsed is refused", CSR_BEHAVIOUR)
class SignsALifetimeThatIsNone(Bare):
    def csr_terms(self, request: JsonObject) -> pki.RequestTerms:
        return pki.RequestTerms()
