"""The discovery protocol without input or output: what a stream is sent next, and what it holds.

A `StateStream` or `DeltaStream` takes requests (`requests`) and snapshots, in any order, and is
asked for the next response when there is room for one. So nothing is queued: while a client reads
slowly, later snapshots replace earlier ones. Each type has at most one response that the client has
not answered yet. `observation` says what the client holds of each type.
"""
