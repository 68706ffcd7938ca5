"""Benchmarks, with their peers in the same run: ``python -m bench [NAME...]``.

`suite` holds a module per benchmark: what is measured and which bars it is held to. `subjects`
holds the programs that are measured, each in a process of its own, which report through
`meter`. `cannedserver` feeds them faster than any cluster would.
"""
