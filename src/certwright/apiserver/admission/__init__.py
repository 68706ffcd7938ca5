"""Admission webhooks: what the stored configurations want to be asked before something is stored.

A request that a configuration may concern gets an `AdmissionRequest`. Objects enter it on their way
to the storage: mutated after their owners are recorded, validated when nothing will change them any
more. What webhooks have to say is obtained through `certwright.apiserver.webhooks`.
"""
