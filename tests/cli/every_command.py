"""A line for every command that lists or shows something, in an order in which each has something to show.

Lines are run twice on each server, with `{n}` for the run. A number before a line is the exit code that is
expected, `*` means any; `reference` has a line run on nats-server only, `endless` ends it as Ctrl-C does, and
`programs` runs it for programs only. What needs servers of another kind is in `ELSEWHERE`, with the reason.
"""

from __future__ import annotations

OF_ACCOUNT = """
stream add S{n} --subjects s{n}.> --defaults
stream add E{n} --subjects e{n} --defaults
pub -J s{n}.a x
pub -J s{n}.b 'a "comma", a | and' -H Some:header
pub -J s{n}.b 'ünïcode ✓'
pub -J s{n}.c {long}
stream rmm S{n} 2 -f
stream copy S{n} T{n} --subjects t{n}
stream edit T{n} --description=x --force
stream add C{n} --source S{n} --defaults
stream ls
stream find
stream report
stream report --leaders
stream info S{n}
stream state S{n}
stream subjects S{n}
stream subjects E{n}
stream gaps S{n}
stream gaps E{n}
stream get S{n} -S s{n}.b
stream get S{n} 4
stream view S{n}
stream view E{n}
consumer add S{n} D --pull --defaults
consumer copy S{n} D F
consumer edit S{n} F --description=x --force
consumer ls S{n}
consumer ls E{n}
consumer find S{n}
consumer report S{n}
consumer report E{n}
consumer info S{n} D
consumer state S{n} D
* server check consumer --stream S{n} --consumer D
* server check jetstream
* server check message --stream S{n} --subject s{n}.a
* server check request --subject nosuch --timeout 100ms
* server check stream --stream S{n}
dlq add S{n}
consumer next S{n} D --term
consumer next S{n} D --count 2
dlq ls
dlq ls S{n}
dlq show S{n} 1
dlq replay S{n} --all --dry-run
dlq stop S{n}
explain stream S{n}
* explain consumer S{n} D
explain subject s{n}.a
* doctor
reference trace s{n}.a
kv add B{n} --history 5
kv put B{n} k v
* server check kv --bucket B{n}
kv create B{n} l 'a,b|c'
kv update B{n} k w 1
kv edit B{n} --description d
kv get B{n} k
kv history B{n} k
kv info B{n}
kv ls
kv ls B{n}
kv revert B{n} k 1 --force
endless programs kv watch B{n}
object add O{n}
object put O{n} thing --name thing --no-progress
object edit O{n} --description d
object info O{n}
object info O{n} thing
object ls
object ls O{n}
endless programs object watch O{n}
object del O{n} thing --force
object seal O{n} --force
reference stream add V{n} --subjects v{n}.* --allow-counter --defaults
reference counter increment v{n}.a 3
reference counter decrement v{n}.a 1
reference counter get v{n}.a
reference counter view v{n}.a
reference counter list --stream V{n}
stream backup S{n} saved{n} --no-progress
backup verify saved{n} --no-progress
backup verify saved{n} --no-progress --live
export --all exported{n}
5 plan --file document{n}.yaml
apply --file document{n}.yaml
plan --file document{n}.yaml
stream purge S{n} -f
context save here{n} --description 'here, | there'
context ls
context info here{n}
context validate
account info
account report connections
account report statistics
rtt 1
audit checks
errors ls
errors lookup 10059
1 errors validate errors.json
schema search
schema cli stream report
schema info io.nats.jetstream.api.v1.stream_create_request
schema validate io.nats.jetstream.api.v1.stream_names_request request.json
schema request $JS.API.STREAM.NAMES
pipeline lag pipeline.yaml
pipeline ls
pipeline status
pipeline check pipeline.yaml
1 pipeline check document1.yaml
server mappings a.* b.{{wildcard(1)}} a.x
service list
service list echo
service ping
service info echo
service stats echo
latency --server-b {url} --duration 50ms --rate 100
bench pub b --msgs 10 --size 10
bench service request echo.echo --msgs 10
bench js pub sync bj{n} --create --stream J{n} --msgs 10 --size 10
bench js pub async bj{n} --stream J{n} --msgs 10 --size 10
reference bench js pub atomic ba{n} --create --stream JA{n} --msgs 10 --batch 5
reference bench js pub fast bf{n} --create --stream JF{n} --msgs 10
bench js ordered --stream J{n} --msgs 10
bench js consume --stream J{n} --msgs 10
bench js fetch --stream J{n} --msgs 10
bench js get sync --stream J{n} --msgs 10
bench js get batch --stream J{n} --msgs 10
bench kv put --msgs 10
bench kv get --msgs 10
"""
OF_SYSTEM = """
server list 1
server info
server ping 1
server account info APP
server account purge SPARE{n} --force
* server check connection
* server check server --name one
* server check meta --expect 1 --lag-critical 1 --seen-critical 10s
* server check credential --credential thing
server report jetstream 1
server report jetstream 1 --leaders
server report connections 1
server report accounts 1
server report accounts APP 1
server report cpu
server report mem
server report downgrade 0
server report health 1
server report routes 1
server report gateways 1
server report leafnodes 1
server stream-check
server consumer-check
endless server watch accounts
endless server watch jetstream
endless server watch servers
endless server watch api requests
audit gather --output archive{n}.zip --no-progress --no-server-profiles
audit analyze archive{n}.zip
"""
OF_FOLDERS = """
auth operator add OP{n}
auth operator edit OP{n} --service nats://localhost
auth operator info OP{n}
auth operator list
auth operator keys add
auth operator keys list
auth operator backup OP{n} saved{n}.key
auth operator select OP{n}
auth account add A --defaults
auth account add A2 --defaults
auth account edit A --connections 3
auth account info A
auth account ls
auth account keys add A clerk
auth account keys info A clerk
auth account keys ls A
auth account exports add x x A
auth account exports edit x A --description d
auth account exports info x A
auth account exports ls A
auth account imports add x x SYSTEM --source A
auth account imports edit x SYSTEM --local y
auth account imports info y SYSTEM
auth account imports ls SYSTEM
auth account mappings add A a b
auth account mappings info A a
auth account mappings ls A
auth user add ann A --defaults
auth user edit ann A --subscriptions 3
auth user info ann A
auth user ls A
"""
ELSEWHERE = {
    "account resolver report": "servers of an operator: tests/plugins/nsc/test_network.py",
    "account tls": "a server with TLS: tests/plugins/account",
    "auth account push": "servers of an operator: tests/plugins/auth/test_servers.py",
    "auth account query": "servers of an operator: tests/plugins/auth/test_servers.py",
    "auth operator import": "the token of another operator: tests/plugins/auth",
    "auth operator restore": "the folders of another machine: tests/plugins/auth",
    "bench service serve": "it answers until Ctrl-C: tests/plugins/bench",
    "bench sub": "somebody who publishes meanwhile: tests/plugins/bench",
    "consumer cluster step-down": "a cluster: tests/plugins/stream/test_leadership.py",
    "nsc status": "servers of an operator: tests/plugins/nsc/test_network.py",
    "server cluster peer-remove": "a cluster: tests/plugins/server/test_clusters.py",
    "server cluster step-down": "a cluster: tests/plugins/server/test_clusters.py",
    "stream template add": "a server with legacy_api: tests/plugins/stream/test_template.py",
    "stream template info": "a server with legacy_api: tests/plugins/stream/test_template.py",
    "stream template ls": "a server with legacy_api: tests/plugins/stream/test_template.py",
    "stream cluster step-down": "a cluster: tests/plugins/stream/test_leadership.py",
}
