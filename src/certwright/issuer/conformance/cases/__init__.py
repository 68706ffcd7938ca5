"""Cases: the certificates that are requested, as data, and the objects that request them.

A case enters the suite as a request and is compared with the certificate that comes back.
"""
