"""CRDs from types: msgspec types and their annotations go in, structural schemas and
CustomResourceDefinitions come out, checked before a server would refuse them.
"""
