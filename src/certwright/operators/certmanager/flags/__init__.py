"""From what a request says about the flags of a component to the arguments of its container.

The arguments of the bundle, the overrides and the table of flags of the version enter; arguments in
a fixed order, the values that other objects depend on, and problems leave.

==================  =============================================================
`arguments`         arguments of a container, read and written
`table`             what has to be known of each flag
`values`            the text of a value, by the type of its flag
`effective`         defaults and overrides merged, unknown flags refused
`checks`            values that do not fit each other
==================  =============================================================
"""
