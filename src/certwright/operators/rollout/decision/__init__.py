"""What is decided without a cluster: digests and records, whether to restart, and whether now.

In: a workload, its policy, the digests of what it consumes, and `now`. Out: a decision with the
facts that explain it. Nothing here awaits or logs.
"""

__all__: list[str] = []
