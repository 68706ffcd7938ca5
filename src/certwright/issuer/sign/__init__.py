"""Signing: a request and the author's function go in; a checked bundle or a verdict comes out."""
