"""An issuer as a process: its controllers, its command, and what a cluster needs for it.

An `IssuerApp` enters; `assembly` makes an operator of it, `run` and `command` a process with a
command line, `manifests` the objects to install, `preflight` the check of an installation.
"""
