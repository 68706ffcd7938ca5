"""``python -m certwright.issuers.pkcs11``; ``--help`` lists what it can do."""

from certwright.issuers.pkcs11.issuer import app

app.main()
