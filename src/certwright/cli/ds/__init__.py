"""``certwright ds``: the state of DiscoveryServices, and the replacement of their authority.

What enters are a DiscoveryService and its certificates as the server has them; what leaves is text,
and for ``rotate-ca`` a request to the operator, by a condition of the authority's object.
"""
