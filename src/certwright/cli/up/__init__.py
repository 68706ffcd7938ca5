"""``certwright up``: a cluster in a terminal.

`up` starts the API server and the controllers, `demos` are the operators that run along and what
to try with them, `samples` applies the user's manifests, and `feed` prints every change.
"""
