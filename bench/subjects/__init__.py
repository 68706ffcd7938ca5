"""Programs that are measured. Each runs in a process of its own: ``python -m bench.subjects.x``.

A subject gets its `bench.meter.Task` as its only argument and reports by `bench.meter.mark`.
"""
