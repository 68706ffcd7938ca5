"""The operator of `ManagedResource`: keeps objects as Secrets describe them.

::

    operator = resource_operator(load(document).configuration)
    await Manager(client, [operator]).run()

What can be decided without a cluster is decided by pure functions in modules named after the
subject; what talks to clusters only carries their decisions out.

==================  =============================================================
`configuration`     the configuration file and the flags of a command line
`wiring`            all of it as an operator
`reconcile`         one pass: `gathering`, `applying`, `pruning`, `deletion`
`judging`           the health of the objects, from `healthchecks`
`targets`           the target cluster as a set of stores
`sources`           the Secrets of the source cluster
`policy`            from annotations and specs to the rules of the engine
`claims`            what conditions say, word for word
`preview`           what the next pass would change
`garbage`           deletes configuration that nothing uses any more
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
