"""Small changes of the product that the tests of a scenario must notice.

A test claims an acceptance scenario with ``@pytest.mark.scenario("MR-17")``. A claim is worth
something only if the test fails when the behaviour is absent. So for each scenario there is at
least one mutant: a text in one file of ``src`` that is replaced by another. ``make mutants`` applies
each to a copy of the tree and runs the tests that claim the scenario; one of them must fail. At
first it runs all of them unchanged: they must pass.

The mutants of a spec are the YAML files in the folder of its name, each a list of mappings::

    - scenario: MR-23
      file: keep/drift.py            # below src/certwright
      old: "if entry is None:"       # found exactly once in the file
      new: "if entry is not None:"
      why: edits are not noticed

After a change of the code, `tests/architecture/test_mutants.py` says which mutants do not apply any
more: adjust ``old`` and ``new`` so that they break the same behaviour in the new code.
"""
