"""Behaviours: what an issuer must do besides signing, such as waiting for approval.

A cluster with the issuer enters; each behaviour leaves a result, with what was wrong.
"""
