"""An issuer whose certificates are signed with their own key.

A request enters; `issuer` reads the private key from the Secret that the request names, and signs
with it. Run it with ``python -m certwright.issuers.selfsigned run``.
"""

from certwright.issuers.selfsigned.issuer import SelfSignedSpec, app

__all__ = ["SelfSignedSpec", "app"]
