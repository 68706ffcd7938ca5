"""``certwright run``: controllers from files or modules as one process.

The names of controllers enter; `process` loads them, connects, and runs them with probes, metrics
and leader election until a signal ends it.
"""
