"""Issuers: an issuer object and its Secrets enter; its Ready condition leaves.

`controller` decides when to check, `reader` reads the issuer and its Secrets, `status` writes the
condition.
"""
