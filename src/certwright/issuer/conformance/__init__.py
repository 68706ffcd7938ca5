"""Does an issuer conform? Asked of any issuer, whatever it is written in, on any cluster.

As a test class (`IssuerConformance`), as a command (``conformance``), or as a function::

    report = await run(Subject(client, clock, issuer, resource, namespace))

Requests of every kind are made and approved, and each answer is compared with what was
asked; then the protocol: who waits for whom, what is refused, what is left alone. Every
complaint has a name. What an authority cannot do is declared as a `Feature` and skipped.
"""

from certwright.issuer.conformance.behaviour import Behaviour, NotApplicable
from certwright.issuer.conformance.cases import Case
from certwright.issuer.conformance.command import (
    DESCRIPTION,
    IssuerName,
    Options,
    add_arguments,
    main,
    run_arguments,
)
from certwright.issuer.conformance.features import Feature
from certwright.issuer.conformance.matrix import junit, render
from certwright.issuer.conformance.results import Report, Result, Verdict
from certwright.issuer.conformance.runner import ITEMS, prove, run
from certwright.issuer.conformance.subject import Subject
from certwright.issuer.conformance.suite import IssuerConformance

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
