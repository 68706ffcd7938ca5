"""``python -m certwright.issuers.cfssl``; ``--help`` lists what it can do."""

from certwright.issuers.cfssl.issuer import app

app.main()
