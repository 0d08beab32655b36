"""The meta layer: what the servers of a domain decide together about streams and consumers, without I/O.

`State` is what was decided, `command` what may be proposed, `apply` how it takes effect on every server
alike, `snapshot` its form on the disk, `machine` all that as what a group replicates. `placement` chooses
servers and `desk` makes commands of wishes: both only on the leader. `duties` says what one server has to do
about an effect, `answering` which server answers a request, `gathering`, `report`, `health` and `usage` what
is said of all that. Time and dice are arguments.
"""
