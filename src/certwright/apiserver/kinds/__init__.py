"""What the server knows about a kind it serves.

`builtins` and `crds` make `ServedKind` values, with their schemas, rules and columns; the rest
of the server treats them alike. `traits` are the few habits that differ by kind.
"""
