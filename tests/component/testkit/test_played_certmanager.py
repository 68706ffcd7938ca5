"""The played cert-manager does what the real one does: in the same order, with the same rights."""

import asyncio
import base64
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.bundles.released import released

from certwright.kube import ApiError, Forbidden, InternalError, JsonObject, Key, Resource
from certwright.kube.kinds import (
    APIService,
    ClusterRoleBinding,
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    Lease,
    MutatingWebhookConfiguration,
    Pod,
    Secret,
    Service,
    ServiceAccount,
    ValidatingWebhookConfiguration,
)
from certwright.testkit.actors import workload_controllers
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    random_play,
    small_release,
)
from certwright.testkit.actors.podplay import NEVER, PodPlay
from certwright.testkit.embedded import EmbeddedCluster
from certwright.testkit.faults.endstate import end_state
from certwright.testkit.time.virtual import VirtualClock, VirtualLoop

OLD, NEW = "v1.20.3", "v1.21.2"
Certificate = Resource("cert-manager.io", "v1", "Certificate", "certificates")
CertificateRequest = Resource("cert-manager.io", "v1", "CertificateRequest", "certificaterequests")
AUTHORITY = "cert-manager/cert-manager-webhook-ca"
LEASE = "kube-system/cert-manager-controller"


async def installed(
    cluster: EmbeddedCluster, play: CertManagerPlay | None = None, version: str = NEW
) -> PlayedCertManager:
    """Play cert-manager and apply a release of it."""
    played = await cluster.enter(PlayedCertManager(cluster, play or CertManagerPlay()))
    await applied(cluster, version)
    return played


async def applied(cluster: EmbeddedCluster, version: str) -> None:
    for manifest in small_release(version):
        await cluster.apply(manifest)
    await cluster.settle()


async def requested(cluster: EmbeddedCluster, name: str = "one") -> None:
    """Create an issuer that signs itself, and a Certificate of it."""
    await cluster.apply(custom("Issuer", "own", {"selfSigned": {}}))
    await cluster.create(custom("Certificate", name, certificate_spec(name)))


def custom(kind: str, name: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": name}
    return {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def certificate_spec(name: str) -> JsonObject:
    return {"secretName": name, "dnsNames": [f"{name}.example"], "issuerRef": {"name": "own"}}


def is_ready(obj: JsonObject) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def leads(played: PlayedCertManager) -> str:
    """Return the version of the pod that leads; empty if none does."""
    return played.leader.tag if played.leader else ""


def bundle(configuration: JsonObject) -> str:
    return str(configuration["webhooks"][0]["clientConfig"].get("caBundle", ""))


async def refusal(cluster: EmbeddedCluster) -> str:
    """Return why a good Certificate cannot be created."""
    good = custom("Certificate", "probe", certificate_spec("probe"))
    with pytest.raises(InternalError) as refused:
        await cluster.client.create(
            {**good, "metadata": {"name": "probe", "namespace": "default"}}, dry_run=True
        )
    return refused.value.message


async def test_a_release_becomes_an_issued_certificate(embedded_cluster: EmbeddedCluster) -> None:
    played = await installed(embedded_cluster)
    assert await played.obstacles() == []
    await requested(embedded_cluster)
    await embedded_cluster.settle()
    assert is_ready(await embedded_cluster.get(Certificate, "one"))
    secret = await embedded_cluster.get(Secret, "one")
    assert b"BEGIN CERTIFICATE" in base64.b64decode(secret["data"]["tls.crt"])
    assert played.issued == [Key("default", "one")]
    assert embedded_cluster.calls.writes == 0, "actors are not counted"


@pytest.mark.parametrize("version", ["v1.0.4", NEW])
async def test_published_releases_become_an_issued_certificate(
    embedded_cluster: EmbeddedCluster, version: str
) -> None:
    """Early ones convert by webhook, elect their leader by ConfigMap, or lack fields of today."""
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster))
    for manifest in released(version).objects:
        await embedded_cluster.apply(manifest)
    await embedded_cluster.settle()
    assert await played.obstacles() == []
    await requested(embedded_cluster)
    await embedded_cluster.settle()
    assert is_ready(await embedded_cluster.get(Certificate, "one"))


async def test_delays_are_met_in_the_order_of_the_real_one(
    embedded_cluster: EmbeddedCluster,
) -> None:
    pods = {"*-webhook:*": PodPlay(start=10), "*-cainjector:*": PodPlay(start=20)}
    play = CertManagerPlay(pods=pods, injection=15, authority=3)
    played = await installed(embedded_cluster, play)
    assert "connect: connection refused" in await refusal(embedded_cluster)
    await embedded_cluster.advance(seconds=11)
    assert "tls: internal error" in await refusal(embedded_cluster)
    await embedded_cluster.advance(seconds=3)
    assert "certificate signed by unknown authority" in await refusal(embedded_cluster)
    await embedded_cluster.advance(seconds=19)
    assert "certificate signed by unknown authority" in await refusal(embedded_cluster)
    await embedded_cluster.advance(seconds=5)
    assert await played.obstacles() == []


@pytest.mark.parametrize(
    ("component", "fault", "obstacle"),
    [
        ("webhook", PodPlay(pull_fails=True), "connection refused"),
        ("webhook", PodPlay(ready=NEVER), "connection refused"),
        ("cainjector", PodPlay(start=NEVER), "unknown authority"),
        ("controller", PodPlay(ready=NEVER), "no pod of the controller leads"),
        ("controller", PodPlay(run=5, exit_code=1, ready=6), "no pod of the controller leads"),
    ],
)
async def test_a_pod_that_does_not_work_stands_in_the_way(
    embedded_cluster: EmbeddedCluster, component: str, fault: PodPlay, obstacle: str
) -> None:
    play = CertManagerPlay(pods={f"*-{component}:*": fault})
    played = await installed(embedded_cluster, play)
    await embedded_cluster.advance(minutes=2)
    [found] = await played.obstacles()
    assert obstacle in found
    played.play = CertManagerPlay()
    await embedded_cluster.advance(minutes=1)
    assert await played.obstacles() == []


@pytest.mark.parametrize(
    "play",
    [
        CertManagerPlay(authority=NEVER),
        CertManagerPlay(injection=NEVER),
        CertManagerPlay(answer=NEVER),
    ],
    ids=["authority", "injection", "answer"],
)
async def test_what_never_happens_stands_in_the_way(
    embedded_cluster: EmbeddedCluster, play: CertManagerPlay
) -> None:
    played = await installed(embedded_cluster, play)
    await embedded_cluster.advance(minutes=2)
    assert len(await played.obstacles()) == 1
    played.play = CertManagerPlay()
    await embedded_cluster.settle()
    assert await played.obstacles() == []


async def test_a_deployment_whose_image_cannot_be_pulled_misses_its_deadline(
    embedded_cluster: EmbeddedCluster,
) -> None:
    play = CertManagerPlay(pods={"*-webhook:*": PodPlay(pull_fails=True)}, lease=900, retry=600)
    await installed(embedded_cluster, play)
    await embedded_cluster.advance(minutes=11)
    webhook = await embedded_cluster.get(Deployment, "cert-manager/cert-manager-webhook")
    reasons = {each["type"]: each["reason"] for each in webhook["status"]["conditions"]}
    assert reasons["Progressing"] == "ProgressDeadlineExceeded"
    pods = (await embedded_cluster.client.list(Pod, "cert-manager")).items
    states = [pod["status"]["containerStatuses"][0]["state"] for pod in pods]
    assert "ImagePullBackOff" in str(states)


async def test_pods_need_their_service_account(embedded_cluster: EmbeddedCluster) -> None:
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster))
    manifests = small_release(NEW)
    for manifest in manifests:
        if manifest["kind"] != ServiceAccount.kind:
            await embedded_cluster.apply(manifest)
    await embedded_cluster.settle()
    assert not (await embedded_cluster.client.list(Pod, "cert-manager")).items
    await applied(embedded_cluster, NEW)
    assert await played.obstacles() == []


async def test_the_service_leads_to_the_webhook(embedded_cluster: EmbeddedCluster) -> None:
    await installed(embedded_cluster)
    name = "cert-manager/cert-manager-webhook"
    change = {"spec": {"ports": [{"name": "https", "port": 443, "targetPort": 9402}]}}
    await embedded_cluster.patch(Service, name, change)
    assert "connection refused" in await refusal(embedded_cluster)
    await embedded_cluster.delete(Service, name)
    assert 'service "cert-manager-webhook" not found' in await refusal(embedded_cluster)


async def test_nonsense_is_refused_by_name(embedded_cluster: EmbeddedCluster) -> None:
    await installed(embedded_cluster)
    bad = {**certificate_spec("bad"), "issuerRef": {}, "secretName": ""}
    with pytest.raises(ApiError) as refused:
        await embedded_cluster.create(custom("Certificate", "bad", bad))
    assert refused.value.message == (
        'admission webhook "webhook.cert-manager.io" denied the request: '
        "[spec.secretName: Required value: must be specified, "
        "spec.issuerRef.name: Required value: must be specified]"
    )
    with pytest.raises(ApiError, match="at least one issuer must be configured"):
        await embedded_cluster.create(custom("Issuer", "bad", {}))


async def test_requests_get_the_name_of_their_author(embedded_cluster: EmbeddedCluster) -> None:
    await installed(embedded_cluster)
    spec = {"request": "", "csr": "", "issuerRef": {"name": "own"}}
    with pytest.raises(ApiError, match=r"spec\.request: Required value"):
        await embedded_cluster.create(custom("CertificateRequest", "one", spec))
    spec = {"request": "eA==", "issuerRef": {"name": "own"}}
    await embedded_cluster.create(custom("CertificateRequest", "one", spec))
    made = await embedded_cluster.get(CertificateRequest, "one")
    assert made["spec"]["username"] == "kubernetes-admin"


async def test_a_lost_authority_is_made_and_injected_anew(
    embedded_cluster: EmbeddedCluster,
) -> None:
    played = await installed(embedded_cluster, CertManagerPlay(injection=5))
    await embedded_cluster.advance(seconds=6)
    before = await embedded_cluster.get(Secret, AUTHORITY)
    await embedded_cluster.delete(Secret, AUTHORITY)
    await embedded_cluster.settle()
    after = await embedded_cluster.get(Secret, AUTHORITY)
    assert after["data"]["ca.crt"] != before["data"]["ca.crt"]
    assert "unknown authority" in await refusal(embedded_cluster)
    await embedded_cluster.advance(seconds=6)
    assert await played.obstacles() == []
    for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
        found = await embedded_cluster.get(kind, "cert-manager-webhook")
        assert bundle(found) == after["data"]["ca.crt"]


def set_back(cluster: EmbeddedCluster) -> None:
    """Set the wall clock to before all that has happened."""
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.jump(timedelta(hours=-1))


@pytest.mark.parametrize("authority", [0, 3])
async def test_a_webhook_makes_its_authority_when_the_clock_is_set_back(
    embedded_cluster: EmbeddedCluster, authority: float
) -> None:
    play = CertManagerPlay(authority=authority)
    played = await installed(embedded_cluster, play)
    await embedded_cluster.advance(seconds=4)
    set_back(embedded_cluster)
    await embedded_cluster.delete(Secret, AUTHORITY)
    await embedded_cluster.settle()
    assert await played.obstacles() == []


async def test_a_webhook_without_authority_stays_so_when_the_clock_is_set_back(
    embedded_cluster: EmbeddedCluster,
) -> None:
    await installed(embedded_cluster, CertManagerPlay(authority=NEVER))
    set_back(embedded_cluster)
    await embedded_cluster.advance(minutes=5)
    assert "tls: internal error" in await refusal(embedded_cluster)


async def test_a_bundle_that_others_change_is_mended(embedded_cluster: EmbeddedCluster) -> None:
    await installed(embedded_cluster)
    kind, name = ValidatingWebhookConfiguration, "cert-manager-webhook"
    right = bundle(await embedded_cluster.get(kind, name))
    path = "/webhooks/0/clientConfig/caBundle"
    remove = [{"op": "remove", "path": path}]
    await embedded_cluster.client.patch(
        kind, Key("", name), remove, type="application/json-patch+json"
    )
    await embedded_cluster.settle()
    assert right
    assert bundle(await embedded_cluster.get(kind, name)) == right


async def test_conversions_and_apiservices_are_injected(embedded_cluster: EmbeddedCluster) -> None:
    await installed(embedded_cluster)
    asks = {"annotations": {"cert-manager.io/inject-ca-from-secret": AUTHORITY}}
    service = {"name": "cert-manager-webhook", "namespace": "cert-manager"}
    await embedded_cluster.create({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1beta1.webhook.example", **asks},
        "spec": {"group": "webhook.example", "version": "v1beta1", "service": service,
                 "groupPriorityMinimum": 1000, "versionPriority": 15},
    })  # fmt: skip
    review = {"clientConfig": {"service": {**service, "path": "/convert"}},
              "conversionReviewVersions": ["v1"]}  # fmt: skip
    name = "certificates.cert-manager.io"
    conversion = {"strategy": "Webhook", "webhook": review}
    change = {"metadata": asks, "spec": {"conversion": conversion}}
    await embedded_cluster.patch(CustomResourceDefinition, name, change)
    await embedded_cluster.settle()
    authority = (await embedded_cluster.get(Secret, AUTHORITY))["data"]["ca.crt"]
    made = await embedded_cluster.get(APIService, "v1beta1.webhook.example")
    assert made["spec"]["caBundle"] == authority
    changed = await embedded_cluster.get(CustomResourceDefinition, name)
    config = changed["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config["caBundle"] == authority


async def test_only_secrets_that_allow_it_are_injected(embedded_cluster: EmbeddedCluster) -> None:
    await installed(embedded_cluster, CertManagerPlay(injection=60))
    refuse = {"metadata": {"annotations": {"cert-manager.io/allow-direct-injection": None}}}
    await embedded_cluster.patch(Secret, AUTHORITY, refuse)
    await embedded_cluster.advance(minutes=2)
    found = await embedded_cluster.get(ValidatingWebhookConfiguration, "cert-manager-webhook")
    assert not bundle(found)


async def test_the_new_pod_leads_when_the_old_has_released_the_lease(
    embedded_cluster: EmbeddedCluster,
) -> None:
    played = await installed(embedded_cluster, version=OLD)
    assert leads(played) == OLD
    await applied(embedded_cluster, NEW)
    rolled = await embedded_cluster.get(Deployment, "cert-manager/cert-manager")
    assert rolled["status"]["updatedReplicas"] == rolled["status"]["replicas"] == 1
    assert rolled["status"]["availableReplicas"] == 1
    assert not leads(played), "all is ready, and no pod leads"
    await requested(embedded_cluster)
    await embedded_cluster.settle()
    assert played.issued == []
    await embedded_cluster.advance(seconds=15 * 2.2)
    assert leads(played) == NEW
    assert played.leader is not None
    lease = await embedded_cluster.get(Lease, LEASE)
    holder = lease["spec"]["holderIdentity"]
    assert holder == f"{played.leader.name}-external-cert-manager-controller"
    assert lease["spec"]["leaseTransitions"] == 1
    assert played.issued == [Key("default", "one")]


async def test_a_lease_of_a_dead_pod_has_to_expire(embedded_cluster: EmbeddedCluster) -> None:
    play = CertManagerPlay(releases_lease=False)
    played = await installed(embedded_cluster, play, version=OLD)
    await applied(embedded_cluster, NEW)
    await embedded_cluster.advance(seconds=44)
    assert not leads(played)
    assert (await embedded_cluster.get(Lease, LEASE))["spec"]["holderIdentity"]
    await embedded_cluster.advance(seconds=60 + 33 - 44 + 1)
    assert leads(played) == NEW


async def test_a_leader_without_rights_issues_nothing(embedded_cluster: EmbeddedCluster) -> None:
    played = await installed(embedded_cluster)
    name = "cert-manager-controller-approve:cert-manager-io"
    await embedded_cluster.delete(ClusterRoleBinding, name)
    [obstacle] = await played.obstacles()
    assert "cannot approve" in obstacle
    await requested(embedded_cluster)
    await embedded_cluster.advance(seconds=30)
    assert played.issued == []
    await applied(embedded_cluster, NEW)
    assert played.issued == [Key("default", "one")]


async def test_components_write_as_their_service_accounts(
    embedded_cluster: EmbeddedCluster,
) -> None:
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster))
    for manifest in small_release(NEW):
        if "Role" not in manifest["kind"]:
            await embedded_cluster.apply(manifest)
    await embedded_cluster.advance(minutes=5)
    assert await embedded_cluster.find(Secret, AUTHORITY) is None
    assert await embedded_cluster.find(Lease, LEASE) is None
    assert len(await played.obstacles()) == 2


async def test_secrets_of_certificates_outlive_an_installation(
    embedded_cluster: EmbeddedCluster,
) -> None:
    played = await installed(embedded_cluster)
    await requested(embedded_cluster)
    await embedded_cluster.settle()
    for component in ("", "-webhook", "-cainjector"):
        await embedded_cluster.delete(Deployment, f"cert-manager/cert-manager{component}")
    await embedded_cluster.settle()
    assert not (await embedded_cluster.client.list(Pod, "cert-manager")).items
    await applied(embedded_cluster, NEW)
    await embedded_cluster.advance(minutes=1)
    assert is_ready(await embedded_cluster.get(Certificate, "one"))
    assert len(played.issued) == 1, "nothing is issued twice"
    await embedded_cluster.delete(Secret, "one")
    await embedded_cluster.settle()
    assert len(played.issued) == 2
    assert (await embedded_cluster.get(Certificate, "one"))["status"]["revision"] == 2


async def test_a_second_certificate_waits_for_its_issuer(embedded_cluster: EmbeddedCluster) -> None:
    played = await installed(embedded_cluster, CertManagerPlay(issuance=7))
    await embedded_cluster.create(custom("Certificate", "two", certificate_spec("two")))
    await embedded_cluster.settle()
    assert not is_ready(await embedded_cluster.get(Certificate, "two"))
    await embedded_cluster.create(custom("Issuer", "own", {"selfSigned": {}}))
    await embedded_cluster.advance(seconds=6)
    assert played.issued == []
    await embedded_cluster.advance(seconds=2)
    assert is_ready(await embedded_cluster.get(Certificate, "two"))


async def test_an_issuer_signs_with_its_authority(embedded_cluster: EmbeddedCluster) -> None:
    await installed(embedded_cluster)
    await embedded_cluster.create(custom("Issuer", "own", {"ca": {"secretName": "authority"}}))
    await embedded_cluster.create(custom("Certificate", "two", certificate_spec("two")))
    await embedded_cluster.settle()
    authority = (await embedded_cluster.get(Secret, AUTHORITY))["data"]
    await embedded_cluster.create({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "authority"}, "data": authority
    })  # fmt: skip
    await embedded_cluster.settle()
    made = await embedded_cluster.get(Secret, "two")
    assert made["data"]["ca.crt"] == authority["tls.crt"]


async def test_pods_may_come_from_the_controllers_of_workloads(
    embedded_cluster: EmbeddedCluster,
) -> None:
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster, pods=False))
    await embedded_cluster.settle(*workload_controllers())
    await applied(embedded_cluster, NEW)
    assert await played.obstacles() == []


def states(version: str, *, quick: bool) -> JsonObject:
    """Return what Deployments and ReplicaSets are like after an install and an upgrade."""

    async def play() -> JsonObject:
        async with EmbeddedCluster() as cluster:
            await cluster.enter(PlayedCertManager(cluster, pods=quick))
            if not quick:
                await cluster.settle(*workload_controllers())
            await applied(cluster, OLD)
            await applied(cluster, version)
            await cluster.advance(minutes=2)
            kinds = {"Deployment", "ReplicaSet"}
            kept = [each for each in cluster.server.objects() if each["kind"] in kinds]
            return end_state(kept)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(play())


def test_quick_pods_end_like_those_of_the_controllers_of_workloads() -> None:
    assert states(NEW, quick=True) == states(NEW, quick=False)


def digest(seed: int) -> list[JsonObject]:
    """Return all objects after a random install."""

    async def play() -> list[JsonObject]:
        async with EmbeddedCluster(seed=seed) as cluster:
            await installed(cluster, random_play(seed))
            await cluster.advance(minutes=3)
            return [dict(each) for each in cluster.server.objects()]

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(seed)) as runner:
        return runner.run(play())


def test_the_same_seed_gives_the_same_cluster() -> None:
    assert digest(7) == digest(7)


@pytest.mark.parametrize("seed", range(4))
async def test_without_obstacles_a_certificate_is_issued(
    embedded_cluster: EmbeddedCluster, seed: int
) -> None:
    """What `obstacles` says is true at every moment of a random install."""
    play = random_play(seed)
    played = await installed(embedded_cluster, play)
    for _ in range(30):
        await embedded_cluster.advance(seconds=5)
        if not await played.obstacles():
            break
    else:
        played.play = CertManagerPlay()
        await embedded_cluster.advance(minutes=2)
    await requested(embedded_cluster)
    if play.issuance < NEVER:
        await embedded_cluster.advance(seconds=play.issuance + 10)
    else:
        played.play = replace(play, issuance=0.0)
        await embedded_cluster.advance(seconds=10)
    assert is_ready(await embedded_cluster.get(Certificate, "one"))


async def test_service_accounts_are_named_in_refusals(embedded_cluster: EmbeddedCluster) -> None:
    played = await installed(embedded_cluster)
    leader = played.leader
    assert leader is not None
    acting = embedded_cluster.client.acting_as(leader.user)
    with pytest.raises(Forbidden, match="system:serviceaccount:cert-manager:cert-manager"):
        await acting.list(Deployment)


def early_release() -> list[JsonObject]:
    """Return as much of 0.10 as its webhook needs: an aggregated API, which its controller serves."""
    space, old = "cert-manager", "certmanager.k8s.io"
    hosts = ",".join(("hook", f"hook.{space}", f"hook.{space}.svc"))
    args = {
        "controller": ["--webhook-ca-secret=ca", "--webhook-serving-secret=tls",
                       f"--webhook-namespace={space}", f"--webhook-dns-names={hosts}",
                       "--leader-election-namespace=cert-manager"],
        "webhook": ["--secure-port=1443"],
        "cainjector": ["--leader-election-namespace=cert-manager"],
    }  # fmt: skip
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    rbac = "rbac.authorization.k8s.io"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}},
               "schema": {"openAPIV3Schema": schema}}  # fmt: skip
    rules = {"apiGroups": [old], "apiVersions": ["v1alpha1"], "operations": ["CREATE"],
             "resources": ["certificates"]}  # fmt: skip
    path = "/apis/webhook.certmanager.k8s.io/v1beta1/validations"
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "all"},
         "rules": [everything]},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
         "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "all"},
         "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": space}]},
        *({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": f"{plural}.{old}"},
           "spec": {"group": old, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                    "versions": [version]}}
          for kind, plural in (("Certificate", "certificates"), ("Issuer", "issuers"))),
        *({"apiVersion": "apps/v1", "kind": "Deployment",
           "metadata": {"name": component, "namespace": space},
           "spec": {"selector": {"matchLabels": {"app": component}},
                    "template": {"metadata": {"labels": {"app": component}},
                                 "spec": {"volumes": [{"name": "c", "secret": {"secretName": "tls"}}],
                                          "containers": [{
                                              "name": "c", "args": words,
                                              "image": f"x/icp-cert-manager-{component}:0.10.0"}]}}}}
          for component, words in args.items()),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook", "namespace": space},
         "spec": {"selector": {"app": "webhook"}, "ports": [{"port": 443, "targetPort": 1443}]}},
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
         "metadata": {"name": "v1beta1.webhook.certmanager.k8s.io",
                      "annotations": {f"{old}/inject-ca-from-secret": f"{space}/tls"}},
         "spec": {"group": "webhook.certmanager.k8s.io", "version": "v1beta1",
                  "groupPriorityMinimum": 1000, "versionPriority": 15,
                  "service": {"name": "hook", "namespace": space}}},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
         "metadata": {"name": "hook", "annotations": {f"{old}/inject-apiserver-ca": "true"}},
         "webhooks": [{"name": "webhook.certmanager.k8s.io", "rules": [rules],
                       "sideEffects": "None", "admissionReviewVersions": ["v1"],
                       "clientConfig": {"service": {"name": "kubernetes", "namespace": "default",
                                                    "path": path}}}]},
    ]  # fmt: skip


async def test_an_early_webhook_is_reached_through_its_apiservice(
    embedded_cluster: EmbeddedCluster,
) -> None:
    play = CertManagerPlay(injection=10)
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster, play))
    for manifest in early_release():
        await embedded_cluster.apply(manifest)
    await embedded_cluster.settle()

    async def available() -> str:
        found = await embedded_cluster.get(APIService, "v1beta1.webhook.certmanager.k8s.io")
        [condition] = found["status"]["conditions"]
        return f"{condition['status']} {condition['message']}"

    assert "False tls: failed to verify certificate" in await available()
    [obstacle] = await played.obstacles()
    assert "the server is currently unable to handle the request" in obstacle
    await embedded_cluster.advance(seconds=11)
    assert await available() == "True all checks passed"
    assert await played.obstacles() == []
    lock = await embedded_cluster.get(ConfigMap, "cert-manager/cert-manager-controller")
    record = lock["metadata"]["annotations"]["control-plane.alpha.kubernetes.io/leader"]
    assert "-external-cert-manager-controller" in record
