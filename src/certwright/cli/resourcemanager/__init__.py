"""``certwright resource-manager``: the operators as one process.

`flags` reads the command line, `process` merges it with the configuration file, connects to the
source and target clusters, and runs what is switched on until a signal ends it.
"""
