"""What follows from the facts about a pod, without input or output and with `now` as argument.

`facts` holds what the node knows, `plan` decides what is done next, `status` writes what the API
shows, `environment` and `volumes` turn the pod's spec and the objects it refers to into variables,
arguments and files. Objects of the API and facts enter; actions, statuses and contents leave.
"""
