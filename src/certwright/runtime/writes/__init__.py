"""Writes of a controller: objects, statuses, finalizers and events go in; at most the calls
that change something come out.
"""
