"""``python -m certwright.issuers.vault``; ``--help`` lists what it can do."""

from certwright.issuers.vault.issuer import app

app.main()
