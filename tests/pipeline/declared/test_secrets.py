"""Records and pages of a document contain no secrets; everything else is as it was written."""

from __future__ import annotations

from pyjs.documents.located_yaml import read
from pyjs.pipeline.declared.secrets import clean, masked

TEXT = """\
name: p   # token: of course
connection:
  servers: nats://joe:s3cret1@host:4222,nats://s3cret2@other:4222
  password: s3cret3   # mine
  user: joe
  creds: /etc/spark.creds
sinks:
  db: {url: "jdbc:postgresql://h/d?user=x&password=s3cret4&ssl=true", password: 's3cret5', token: 123450}
  ok: {password: "env://PASSWORD"}
spark:
  conf:
    spark.hadoop.fs.s3a.secret.key: |
      s3cret6
    spark.x: 1
"""


def test_secrets_are_masked_where_they_stand() -> None:
    shown = masked(TEXT, read(TEXT, "p"))
    assert "s3cret" not in shown
    assert "123450" not in shown
    for kept in (
        "name: p   # token: of course",
        "# mine",
        "user: joe",
        "creds: /etc/spark.creds",
        "password=********&ssl=true",
        'password: "env://PASSWORD"',
        "    spark.x: 1",
        "@host:4222",
    ):
        assert kept in shown


def test_a_masked_document_is_still_one() -> None:
    shown = masked(TEXT, read(TEXT, "p"))
    assert read(shown, "p").value["connection"]["password"] == "********"
    assert read(shown, "p").value["spark"]["conf"]["spark.x"] == 1


def test_urls_lose_their_users() -> None:
    assert clean("at nats://a:b@c:1 and tls://d@e") == "at nats://********@c:1 and tls://********@e"
