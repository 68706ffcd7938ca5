"""CRDs from types: msgspec types and their annotations enter; structural schemas and
CustomResourceDefinitions leave, checked before a server would refuse them.

`markers` and `definition` are what authors write, `structural` turns types into schemas,
`check` and `columns` verify them, `crd` puts the manifest together.
"""
