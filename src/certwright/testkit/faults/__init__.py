"""Faults: a scenario goes in; runs with crashes, stale views and lost events come out, each
reproducible from its seed.
"""
