"""The meta layer: what the servers of a domain decide together about streams and consumers, without I/O.

`MetaState` is what was decided, `command` what may be proposed, `apply` how a command takes effect, the same
on every server, `snapshot` the state's encoding, and `state_machine` all of these as what a group replicates.
`placement` chooses servers and `planner` turns requests into commands, both only on the leader. `reconcile`
derives what one server has to do about an effect, `responder` which server answers a request. `report`,
`health` and `usage` make what is shown of all that. Time and random numbers are arguments.
"""
