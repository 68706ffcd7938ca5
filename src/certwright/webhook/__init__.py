"""Serves reviews: functions decide whether requests to the API pass, and how.

::

    def check(review: AdmissionReview) -> Decision:
        return Allow() if review.obj()["data"] else Deny("data is empty")

    webhook = AdmissionHandler("data.example.com", check, [intercept(ConfigMap, "CREATE")])
    operator = webhook_operator([webhook], CertificateDirectory("/tls"), ListenAddress(9443, "::"))
    await Manager(client, [operator]).run()

A request of the API server enters at `server`, which bounds it; an endpoint reads the review and
asks the function (`endpoints`); its decision leaves as an answer (`decisions`). `sources` and `tls`
keep the certificate current, `configuration` and `registration` the objects by which the API server
learns of the webhooks, and `selfcheck` tries the way between the two.
"""

from certwright.kube.reviews.admission import AdmissionReview
from certwright.tls.directory import CertificateDirectory
from certwright.webhook.configuration import Registration, configurations
from certwright.webhook.decisions import Allow, Decision, Deny, Patch
from certwright.webhook.declaration import (
    AdmissionHandler,
    ConversionHandler,
    NotConverted,
    intercept,
)
from certwright.webhook.operator import webhook_operator
from certwright.webhook.server import ReviewLimits
from certwright.webhook.sources import CertificateSecret

__all__ = [
    "AdmissionHandler",
    "AdmissionReview",
    "Allow",
    "CertificateDirectory",
    "CertificateSecret",
    "ConversionHandler",
    "Decision",
    "Deny",
    "NotConverted",
    "Patch",
    "Registration",
    "ReviewLimits",
    "configurations",
    "intercept",
    "webhook_operator",
]
