"""Replaces an authority without an interruption, step by step.

What enters are the Secrets of the authority and of its certificates, and what is known of those who
use them; what leaves are writes of the authority's Secret, one for each step. Which step is next is
decided by `certwright.pki.rotation`.

=============  ==================================================================
`observer`     who uses the certificates: where other controllers plug in
`places`       where authorities are named, and since when
`succession`   whether an authority is lost, and what each step writes
`authority`    the pass over an authority
=============  ==================================================================
"""
