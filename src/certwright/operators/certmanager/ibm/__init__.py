"""The custom resource `CertManager`, which IBM's operator brought.

What enters is such an object; `adapter` makes an `InstallRequest` of it. What leaves is what users
of that operator know: the sentence in its status, its events and its lines of log, beside
conditions that tell more.

==================  ===============================================================
`adapter`           from a CertManager to a request
`pullsecret`        what is copied, used or missing to pull images with
`summary`           what is to be told about a pass, in the words of `messages`
`status`            the status that tells it
`events`            the events that tell what has changed
==================  ===============================================================
"""
