"""What is served, told to clients: the paths that are no resources.

A request enters `Paths.answer`, and a document leaves: the groups and kinds (`groups`), their
schemas (`openapi`), the version, the health.
"""
