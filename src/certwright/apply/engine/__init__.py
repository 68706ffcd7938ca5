"""One object at a time: what is declared enters, what became of the object leaves.

`declared` is an object with its rules, `adoption` says whether it may be written, `preserve` what
is sent, `memory` whether it was sent before; `apply` writes it, `delete` removes or releases it,
and `engine` does both for many objects in the order of their kinds.
"""
