"""Manifests: text, files and Secrets go in; objects with their origin come out, within limits."""
