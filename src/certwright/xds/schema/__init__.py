"""Envoy's messages as data: which fields there are, and what each of them must be.

A set of file descriptors enters, taken from an Envoy or from the package of its messages
(`descriptors`); a `MessageSchema` leaves, which makes messages of JSON objects. What does not fit
is refused with the path of the field: a name or type that is unknown (`location`), a broken rule
(`constraints`), or the name of a resource that is not there (`references`).
"""
