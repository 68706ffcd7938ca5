"""Requests: CertificateRequests and CertificateSigningRequests enter; one status write each leaves.

`kind` is what both have in common, `certificaterequest` and `signingrequest` read one kind, decide
its phase and build its status; `controller` is the whole pass: read, decide, sign, write.
"""
