"""Which certificates connected Envoys have shown: from the pods of a control plane to the rotation.

What enters, in each pod, are the certificates that Envoys showed and the serial numbers that are
asked for; what leaves is a report in a Lease of the pod, written only while an authority is
replaced. The operator reads these reports, and the rotation goes on as soon as all have shown what
they should.

=============  ==================================================================
`asked`        what a pod goes by: whether there is a rotation, and which serials
`attendance`   who is connected, who left a moment ago, and who of them is late
`report`       what a pod says, as an annotation of a Lease
`reporter`     the part of a pod that asks Envoys to connect again, and reports
`observer`     what the operator concludes from all reports
`messages`     the names of who is waited for
=============  ==================================================================
"""
