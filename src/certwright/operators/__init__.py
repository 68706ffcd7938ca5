"""Operators: controllers with a purpose, built on the runtime. None imports another.

`managedresource` keeps objects as Secrets describe them, `garbagecollector` deletes immutable
configuration that nothing uses, `tokenrequestor` requests and renews tokens of ServiceAccounts.
"""
