"""What a CertManager's status and events tell, from what a pass found."""

from dataclasses import replace
from typing import Any

import pytest

from certwright.api.certmanagers import (
    CertManagerCondition,
    CertManagerStatus,
    DeploymentSummary,
)
from certwright.apply import Action, Change, ObjectRef
from certwright.operators.certmanager.engine.pullsecret import PullSecretDecision, PullSecretState
from certwright.operators.certmanager.ibm.summary import (
    InstallFacts,
    InstallSummary,
    events,
    summary,
)
from certwright.operators.certmanager.request import PullSecret

CONTROLLER = DeploymentSummary(
    name="cert-manager-controller", namespace="cert-manager", ready=1, desired=1, image="i"
)
RULE = PullSecret(name="my", source_namespace="src", required=True)
GOOD = InstallFacts(
    version="v0.10.0",
    namespace="cert-manager",
    deployments=(CONTROLLER,),
    expected=1,
    pull_secret=PullSecretDecision(PullSecretState.NOT_WANTED),
)
MISSING = replace(
    GOOD,
    pull_secret=PullSecretDecision(PullSecretState.MISSING, "my", blocks=True),
    pull_secret_rule=RULE,
)
MISSING_MESSAGE = (
    'secrets "The image pull secret my does not exist in the deploy namespace cert-manager and'
    ' there was no copy pull secret found in the src namespace" not found'
)
ELSEWHERE = ObjectRef("apps/v1", "Deployment", "other", "cm")


def failed(kind: str, name: str, reason: str = "no") -> Change:
    api = {"CustomResourceDefinition": "apiextensions.k8s.io/v1", "Deployment": "apps/v1"}
    return Change(ObjectRef(api.get(kind, "v1"), kind, "", name), Action.FAILED, reason)


def told(facts: InstallFacts) -> dict[str, str]:
    return {one.type: f"{one.status}/{one.reason}" for one in summary(facts).conditions}


def message(said: InstallSummary, type_: str) -> str:
    found = said.condition(type_)
    assert found is not None
    return found.message


def status_of(facts: InstallFacts) -> CertManagerStatus:
    said = summary(facts)
    conditions = [
        CertManagerCondition(type=c.type, status=c.status, reason=c.reason, message=c.message)
        for c in said.conditions
    ]
    return CertManagerStatus(cert_manager_status=said.text, conditions=conditions)


def heard(before: InstallFacts | None, facts: InstallFacts) -> list[tuple[str, str, str]]:
    status = status_of(before) if before is not None else CertManagerStatus()
    return list(events(status, facts))


def test_all_is_well() -> None:
    assert told(GOOD) == {
        "Ready": "True/Deployed",
        "PrereqsMet": "True/PrereqsMet",
        "CRDsEstablished": "True/Established",
        "PullSecretSynced": "True/NotConfigured",
        "WebhookReady": "False/WebhookDisabled",
        "Degraded": "False/AsExpected",
        "Conflict": "False/NoConflict",
    }
    said = summary(GOOD)
    assert (said.text, said.phase) == ("Successfully deployed cert-manager", "Running")


def test_deployed_means_written_and_ready_means_available() -> None:
    waiting = replace(GOOD, deployments=(DeploymentSummary(name="a", namespace="b", desired=1),))
    said = summary(waiting)
    assert (said.text, said.phase) == ("Successfully deployed cert-manager", "Pending")
    assert told(waiting)["Ready"] == "False/PodsNotAvailable"


def test_a_deployment_that_is_not_there_is_not_deployed() -> None:
    said = summary(replace(GOOD, deployments=()))
    assert said.text == ""
    assert said.phase == "Pending"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"failed": (failed("ClusterRole", "cert-manager"),)}, "prereqs"),
        ({"failed": (failed("Deployment", "cert-manager-controller"),)}, "deploying"),
        ({"duplicates": (("cert-manager-controller", ELSEWHERE),)}, "deploying"),
        ({"holder": "CertManagerDeployment/cluster"}, "deploying"),
    ],
)
def test_what_goes_wrong_has_its_sentence(change: Any, text: str) -> None:
    sentences = {
        "prereqs": "Error deploying cert-manager, prereqs not met",
        "deploying": "Error deploying cert-manager",
    }
    facts = replace(GOOD, **change)
    assert summary(facts).text == sentences[text]
    assert told(facts)["Ready"].startswith("False/")
    assert told(facts)["Degraded"].startswith("True/")


def test_every_failing_definition_is_named() -> None:
    kind = "CustomResourceDefinition"
    facts = replace(GOOD, failed=(failed(kind, "a.x.io"), failed(kind, "b.x.io")))
    said = message(summary(facts), "PrereqsMet")
    assert "a.x.io" in said
    assert "b.x.io" in said


def test_a_missing_pull_secret_has_the_known_words() -> None:
    assert told(MISSING)["PrereqsMet"] == "False/PrereqsFailed"
    assert message(summary(MISSING), "PrereqsMet") == MISSING_MESSAGE
    assert heard(GOOD, MISSING) == [("Warning", "PrereqsFailed", MISSING_MESSAGE)]


def test_a_source_that_is_gone_is_a_warning_and_no_failure() -> None:
    decision = PullSecretDecision(PullSecretState.SOURCE_MISSING, "my")
    facts = replace(GOOD, pull_secret=decision, pull_secret_rule=RULE)
    assert told(facts)["Ready"] == "True/Deployed"
    assert told(facts)["PullSecretSynced"] == "False/PullSecretSourceMissing"
    assert [event[:2] for event in heard(GOOD, facts)] == [("Warning", "PullSecretSourceMissing")]
    assert heard(facts, facts) == []


def test_another_name_is_told_once() -> None:
    facts = InstallFacts(rejected="Only one CR named default is allowed")
    assert told(facts) == {"Ready": "False/NameNotAllowed"}
    expected = [("Warning", "Not Allowed", "Only one CR named default is allowed")]
    assert heard(None, facts) == expected
    assert heard(facts, facts) == []


def test_a_first_success_is_told_in_the_order_of_old() -> None:
    assert heard(None, GOOD) == [
        ("Normal", "Initializing", "Instance found"),
        ("Normal", "PrereqsMet", "All prerequisites for deploying cert-manager service found"),
        ("Normal", "Deployed", "Deployed cert-manager successfully"),
    ]
    assert heard(GOOD, GOOD) == []


def test_recovery_is_told() -> None:
    assert [event[1] for event in heard(MISSING, GOOD)] == ["PrereqsMet", "Deployed"]


def test_a_service_elsewhere_is_named_in_the_known_words() -> None:
    facts = replace(GOOD, duplicates=(("cert-manager-controller", ELSEWHERE),))
    expected = (
        "The service cert-manager-controller is already deployed as other/cm. Please remove it if"
        " you want this version of cert-manager-controller to be deployed."
    )
    assert heard(GOOD, facts) == [("Warning", "Failed", expected)]
    assert told(facts)["Conflict"] == "True/AlreadyDeployed"
    assert summary(facts).phase == "Conflict"


def test_the_webhook_counts_only_if_it_is_wanted() -> None:
    facts = replace(GOOD, webhook_wanted=True, webhook_problem="APIService: no endpoints")
    assert told(facts)["WebhookReady"] == "False/WebhookNotReady"
    assert told(facts)["Ready"] == "False/WebhookNotReady"
    assert message(summary(facts), "Ready") == "APIService: no endpoints"
    assert told(replace(facts, webhook_problem=""))["Ready"] == "True/Deployed"


def test_objects_of_others_are_named_and_stop_nothing() -> None:
    service = ObjectRef("v1", "Service", "cert-manager", "cert-manager-webhook")
    facts = replace(GOOD, left_alone=(service,))
    assert told(facts)["Conflict"] == "True/ForeignObjects"
    assert "cert-manager-webhook" in message(summary(facts), "Conflict")
    assert told(facts)["Ready"] == "True/Deployed"


def test_a_namespace_without_label_matters_to_the_webhook_only() -> None:
    facts = replace(GOOD, unlabelled=True)
    assert told(facts)["Degraded"] == "False/AsExpected"
    assert told(replace(facts, webhook_wanted=True))["Degraded"] == "True/NamespaceNotLabelled"


def test_a_deletion_names_what_holds_it_up() -> None:
    facts = replace(GOOD, deleting=True, pending=(failed("ClusterRole", "cert-manager", "no!"),))
    said = summary(facts)
    assert said.phase == "Deleting"
    assert "no!" in message(said, "Degraded")
    assert heard(GOOD, facts) == []


def test_definitions_that_are_not_served_yet() -> None:
    facts = replace(GOOD, unestablished=("issuers.certmanager.k8s.io",))
    assert told(facts)["CRDsEstablished"] == "False/NotEstablished"
    assert told(facts)["Ready"] == "False/NotEstablished"
