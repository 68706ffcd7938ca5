"""YAML and JSON in, objects out, as kubectl reads them and within bounds.

What enters are texts, files, directories or the data of a Secret; what leaves are objects, each
with its origin, and an error with its line for each document that cannot be read.

==================  =============================================================
`read`              from texts, files and Secrets to objects and errors
`documents`         splits a stream into documents, and reads those that are JSON
`yamldocument`      one YAML document, from the events of libyaml
`scalars`           what YAML scalars mean to kubectl
`compression`       Brotli, unpacked within bounds
`limits`            how much a read may cost
==================  =============================================================
"""
