"""``certwright rollout``: run what restarts workloads, and ask what it would do and why.

`flags` reads the command line of ``run``, which also takes the flags of Stakater Reloader;
`process` runs it. `reader` reads workloads and what they consume from a cluster, as the operator
does; `actions` are what the other commands do with it, and `text` puts it into words.
"""
