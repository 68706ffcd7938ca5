"""``python -m certwright.issuers.ca``; ``--help`` lists what it can do."""

from certwright.issuers.ca.issuer import app

app.main()
