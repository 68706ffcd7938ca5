"""Issuers: an issuer object and its Secrets go in; its Ready condition comes out."""
