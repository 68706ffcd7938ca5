"""The cache: lists and watches of the API server go in; stores of entries with indexes come
out, always current or known to be stale.

`watch` keeps a store current and recovers from every failure (`state` decides how), `decode`
turns bytes into `entries` (`compression` makes them smaller), `store` holds them and calls
listeners, `cache` shares stores among their users.
"""
