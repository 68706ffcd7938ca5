"""Lifecycle: what happens to objects after a write: deletion, garbage collection, namespaces,
custom resources.
"""
