"""A sentence about each built-in kind and the fields all kinds share, for ``kubectl explain``."""

from typing import Final

from certwright.apiserver.builtins import definition_name
from certwright.kube import kinds
from certwright.kube.objects import Resource

FIELDS: Final = {
    "apiVersion": "The group and version of the API the object is written for.",
    "kind": "What the object is.",
    "metadata": "What every object has: its name, labels, owners.",
    "spec": "What should be.",
    "status": "What is, as seen by the controllers.",
}

_SENTENCES: Final[dict[Resource, str]] = {
    kinds.ConfigMap: "Configuration for pods to read: texts and files by key.",
    kinds.Secret: "Confidential data for pods to read, by key.",
    kinds.Service: "A stable address for a changing set of pods.",
    kinds.ServiceAccount: "An identity for processes that run in pods.",
    kinds.Endpoints: "The addresses behind a Service; EndpointSlices replace it.",
    kinds.Pod: "Containers that run together on one node.",
    kinds.ReplicationController: "Keeps a number of pods running; Deployments replace it.",
    kinds.PodTemplate: "A pod to be copied.",
    kinds.LimitRange: "Bounds and defaults of the resources pods of a namespace may ask for.",
    kinds.ResourceQuota: "Bounds of what a namespace may use in total.",
    kinds.PersistentVolumeClaim: "A wish for storage.",
    kinds.PersistentVolume: "A piece of storage.",
    kinds.Namespace: "A scope for names.",
    kinds.Node: "A machine that runs pods.",
    kinds.CoreEvent: "Something that happened to an object, reported by a controller.",
    kinds.Event: "Something that happened to an object, reported by a controller.",
    kinds.Deployment: "Keeps pods of a template running and replaces them step by step.",
    kinds.ReplicaSet: "Keeps a number of pods of one template running.",
    kinds.StatefulSet: "Keeps pods running that have an identity and storage of their own.",
    kinds.DaemonSet: "Keeps one pod running on every node.",
    kinds.ControllerRevision: "An earlier state of a workload, to return to.",
    kinds.Job: "Runs pods until enough of them have succeeded.",
    kinds.CronJob: "Creates Jobs at given times.",
    kinds.HorizontalPodAutoscaler: "Chooses the number of pods by what they are doing.",
    kinds.PodDisruptionBudget: "How many pods may be down at a time by voluntary disruptions.",
    kinds.Ingress: "Leads HTTP requests from outside to Services.",
    kinds.IngressClass: "Who serves the Ingresses that name the class.",
    kinds.NetworkPolicy: "Which traffic pods may send and receive.",
    kinds.EndpointSlice: "Some of the addresses behind a Service.",
    kinds.StorageClass: "How storage of a kind is made.",
    kinds.PriorityClass: "How important pods are to each other.",
    kinds.Role: "What may be done in a namespace.",
    kinds.RoleBinding: "Who may do in a namespace what a role says.",
    kinds.ClusterRole: "What may be done everywhere.",
    kinds.ClusterRoleBinding: "Who may do everywhere what a role says.",
    kinds.MutatingWebhookConfiguration: "Webhooks that may change objects on their way in.",
    kinds.ValidatingWebhookConfiguration: "Webhooks that may refuse objects on their way in.",
    kinds.CustomResourceDefinition: "A kind to be served in addition to the built-in ones.",
    kinds.APIService: "Where a group and version of the API is served.",
    kinds.CertificateSigningRequest: "A request for a certificate, its approval and the result.",
    kinds.Lease: "Who holds something, and until when.",
    kinds.SelfSubjectAccessReview: "The question whether the caller may do something.",
    kinds.SubjectAccessReview: "The question whether a user may do something.",
    kinds.SelfSubjectRulesReview: "The question what the caller may do in a namespace.",
    kinds.SelfSubjectReview: "The question who the caller is.",
    kinds.TokenReview: "The question whose token it is.",
}

KINDS: Final = {definition_name(resource): text for resource, text in _SENTENCES.items()}
"""The sentences by the names of definitions."""
