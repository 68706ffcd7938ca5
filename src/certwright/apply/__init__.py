"""Bring objects to a cluster and keep them as declared."""
