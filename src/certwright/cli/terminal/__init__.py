"""The terminal: results, progress and questions, as every command shows them.

Values enter, and text leaves: `output` makes tables, JSON and YAML, `progress` a line that moves,
`notice` a word about a slow server, `confirm` asks before something is deleted.
"""
