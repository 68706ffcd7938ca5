"""Operators: controllers with a purpose, built on the runtime. None imports another."""
