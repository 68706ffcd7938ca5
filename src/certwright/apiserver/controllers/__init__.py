"""What changes objects without a request: the work of kube-controller-manager.

Each change of a stored object enters `Background.observe` and queues steps of the controllers
it concerns: garbage collection, namespaces and what each of them holds by default, the kinds of
CustomResourceDefinitions, aggregated ClusterRoles. The steps write through `writes`.
"""
