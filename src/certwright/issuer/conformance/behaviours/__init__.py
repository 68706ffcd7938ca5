"""Behaviours: what an issuer must do besides signing."""
