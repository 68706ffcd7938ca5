"""Issuers that work as they are, and read as examples of how to write one.

::

    selfsigned  ca  pkcs11    sign by themselves: with the request's key, a Secret's, an HSM's
    acme  cfssl  vault        ask a server to sign
    web                       HTTPS for those that ask a server

Each package has two halves: modules that implement a protocol or a decision and know nothing
of Kubernetes, and ``issuer``, the few lines that make an issuer of them.
"""
