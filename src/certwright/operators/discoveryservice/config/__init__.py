"""Configuration of Envoys: EnvoyConfigs become revisions, and revisions become what is served.

A spec enters at `content`, which reads its texts; `assembly` makes messages of it by the schema,
with what `secrets` and `endpoints` make of other objects, and either a snapshot leaves or the
problems with their paths. `versions` names revisions, `choice` decides which of them is served, and
`envoys.taint` when Envoys have rejected one. The `controller` writes, in the replica that leads;
the `publisher` serves, in every replica. `review` refuses at admission what could not be served.
"""
