"""Reviews by servers outside: the one way in which the API server calls webhooks.

`handle` is synchronous and calls no webhook. Code below it that needs a review asks the `ReviewLog`
of the request (``backend.reviews``) for the answer, under a key that says what the review is about:

    answer = backend.reviews.answer(key, ReviewCall(client_config, review, seconds))

The first time there is none, and `ReviewsNeeded` leaves `handle`. What awaits `handle`, the
transport in memory or the TLS listener, then has the webhooks called through a `ReviewCaller` and
hands the same request in again, with the same log; this time the answer is there. So code runs
again from the start: before its last review it stores nothing, and what must not change between the
attempts (uids, allocated addresses, a whole prepared object) it takes from ``once(key, make)``.
Keys name the object and its resourceVersion: if the object changed meanwhile, the review is about
another state and is asked for again, as kube-apiserver does.

*review* is an AdmissionReview or a ConversionReview whose request has no uid yet; it gets one when
it is sent, and ``answer.uid`` tells which. An answer holds the document that came back, or the
failure in kube-apiserver's words, to be put after "failed to call webhook: " or the like. Several
reviews at once (`ReviewLog.answers`) are sent concurrently. The server's own controllers, which
run after something was stored, cannot ask.

There are two callers: over HTTPS (`httpscaller`), where Services are found in a `ServiceTable`, and
in this process (`registered`) for simulations without sockets. Both verify the certificate chain.
"""
