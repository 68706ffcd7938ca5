"""An issuer that forwards requests to a CFSSL server.

A request enters; `client` sends it to the server, and `issuer` returns the certificate. Run it
with ``python -m certwright.issuers.cfssl run``.
"""

from certwright.issuers.cfssl.client import CfsslClient, CfsslRefused, Profile
from certwright.issuers.cfssl.issuer import CfsslSpec, app

__all__ = ["CfsslClient", "CfsslRefused", "CfsslSpec", "Profile", "app"]
