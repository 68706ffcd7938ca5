"""Teams of ConfigMaps: the default is the namespace's name, and unknown teams are denied."""

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.runtime import ListenAddress
from certwright.webhook import (
    AdmissionHandler,
    AdmissionReview,
    Allow,
    CertificateDirectory,
    Decision,
    Deny,
    Patch,
    Registration,
    intercept,
    webhook_operator,
)

LABEL = "demo.certwright.dev/team"
TEAMS = {"payments", "search", "default"}
RULES = [intercept(ConfigMap, "CREATE", "UPDATE")]


def default_team(review: AdmissionReview) -> Decision:
    wanted = review.obj()  # a copy: change it as you like
    wanted["metadata"].setdefault("labels", {}).setdefault(LABEL, review.namespace)
    return Patch(wanted)


def known_team(review: AdmissionReview) -> Decision:
    team = review.obj()["metadata"].get("labels", {}).get(LABEL)
    return Allow() if team in TEAMS else Deny(f"there is no team {team!r}")


default = AdmissionHandler("default.teams.certwright.dev", default_team, RULES, mutating=True)
known = AdmissionHandler("known.teams.certwright.dev", known_team, RULES)
tls = CertificateDirectory("/etc/webhook/tls")
where = Registration("teams", service=Key("teams", "webhook"))
operator = webhook_operator([default, known], tls, ListenAddress.parse(":9443"), registration=where)
