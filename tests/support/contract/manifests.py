"""Objects to try on both servers: what each gets by default, and why some are refused.

Sorted by kind; `created` and `updated` in `kinds_compare` send them.
"""

from typing import Any

Json = dict[str, Any]

APPS, BATCH, RBAC = "apps/v1", "batch/v1", "rbac.authorization.k8s.io/v1"
HOOKS, NETWORK = "admissionregistration.k8s.io/v1", "networking.k8s.io/v1"
SELECTOR = {"matchLabels": {"a": "b"}}
OTHER = {"matchLabels": {"a": "c"}}


def obj(api: str, kind: str, name: str, **content: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **content}


def pods(**container: Any) -> Json:
    return {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "nginx", **container}]},
    }


ONCE = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}


def workload(kind: str, name: str, **spec: Any) -> Json:
    return obj(APPS, kind, name, spec={"selector": SELECTOR, "template": pods(), **spec})


def hook(**parts: Any) -> Json:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["x"]}
    return {
        "name": "a.b.c",
        "clientConfig": {"service": {"name": "s", "namespace": "n"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [rule],
        **parts,
    }


CONFIG = [
    obj("v1", "ConfigMap", "a", data={"a": "b"}),
    obj("v1", "ConfigMap", "b", data={}, binaryData={"x": "AAA="}, immutable=False),
    obj("v1", "ConfigMap", "c", data={"a b": "c", "..": "x"}),
    obj("v1", "ConfigMap", "BAD_name"),
    obj("v1", "ConfigMap", "d", data={"a": 1}),
    obj("v1", "ConfigMap", "e", data="x"),
    obj("v1", "ConfigMap", "f", binaryData={"a": "!!!"}),
    obj("v1", "ConfigMap", "h", data={"a": "x"}, binaryData={"a": "AAA="}),
    obj("v1", "Secret", "a", stringData={"a": "b"}),
    obj("v1", "Secret", "b", data={"a": "Zm9v"}, stringData={"a": "bar", "b": ""}),
    obj("v1", "Secret", "c", data={"a": "%%"}),
    *(
        obj("v1", "Secret", f"t{number}", type=f"kubernetes.io/{kind}")
        for number, kind in enumerate(
            ("tls", "basic-auth", "dockerconfigjson", "service-account-token", "ssh-auth", "x")
        )
    ),
    obj("v1", "Namespace", "plain"),
    obj("v1", "Namespace", "with.dot"),
    obj("v1", "ServiceAccount", "a"),
    obj("v1", "ServiceAccount", "b", secrets=[{"name": "x"}], automountServiceAccountToken=False),
]

SERVICES = [
    obj("v1", "Service", f"s{number}", spec=spec)
    for number, spec in enumerate(
        [
            {"ports": [{"port": 80}]},
            {"type": "NodePort", "ports": [{"port": 80}]},
            {"clusterIP": "None"},
            {"clusterIP": "None", "selector": {"a": "b"}},
            {"type": "ExternalName", "externalName": "foo.bar"},
            {
                "type": "LoadBalancer",
                "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b", "targetPort": "w"}],
                "sessionAffinity": "ClientIP",
                "selector": {"a": "b"},
            },
            {},
            {"ports": [{"port": 0}, {"port": 70000, "name": "x"}]},
            {"ports": [{"port": 1, "name": "A"}, {"port": 1, "name": "b"}], "type": "Foo"},
            {"ports": [{"port": 80, "nodePort": 30001}]},
            {"type": "ExternalName"},
            {
                "ports": [{"port": 80, "protocol": "X", "targetPort": "a--d"}],
                "sessionAffinity": "Y",
            },
            {"clusterIP": "bad", "ports": [{"port": 80}]},
        ]
    )
] + [obj("v1", "Service", "1digit", spec={"ports": [{"port": 80}]})]

PODS = [
    obj("v1", "Pod", f"p{number}", spec=spec)
    for number, spec in enumerate(
        [
            {"containers": [{"name": "c", "image": "nginx:1.2"}]},
            {
                "containers": [
                    {
                        "name": "c",
                        "image": "nginx@sha256:" + "a" * 64,
                        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
                        "ports": [{"containerPort": 80}],
                        "livenessProbe": {"httpGet": {"port": 80}},
                        "readinessProbe": {"tcpSocket": {"port": "http"}},
                        "startupProbe": {"exec": {"command": ["a"]}},
                        "lifecycle": {"preStop": {"httpGet": {"port": 1}}},
                        "env": [
                            {
                                "name": "A",
                                "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
                            },
                            {
                                "name": "B",
                                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}},
                            },
                        ],
                        "volumeMounts": [{"name": "v", "mountPath": "/x"}],
                    }
                ],
                "volumes": [
                    {"name": "v"},
                    {"name": "w", "secret": {"secretName": "x"}},
                    {"name": "cm", "configMap": {"name": "x"}},
                    {
                        "name": "p",
                        "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]},
                    },
                    {"name": "h", "hostPath": {"path": "/"}},
                ],
                "hostNetwork": True,
                "serviceAccountName": "robot",
                "tolerations": [{"key": "x", "operator": "Exists"}],
            },
            {},
            {"containers": [{"name": "A"}, {"image": "x"}], "restartPolicy": "X", "dnsPolicy": "Y"},
            {"containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "abc"}}}]},
            {
                "containers": [
                    {"name": "c", "image": "x", "resources": {"requests": {"cpu": 0.5}}}
                ],
                "initContainers": [{"name": "i", "image": "i:latest"}],
                "priorityClassName": "system-node-critical",
            },
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "x",
                        "ports": [
                            {"containerPort": 0, "name": "a"},
                            {"containerPort": 70000, "name": "toolongnameforport", "protocol": "X"},
                        ],
                        "env": [
                            {"name": ""},
                            {"name": "a=b"},
                            {
                                "name": "c",
                                "value": "v",
                                "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
                            },
                            {"name": "d", "valueFrom": {}},
                        ],
                        "volumeMounts": [{"name": "nope", "mountPath": ""}],
                        "imagePullPolicy": "P",
                        "terminationMessagePolicy": "T",
                        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
                        "livenessProbe": {},
                        "readinessProbe": {
                            "httpGet": {"port": 0, "scheme": "X"},
                            "exec": {"command": []},
                        },
                    },
                    {"name": "a", "image": " x"},
                ],
                "volumes": [
                    {"name": "V"},
                    {"name": "v", "secret": {}, "configMap": {}},
                    {"name": "v"},
                ],
                "hostname": "A_",
                "activeDeadlineSeconds": 0,
                "serviceAccountName": "A_",
            },
        ]
    )
]

WORKLOADS = [
    workload("Deployment", "d1"),
    workload("Deployment", "d2", strategy={"type": "Recreate"}, replicas=0, paused=False),
    workload("Deployment", "d3", selector=OTHER, replicas=-1, minReadySeconds=700),
    workload("Deployment", "d4", strategy={"type": "Recreate", "rollingUpdate": {}}),
    obj(APPS, "Deployment", "d5", spec={"template": pods()}),
    workload("Deployment", "d6", selector={}, strategy={"type": "X"}),
    workload("Deployment", "d7", strategy={"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}),
    workload("Deployment", "d8", strategy={"rollingUpdate": {"maxUnavailable": "200%"}}),
    workload("Deployment", "d9", selector={"matchExpressions": [{"key": "a", "operator": "Foo"}, {"key": "a", "operator": "In"}]}),
    workload("Deployment", "d10", template={**pods(), "spec": {**pods()["spec"], "restartPolicy": "Never"}}),
    *(
        obj(APPS, "Deployment", f"t{number}", spec=spec)
        for number, spec in enumerate(
            [[], {"replicas": "x"}, {"replicas": 1.5}, {"replicas": 3000000000}, {"paused": "yes"},
             {"template": {"spec": {"containers": {"a": 1}}}},
             {"template": {"spec": {"containers": [{"name": 1}]}}}]
        )
    ),
    workload("ReplicaSet", "r1"),
    obj(APPS, "ReplicaSet", "r2", spec={}),
    workload("StatefulSet", "s1", serviceName="x", template=pods(volumeMounts=[{"name": "data", "mountPath": "/d"}]), volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]),
    workload("StatefulSet", "s2", podManagementPolicy="X", updateStrategy={"type": "Y"}, serviceName="A_"),
    workload("StatefulSet", "s3", updateStrategy={"type": "OnDelete"}, ordinals={"start": 2}),
    workload("DaemonSet", "d1"),
    workload("DaemonSet", "d2", selector=OTHER, updateStrategy={"type": "X"}),
    workload("DaemonSet", "d3", updateStrategy={"type": "OnDelete"}),
    obj(APPS, "ControllerRevision", "c", revision=1, data={"a": 1}),
    obj(BATCH, "Job", "j1", spec={"template": ONCE}),
    obj(BATCH, "Job", "j2", spec={"template": pods(), "parallelism": -1}),
    obj(BATCH, "Job", "j3", spec={"template": {**ONCE, "metadata": {"labels": {"q": "r"}}}, "parallelism": 3}),
    obj(BATCH, "CronJob", "c1", spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": ONCE}}}),
    obj(BATCH, "CronJob", "c2", spec={"schedule": "x", "jobTemplate": {"spec": {"template": pods()}}, "concurrencyPolicy": "X"}),
    obj(BATCH, "CronJob", "c" * 53, spec={"schedule": "@hourly", "jobTemplate": {"spec": {"template": ONCE}}}),
    obj("v1", "ReplicationController", "r1", spec={"template": pods()}),
    obj("v1", "ReplicationController", "r2", spec={}),
    obj("v1", "PodTemplate", "p", template=pods()),
]  # fmt: skip

ACCESS = [
    obj(RBAC, "Role", "r1", rules=[{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]),
    obj(RBAC, "Role", "r2"),
    obj(RBAC, "Role", "r3", rules=[{"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]),
    obj(RBAC, "Role", "r:4", rules=[]),
    obj(RBAC, "ClusterRole", "r1", rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"]}]),
    obj(RBAC, "ClusterRole", "r2", aggregationRule={}),
    obj(RBAC, "RoleBinding", "b1", roleRef={"kind": "Role", "name": "x"}, subjects=[{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "sa"}, {"kind": "Group", "name": "g"}]),
    obj(RBAC, "RoleBinding", "b2", roleRef={"kind": "X", "name": "", "apiGroup": "y"}, subjects=[{"kind": "Foo", "name": ""}, {"kind": "User", "apiGroup": "z", "name": "a"}]),
    obj(RBAC, "RoleBinding", "b3"),
    obj(RBAC, "ClusterRoleBinding", "b1", roleRef={"kind": "Role", "name": "x"}, subjects=[{"kind": "ServiceAccount", "name": "sa"}]),
    obj(HOOKS, "MutatingWebhookConfiguration", "m1", webhooks=[hook()]),
    obj(HOOKS, "ValidatingWebhookConfiguration", "v1", webhooks=[hook()]),
    obj(HOOKS, "ValidatingWebhookConfiguration", "v2", webhooks=[{"name": "x"}, {"name": "x"}]),
    obj(HOOKS, "MutatingWebhookConfiguration", "m2", webhooks=[hook(failurePolicy="X", matchPolicy="Y", sideEffects="Some", timeoutSeconds=31, clientConfig={"url": "http://x"}, reinvocationPolicy="Q", rules=[{}], admissionReviewVersions=["v9"])]),
    obj(HOOKS, "MutatingWebhookConfiguration", "m3", webhooks=[hook(clientConfig={"service": {}}, rules=[{"operations": ["X"], "apiGroups": ["*", "a"], "apiVersions": ["v1"], "resources": ["pods", "*/*"], "scope": "Z"}])]),
]  # fmt: skip

OTHERS = [
    obj("storage.k8s.io/v1", "StorageClass", "c1", provisioner="p"),
    obj("storage.k8s.io/v1", "StorageClass", "c2"),
    obj("scheduling.k8s.io/v1", "PriorityClass", "c1", value=5),
    obj("policy/v1", "PodDisruptionBudget", "b1", spec={"minAvailable": 1, "selector": SELECTOR}),
    obj("policy/v1", "PodDisruptionBudget", "b2", spec={"minAvailable": 1, "maxUnavailable": "x"}),
    obj("autoscaling/v2", "HorizontalPodAutoscaler", "h1", spec={"scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}, "maxReplicas": 3, "behavior": {"scaleUp": {}}}),
    obj("autoscaling/v2", "HorizontalPodAutoscaler", "h2", spec={"minReplicas": 0}),
    obj(NETWORK, "Ingress", "i1", spec={"rules": [{"host": "x.y", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}),
    obj(NETWORK, "Ingress", "i2", spec={}),
    obj(NETWORK, "Ingress", "i3", spec={"rules": [{"host": "A_", "http": {"paths": [{"path": "x", "pathType": "Exact", "backend": {}}, {"backend": {"service": {}}}]}}, {"http": {}}], "defaultBackend": {"service": {"name": "x", "port": {"name": "a", "number": 1}}, "resource": {"kind": "K", "name": "n"}}}),
    obj(NETWORK, "IngressClass", "c1", spec={"controller": "x.y/z", "parameters": {"kind": "K", "name": "n"}}),
    obj(NETWORK, "NetworkPolicy", "p1", spec={"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}),
    obj("discovery.k8s.io/v1", "EndpointSlice", "e1", addressType="IPv4", endpoints=[{"addresses": ["1.2.3.4"]}], ports=[{"port": 80}]),
    obj("discovery.k8s.io/v1", "EndpointSlice", "e2", endpoints=[{}]),
    obj("coordination.k8s.io/v1", "Lease", "l1", spec={"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": "2024-01-01T00:00:00.123456Z"}),
    obj("coordination.k8s.io/v1", "Lease", "l2", spec={"leaseDurationSeconds": 0, "leaseTransitions": -1}),
    obj("coordination.k8s.io/v1", "Lease", "l3", spec={"renewTime": "2024-01-01T00:00:00Z"}),
    obj("v1", "PersistentVolumeClaim", "c1", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}),
    obj("v1", "PersistentVolumeClaim", "c2", spec={"accessModes": ["X"]}),
    obj("v1", "PersistentVolume", "v1", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}),
    obj("v1", "Node", "n1"),
    obj("v1", "ResourceQuota", "q1", spec={"hard": {"cpu": "1"}}),
    obj("v1", "LimitRange", "l1", spec={"limits": [{"type": "Container", "max": {"cpu": "1"}}]}),
    obj("events.k8s.io/v1", "Event", "e1", regarding={"kind": "Pod", "name": "x"}),
    obj("apiregistration.k8s.io/v1", "APIService", "v1.foo.bar", spec={"group": "foo.bar", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10, "service": {"name": "s", "namespace": "n"}, "insecureSkipTLSVerify": True}),
]  # fmt: skip

PORT = obj("v1", "Service", "u", spec={"ports": [{"port": 80}]})
POD = obj("v1", "Pod", "u", spec={"containers": [{"name": "c", "image": "nginx:1.2"}]})
JOB = obj(BATCH, "Job", "u", spec={"template": ONCE})
SECRET = obj("v1", "Secret", "u", data={"a": "Zm9v"})

CHANGES: list[tuple[Json, dict[str, Any]]] = [
    (workload("Deployment", "u"), {"spec.replicas": 3}),
    (workload("Deployment", "u"), {"spec.selector": OTHER, "spec.template.metadata.labels": {"a": "c"}}),
    (workload("Deployment", "u"), {"spec.strategy": {"type": "Recreate"}}),
    (workload("Deployment", "u"), {"spec.strategy.type": "Recreate"}),
    (workload("StatefulSet", "u", serviceName="x"), {"spec.serviceName": "y"}),
    (workload("StatefulSet", "u", serviceName="x"), {"spec.replicas": 2}),
    (workload("DaemonSet", "u"), {"spec.minReadySeconds": 5}),
    (workload("DaemonSet", "u"), {"spec.selector": OTHER}),
    (workload("ReplicaSet", "u"), {"spec.selector": OTHER, "spec.template.metadata.labels": {"a": "c"}}),
    (SECRET, {"type": "x"}),
    (SECRET, {"stringData": {"a": "b"}}),
    ({**SECRET, "immutable": True}, {"data": {"a": "YmFy"}}),
    ({**SECRET, "immutable": True}, {"immutable": False}),
    (obj("v1", "ConfigMap", "u", immutable=True), {"data": {"x": "y"}, "binaryData": {"q": "AA=="}}),
    (PORT, {"spec.clusterIP": "10.0.0.77"}),
    (PORT, {"spec.clusterIP": None, "spec.clusterIPs": None}),
    (PORT, {"spec.type": "NodePort"}),
    (PORT, {"spec.ports": [{"port": 81}]}),
    (PORT, {"spec.type": "ExternalName", "spec.externalName": "a.b"}),
    (PORT, {"spec.clusterIP": "None", "spec.clusterIPs": ["None"]}),
    (obj("v1", "Service", "u", spec={"type": "NodePort", "ports": [{"port": 80}]}), {"spec.type": "ClusterIP"}),
    (obj("v1", "Service", "u", spec={"type": "LoadBalancer", "ports": [{"port": 80}]}), {"spec.type": "ClusterIP"}),
    (obj(RBAC, "RoleBinding", "u", roleRef={"kind": "Role", "name": "x"}), {"roleRef.name": "y"}),
    (JOB, {"spec.parallelism": 5}),
    (JOB, {"spec.completions": 5}),
    (obj("coordination.k8s.io/v1", "Lease", "u", spec={"holderIdentity": "x"}), {"spec.holderIdentity": "y"}),
    (obj("discovery.k8s.io/v1", "EndpointSlice", "u", addressType="IPv4", endpoints=[]), {"addressType": "IPv6"}),
    (POD, {"metadata.labels": {"a": "b"}}),
]  # fmt: skip
