"""Tests whether an issuer conforms: any issuer, in any language, on any cluster.

As a test class (`IssuerConformance`), as a command (``conformance``), or as a function::

    report = await run(Subject(client, clock, issuer, resource, namespace))

The kit makes and approves requests of every kind and compares each answer with the request. It
also tests the protocol: when the issuer must wait, what it must refuse, what it must not touch.
Every violation has a name. What an authority cannot do is declared as a `Feature` and skipped.
"""

from certwright.issuer.conformance.behaviours.behaviour import Behaviour, NotApplicable
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.command import (
    DESCRIPTION,
    IssuerName,
    Options,
    add_arguments,
    main,
    run_arguments,
)
from certwright.issuer.conformance.matrix import junit, render
from certwright.issuer.conformance.results import Report, Result, Verdict
from certwright.issuer.conformance.runner import ITEMS, prove, run
from certwright.issuer.conformance.suite import IssuerConformance
from certwright.issuer.conformance.undertest import Subject

__all__ = [
    "DESCRIPTION",
    "ITEMS",
    "Behaviour",
    "Case",
    "Feature",
    "IssuerConformance",
    "IssuerName",
    "NotApplicable",
    "Options",
    "Report",
    "Result",
    "Subject",
    "Verdict",
    "add_arguments",
    "junit",
    "main",
    "prove",
    "render",
    "run",
    "run_arguments",
]
