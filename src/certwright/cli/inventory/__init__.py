"""``certwright inventory``: which inventories a cluster has, and what they list.

ConfigMaps enter, a table, JSON or YAML leaves: `command` has the command lines, `summary` reads the
ConfigMaps of each inventory, `show` asks the cluster and prints.
"""
