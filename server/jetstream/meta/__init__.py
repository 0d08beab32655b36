"""The meta layer: what the servers of a domain decide together about streams and consumers, without I/O.

`MetaState` is what was decided, `command` what may be proposed, `apply` how it takes effect on every server
alike, `snapshot` its form on the disk, `state_machine` all that as what a group replicates. `placement`
chooses servers and `planner` makes commands of requests: both only on the leader. `reconcile` derives what
one server has to do about an effect, `responder` which server answers a request; `report`, `health` and
`usage` are about what is shown of all that. Time and random numbers are arguments.
"""
