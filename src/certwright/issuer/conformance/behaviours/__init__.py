"""Behaviours: what an issuer must do besides signing; a cluster enters, a result of each leaves."""
