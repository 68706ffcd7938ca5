"""Issuers that work as they are, and read as examples of how to write one.

::

    selfsigned  ca  pkcs11    sign here: with the request's key, a Secret's, one inside an HSM
    acme  cfssl  vault        ask somebody else to sign
    web                       how those who ask speak HTTPS

Each package has the same two halves: modules that know a protocol or a decision and nothing
of Kubernetes, and ``issuer``, the few lines that make an issuer of it.
"""
