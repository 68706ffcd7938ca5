"""What Envoys say about what they are served, and what follows from it.

Observations of streams enter. `taint` judges them: what one replica reports of its Envoys, and from
the reports of all when a revision is given up. The `reporter` of each replica writes its report, in
which `podnames` finds the Pods of Envoys, and `counts` tells how many Envoys run which version.
Those of other replicas are known by `replicacounts` from the reports in their Leases
(`countreport`). `older` warns of those that do not know all that the schema knows.
"""
