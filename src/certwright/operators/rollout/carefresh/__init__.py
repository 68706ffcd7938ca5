"""CA refresh: certificates are issued anew when the authority that signs them has changed.

In: Certificates, Issuers and ClusterIssuers of cert-manager, the certificates in their Secrets, and
what the CertManager "default" and marks on authorities ask for. Out: the condition `Issuing` of a
Certificate, which makes cert-manager issue it. No Secret is deleted or written.
"""
