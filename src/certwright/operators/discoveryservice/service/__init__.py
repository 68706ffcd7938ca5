"""Installs the control plane of a DiscoveryService, and removes it again.

What enters are a DiscoveryService, the namespaces there are, and the certificate of the server;
what leaves are the objects of the control plane, labels of namespaces, and a status. The objects
are a kept set: what others change or delete is restored.

==================  =============================================================
`plane`             what a DiscoveryService asks for, with all defaults
`objects`           its objects: access, certificates, workload, registration
`namespaces`        which namespaces are served, and what each of them gets
`plan`              all objects and labels that follow from what was found
`interests`         which changes concern which DiscoveryService
`observed`          how a control plane is, from its objects
`probe`             a dry run of a labelled Pod, which has to come back injected
`sidecars`          labelled Pods that have no sidecar
`removal`           in which order everything goes
`status`            what is reported; `messages` has the words
`controller`        the whole pass
==================  =============================================================
"""
