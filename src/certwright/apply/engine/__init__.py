"""One object at a time: what is declared enters, what became of the object leaves.

`declared` is an object with its rules, `adoption` says whether it may be written, `memory` whether
it was sent before. `apply` writes it in one of two ways: `replace` makes it exactly as declared but
for `keptfields` and what `preserve` keeps, `serverside` shares it with others, after `takeover` of
what other tools left behind; `leftovers` are the labels, annotations and owners that others put
there. `delete` removes or releases it by `deleterules`, and `blockers` says what it waits for.
`findings` is what became of it, and `engine` does all of it for many objects in the order of their
kinds.
"""
