"""The layout of cert-manager 0.10, as IBM's operator deployed it, as data in code.

What enters is an `InstallRequest`; what leaves are the objects, per step, as from a bundle. Names,
labels, arguments and numbers are those of the operator's first release. What differs is what was
wrong there: Orders and Challenges are namespaced, CertificateRequests are defined, the pods have a
ServiceAccount of their own, and definitions have no owner, so they outlive the installation.
"""
