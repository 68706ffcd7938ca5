"""``certwright discovery-service``: the process in the pods of a control plane.

What enters is a command line as the Deployment of a DiscoveryService has it, or as marin3r's had;
what runs is the discovery server, the publication of EnvoyConfigs and the webhook.
"""
