"""PATCH: an object and a patch go in; the changed object comes out."""
