"""Rules of the built-in kinds: which defaults are set and what is refused, by kind.

An object enters; it leaves completed, or with the causes for which it is refused.
"""
