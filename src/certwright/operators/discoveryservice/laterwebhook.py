"""The webhook Deployment of marin3r's later era, for manifests that still have one.

There, one Deployment of its own answers all reviews. Here the pods of each DiscoveryService do. If
that Deployment did not run, its webhook configurations would refuse every labelled Pod; so it
answers: EnvoyConfigs are checked, and Pods stay as they are, because the webhook of their
DiscoveryService injects them.
"""

from typing import Final

from certwright.kube.kinds import Pod
from certwright.operators.discoveryservice.config.review import config_webhook
from certwright.operators.discoveryservice.injection.review import PATH
from certwright.runtime import ListenAddress, Operator
from certwright.tls.directory import CertificateDirectory
from certwright.webhook import AdmissionHandler, AdmissionReview, Allow, Decision, intercept
from certwright.webhook.operator import webhook_operator
from certwright.xds.schema.schema import MessageSchema

CONFIG_PATH: Final = "/validate-marin3r-3scale-net-v1alpha1-envoyconfig"
_NAME: Final = "later-sidecar-injector.marin3r.3scale.net"


def later_webhook_operator(
    schema: MessageSchema, certificates: CertificateDirectory, address: ListenAddress
) -> Operator:
    """Return the server of reviews, under the paths of that Deployment."""
    pods = AdmissionHandler(
        _NAME, _leave, [intercept(Pod, "CREATE", scope="Namespaced")], mutating=True, path=PATH
    )
    return webhook_operator(
        [pods, config_webhook(lambda: schema, CONFIG_PATH)], certificates, address
    )


def _leave(_review: AdmissionReview) -> Decision:
    return Allow()
