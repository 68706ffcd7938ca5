"""YAML and JSON in, objects out, as kubectl reads them and within bounds.

Texts, files, directories or the data of a Secret enter (`read`, `compression`); objects leave, each
with its origin, and an error with its line for each document that cannot be read. `documents`
splits a stream, `yamldocument` and `scalars` read one document, `limits` bounds what a read costs.
"""
