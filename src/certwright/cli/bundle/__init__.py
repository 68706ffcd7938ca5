"""``certwright bundle``: versions of cert-manager as files, made, looked at and published.

Versions, files, manifests and charts enter; files, tables and ConfigMaps leave. `make` builds and
imports, `show` lists, shows and compares, `publish` brings bundles into a cluster, `inputs` finds
the bundles that are meant.
"""
