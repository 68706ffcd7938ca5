"""``certwright apply``, ``diff``, ``delete`` and ``tree``: manifests as a set with a name.

`command` declares their options. Files enter through `inputs` and get their namespaces in
`namespaces`; `inventory` opens the set of objects they belong to. `apply`, `delete` and `tree`
carry a command out, `protection` names what they do not delete unasked, `wait` is ``--wait``, and
`results` turns what was done into a table, JSON or YAML.
"""
