"""Writes of a controller: objects, statuses, finalizers and events go in; only the calls that
change something come out, and their results are in the cache at once.

`writer` sends and notes writes, `patches` computes them, `events` records Events.
"""
