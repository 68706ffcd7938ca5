"""Restarts workloads when the contents of Secrets and ConfigMaps that their pods consume change.

One engine, several dialects. A dialect (`dialects`) reads the annotations of one family of tools
from a `workload` and says as a `policy` which sources count and what a restart leaves behind.
`references` finds what a pod template consumes; `decision` compares the digests recorded on the
workload with those of the present contents and says whether it may restart now; `engine` watches,
writes one patch per restart, and reports. Contents never leave the decoder of the watch: what is
kept of a Secret are keyed digests.
"""

__all__: list[str] = []
