"""What is said about one object, and about all of them together."""

from certwright.apply.health import (
    Health,
    Summary,
    missing,
    summarize_health,
    summarize_progress,
)
from certwright.apply.health.verdicts import check_failed, healthy, progressing, unhealthy
from certwright.apply.refs import ObjectRef

WEB = ObjectRef("apps/v1", "Deployment", "shop", "web")
API = ObjectRef("v1", "Service", "shop", "api")


def test_what_is_said_of_one() -> None:
    assert missing(WEB).reason == "DeploymentMissing"
    assert missing(WEB).message == 'Required Deployment "web" in namespace "shop" is missing'
    assert missing(WEB, "no such kind").message == (
        'Required Deployment "web" in namespace "shop" is missing: no such kind'
    )
    assert check_failed(API, "timeout").reason == "HealthCheckError"
    assert check_failed(API, "timeout").message == (
        'Error executing health check for Service "shop/api": timeout'
    )
    assert healthy(WEB)
    assert not progressing(WEB, "soon")


def test_all_is_well() -> None:
    assert summarize_health([]) == Summary("True", "ResourcesHealthy", "All resources are healthy.")
    assert summarize_health([healthy(WEB), progressing(API, "x")]).status == "True"
    assert summarize_progress([healthy(WEB), missing(API)]) == Summary(
        "False", "ResourcesRolledOut", "All resources have been fully rolled out."
    )


def test_the_first_failure_has_its_message_and_the_others_are_named() -> None:
    assert summarize_health([healthy(WEB), unhealthy(API, "no"), missing(WEB)]) == Summary(
        "False",
        "ServiceUnhealthy",
        'Service "shop/api" is unhealthy: no; also unhealthy: Deployment "shop/web"',
    )
    assert summarize_progress([progressing(WEB, "soon")]) == Summary(
        "True", "DeploymentProgressing", 'Deployment "shop/web" is progressing: soon'
    )


def test_however_many_fail_the_message_is_short() -> None:
    message = summarize_health([missing(API)] * 5000).message
    assert message.endswith('Service "shop/api", 4989 more')
    assert len(message) < 500


def test_each_verdict_has_its_health() -> None:
    verdicts = [
        healthy(WEB),
        progressing(WEB, ""),
        unhealthy(WEB, ""),
        check_failed(WEB, ""),
        missing(WEB),
    ]
    expected = [Health.HEALTHY, Health.PROGRESSING, Health.UNHEALTHY, Health.ERROR, Health.MISSING]
    assert [verdict.health for verdict in verdicts] == expected
