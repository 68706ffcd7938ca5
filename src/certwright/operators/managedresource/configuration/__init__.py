"""The configuration of the resource manager: from a file and flags to checked settings.

What enters is a document of kind ``ResourceManagerConfiguration`` and the flags that were typed;
what leaves is a `Configuration`, or a `ConfigurationError` that lists every problem with its path.

==============  ==================================================================
`settings`      what can be set, as msgspec Structs with the defaults
`decode`        from a document to these Structs, and the text of each problem
`validation`    what values must fulfil beyond having the right type
`load`          a whole file, with the parts that have no effect here
`flags`         the same settings on a command line
==============  ==================================================================
"""

from certwright.operators.managedresource.configuration.decode import (
    ConfigurationError,
    ConfigurationProblem,
)
from certwright.operators.managedresource.configuration.flags import FLAGS, Flag, load_with_flags
from certwright.operators.managedresource.configuration.load import (
    LoadedConfiguration,
    load,
    read_file,
)
from certwright.operators.managedresource.configuration.settings import (
    ClientConnection,
    Configuration,
    Controllers,
    GarbageCollectorSettings,
    HealthSettings,
    LeaderElectionSettings,
    ManagedResourceSettings,
)

__all__ = [
    "FLAGS",
    "ClientConnection",
    "Configuration",
    "ConfigurationError",
    "ConfigurationProblem",
    "Controllers",
    "Flag",
    "GarbageCollectorSettings",
    "HealthSettings",
    "LeaderElectionSettings",
    "LoadedConfiguration",
    "ManagedResourceSettings",
    "load",
    "load_with_flags",
    "read_file",
]
