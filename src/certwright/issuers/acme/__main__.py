"""``python -m certwright.issuers.acme``; ``--help`` lists what it can do.

With ``ACME_HTTP01_PORT`` set, HTTP-01 proofs are served on that port, by this process.
"""

import os

from certwright.issuers.acme.issuer import acme_issuer, app
from certwright.issuers.acme.responder import Responder

if port := os.environ.get("ACME_HTTP01_PORT"):
    responder = Responder(int(port))
    app = acme_issuer(responder)
    app.on_startup(responder.start)
    app.on_shutdown(responder.stop)

app.main()
