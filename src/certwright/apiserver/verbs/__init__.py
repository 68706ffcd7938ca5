"""The verbs of the API: a `Call` enters, a response leaves.

`verbs` has get, create, update and delete; lists, watches, patches, scale, reviews and the
subresources that do something (token, eviction, binding) have modules of their own. What they
store goes through `writes`.
"""
