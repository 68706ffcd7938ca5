"""Serves reviews: functions decide whether requests to the API pass, and how.

::

    def check(review: AdmissionRequest) -> Decision:
        return Allowed() if review.obj()["data"] else Denied("data is empty")

    webhook = AdmissionWebhook("data.example.com", check, [intercept(ConfigMap, "CREATE")])
    operator = webhook_operator([webhook], CertificateDirectory("/tls"), ListenAddress(9443, "::"))
    await Manager(client, [operator]).run()

A request of the API server enters at `server`, which bounds it; an endpoint reads the review and
asks the function (`endpoints`); its decision leaves as an answer (`decisions`). `sources` and `tls`
keep the certificate current, `configuration` and `registration` the objects by which the API server
learns of the webhooks, and `selfcheck` tries the way between the two.
"""

from certwright.kube.reviews.admission import AdmissionRequest
from certwright.webhook.configuration import Registration, configurations
from certwright.webhook.decisions import Allowed, Decision, Denied, Patched
from certwright.webhook.declaration import (
    AdmissionWebhook,
    ConversionFailed,
    ConversionWebhook,
    intercept,
)
from certwright.webhook.operator import webhook_operator
from certwright.webhook.server import ReviewLimits
from certwright.webhook.sources import CertificateDirectory, CertificateSecret

__all__ = [
    "AdmissionRequest",
    "AdmissionWebhook",
    "Allowed",
    "CertificateDirectory",
    "CertificateSecret",
    "ConversionFailed",
    "ConversionWebhook",
    "Decision",
    "Denied",
    "Patched",
    "Registration",
    "ReviewLimits",
    "configurations",
    "intercept",
    "webhook_operator",
]
