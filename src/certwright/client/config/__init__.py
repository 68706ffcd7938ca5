"""Configuration: kubeconfig files, exec plugins and the in-cluster account enter; one
`Config` and credentials that are kept current leave.

`kubeconfig` reads and merges files, `context` resolves one context of them to a `config`,
`credentials` and `execplugin` provide what requests authenticate with.
"""
