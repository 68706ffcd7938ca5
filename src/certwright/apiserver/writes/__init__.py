"""The way of an object into the storage, whatever verb brought it.

A decoded body enters (`decode`), a stored `Record` leaves (`writes`). In between are the
namespace, the metadata, the rights that a role may grant (`escalation`), what only
CertificateSigningRequests have, and deletion with its finalizers and preconditions.
"""
