"""Teams of ConfigMaps: the default is the namespace's name, and unknown teams are denied."""

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.runtime import ListenAddress
from certwright.webhook import (
    AdmissionRequest,
    AdmissionWebhook,
    Allowed,
    CertificateDirectory,
    Decision,
    Denied,
    Patched,
    Registration,
    intercept,
    webhook_operator,
)

LABEL = "demo.certwright.dev/team"
TEAMS = {"payments", "search", "default"}
RULES = [intercept(ConfigMap, "CREATE", "UPDATE")]


def default_team(review: AdmissionRequest) -> Decision:
    wanted = review.obj()  # a copy: change it as you like
    wanted["metadata"].setdefault("labels", {}).setdefault(LABEL, review.namespace)
    return Patched(wanted)


def known_team(review: AdmissionRequest) -> Decision:
    team = review.obj()["metadata"].get("labels", {}).get(LABEL)
    return Allowed() if team in TEAMS else Denied(f"there is no team {team!r}")


default = AdmissionWebhook("default.teams.certwright.dev", default_team, RULES, mutating=True)
known = AdmissionWebhook("known.teams.certwright.dev", known_team, RULES)
tls = CertificateDirectory("/etc/webhook/tls")
where = Registration("teams", service=Key("teams", "webhook"), self_check="teams")
operator = webhook_operator([default, known], tls, ListenAddress.parse(":9443"), registration=where)
