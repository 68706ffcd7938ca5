"""Who owns which field: managedFields and server-side apply.

An object before and after a write enters, the object with its managedFields leaves: sets of
fields (`fieldset`) are taken from objects along their schemas (`typed`, `endpoints`), kept per
manager (`managedfields`), and merged or refused (`merge`, `manager`).
"""
