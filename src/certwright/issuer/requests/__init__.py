"""Requests: CertificateRequests and CertificateSigningRequests go in; one status write each
comes out.
"""
