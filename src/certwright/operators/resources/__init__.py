"""Keep objects as Secrets describe them: the operator of `ManagedResource`.

What can be decided without a cluster is decided by pure functions in modules named after the
subject; what talks to clusters only carries their decisions out.
"""
