"""The operator of `ManagedResource`: keeps objects as Secrets describe them.

::

    operator = resource_operator(load(document).configuration)
    await Manager(client, [operator]).run()

What can be decided without a cluster is decided by pure functions in modules named after the
subject; what talks to clusters only carries their decisions out.

==================  =============================================================
`configuration`     the configuration file and the flags of a command line
`operator`          all of it as an operator: caches, controllers, channels
`controller`        one pass: read, decide, act, report
`decision`          what to do about a ManagedResource, and when again
`input`             the Secrets, and the facts that follow from them
`declared`          from the data of Secrets to objects
`policy`            from annotations and specs to the rules of the engine
`ownership`         whose an object is
`inventory`         which objects belong to it; `shards`, what does not fit
`deletion`          the end of a ManagedResource
`health`            how its objects are
`status`            what is written; `messages`, every word of it
`state`             what is remembered between two passes
`preview`           the same pass with dry runs
==================  =============================================================
"""

from certwright.operators.managedresource.configuration import (
    Configuration,
    ConfigurationError,
    load,
    load_with_flags,
    read_file,
)
from certwright.operators.managedresource.operator import cluster_id, resource_operator
from certwright.operators.managedresource.preview import Preview, preview

__all__ = [
    "Configuration",
    "ConfigurationError",
    "Preview",
    "cluster_id",
    "load",
    "load_with_flags",
    "preview",
    "read_file",
    "resource_operator",
]
