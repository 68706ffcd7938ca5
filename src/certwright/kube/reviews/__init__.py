"""Reviews: what an API server asks of a webhook, and what the webhook answers.

The JSON of an ``AdmissionReview`` or a ``ConversionReview`` enters and a typed request leaves, or
`BadRequest` that says what is wrong with it; a typed answer enters and JSON leaves. Objects inside
stay bytes until they are asked for.
"""
