"""Configuration: kubeconfig files, exec plugins and the in-cluster account go in; one
`Config` and credentials that are kept current come out.
"""
