"""Who uses the certificates: what other controllers tell a rotation, so that it need not wait.

Without an observer a rotation goes by the time alone: a change of a Secret is believed to be
everywhere after `CertificateOperatorSettings.propagation`. With one, it goes on as soon as all have
shown what they have. To plug one in::

    settings = CertificateOperatorSettings(observer=observer, channels=[changed])

and send the key of the authority's DiscoveryServiceCertificate through the channel whenever an
answer of the observer has changed; or name in ``watched`` the objects of a DiscoveryService that
the observer reads. The one that reads the reports of control planes is ``connected.observer``.

What a controller has to do for a DiscoveryService is little: create the certificates (the authority
with renewal enabled, and as its controller the DiscoveryService), take what webhook configurations
and ConfigMaps are to trust from ``ca.crt`` of the authority's Secret, and copy ``status.rotation``
of the authority into its own status. Such objects are found by their labels
(`places.SERVICE_LABELS`, `places.INSTANCE`), and a rotation waits until all of them name what they
should.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from certwright.kube import Key
from certwright.runtime import Context


@dataclass(frozen=True, slots=True)
class Users:
    """Who uses the certificate of a Secret."""

    serials: Mapping[str, str] = field(default_factory=dict)
    """The serial number, in lower-case hexadecimal, that each of them has shown, by its name."""
    bundles: Mapping[str, str] = field(default_factory=dict)
    """The `contents.bundle_digest` of what each of them trusts, of those who tell, by its name.

    Of others, the serial tells: clients get a certificate anew once their Secret has the bundle.
    """
    complete: bool = False
    """Whether these are all there are, so that none may appear with an older certificate."""


class CertificateObserver(Protocol):
    """Tells what is known of those who use certificates. Must answer at once, from memory."""

    def observe(self, ctx: Context, service: Key) -> Callable[[Key], Users]:
        """Return what tells, during one pass, who uses the certificate of a Secret.

        *service* has the name of the DiscoveryService and the namespace of its control plane.
        """
        ...
