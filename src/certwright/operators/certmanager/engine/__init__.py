"""Brings an installation of cert-manager to a cluster, whichever custom resource asks for it.

What enters is a custom resource that an `InstallKind` turns into an `InstallRequest`, the objects
that follow from it, and what the cluster shows. What leaves are writes, in an order that leaves a
working cert-manager at every moment, and an `InstallReport`, which the `InstallKind` turns into a
status.

==================  =============================================================
`port`              what a custom resource contributes, and the report it gets
`view`              the cluster as a pass sees it
`observed`          how components and definitions are, from their objects
`steps`             which objects belong to which step, and the order of steps
`preflight`         what stands in the way, all of it at once
`gates`             evidence that a step has come to its end
`pullsecret`        the Secret with which images are pulled
`secretview`        single Secrets, watched by name
`deletion`          in which order objects go, and what is only released
`plan`              what a pass is to do, and what it saw
`migration`         stored versions that the next definitions do not know
`claim`             one custom resource holds the installation
`removal`           what goes, in which order, and what stays
`controller`        the whole pass
==================  =============================================================
"""
