"""The real cert-manager, for tests and benchmarks, on the real control plane.

`obtain_cert_manager` finds or builds its controller and webhook, `cert_manager` installs its
definitions on a control plane and runs both beside it until the context ends.
"""

from certwright.testkit.certmanager.assets import obtain_cert_manager
from certwright.testkit.certmanager.certmanager import CertManager, cert_manager
from certwright.testkit.certmanager.definitions import official_definitions

__all__ = ["CertManager", "cert_manager", "obtain_cert_manager", "official_definitions"]
