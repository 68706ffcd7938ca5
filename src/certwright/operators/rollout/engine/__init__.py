"""Watches workloads and what they consume, restarts, and reports.

In: the settings of the operator with its dialects. Out: one patch per restart, events on the
workloads, and metrics. `views` reduce what is received, `sources` hold digests of Secrets and
ConfigMaps, `registry` knows which restarts are under way, and `controller` is the pass.
"""

__all__: list[str] = []
