"""``python -m certwright.issuers.selfsigned``; ``--help`` lists what it can do."""

from certwright.issuers.selfsigned.issuer import app

app.main()
