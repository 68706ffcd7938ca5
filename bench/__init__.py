"""Benchmarks with their peers in the same run: ``python -m bench --help``."""
