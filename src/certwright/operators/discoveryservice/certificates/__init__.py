"""Keeps the certificates of a control plane and of its clients valid, each in a Secret.

DiscoveryServiceCertificates, Secrets and the time enter; Secrets, statuses, Events and metrics
leave. Every certificate is decided on by itself, from its spec, its Secret and the Secret of its
authority. An authority is replaced in steps, decided by `certwright.pki.rotation` from what all the
Secrets hold, so nothing has to be remembered and a restart changes nothing.

=============  ==================================================================
`wanted`       what a spec asks for, checked
`contents`     what Secrets hold, read and written
`profile`      what certificates contain
`schedule`     when a certificate is due
`decision`     whether a certificate is issued now, and why
`messages`     what statuses and Events say
`status`       statuses
`leaf`         the pass over a certificate
`rotation`     the pass over an authority
`shared`       what both passes do alike
`metrics`      numbers
`controller`   which pass, and what a change concerns
`operator`     settings and wiring
=============  ==================================================================
"""
