"""Dialects: the annotations and marks of the tools whose users we serve, as pure functions.

In: a workload as it is written. Out: a policy, or None. `certwright` is our own dialect, `redhat`
that of cmd-operator, `ibm` those of IBM's operator and of its configmap-watcher, `reloader` that of
Stakater Reloader. `restraint` reads what holds restarts back, which is the same in all of them;
`choice` makes dialects by their names.
"""

__all__: list[str] = []
