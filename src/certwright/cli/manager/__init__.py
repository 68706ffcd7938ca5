"""``certwright manager``: the operators that are named, as one process.

`flags` reads the command line, which also takes the flags of cmd-operator; `process` turns it into
the configuration of the resource manager, which says where to connect and what to serve, and adds
what installs cert-manager.
"""
