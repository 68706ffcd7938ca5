"""The objects of a control plane, each a pure function of what is asked for.

What enters is a `DiscoveryPlane`, and where it matters the certificate of the server; what leaves
are objects as they are written, with the names and labels of marin3r.
"""
