"""Patches: two documents go in and their difference comes out, or a document and a patch
go in and the changed document comes out.
"""
