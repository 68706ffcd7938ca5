"""``python -m certwright.issuers.acme``; ``--help`` lists what it can do.

With ``ACME_HTTP01_PORT`` set, HTTP-01 proofs are served on that port, by this process.
"""

import os

from certwright.issuers.acme.issuer import acme_issuer
from certwright.issuers.acme.responder import Responder

port = os.environ.get("ACME_HTTP01_PORT", "")
acme_issuer(*([Responder(int(port))] if port else [])).main()
