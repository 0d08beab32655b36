"""Options become settings, or an error that names the option and says what to do."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from pyjs.pipeline.options import OPTIONS, OptionError, QuerySettings
from pyjs.pipeline.options.positions import EARLIEST, LATEST, StreamPosition
from pyjs.pipeline.options.table import FOREIGN

SERVER = {"servers": "nats://one:4222,nats://two:4222"}


def settings(use: str = "read", **options: str) -> QuerySettings:
    return QuerySettings.of({**SERVER, "stream": "ORDERS", **options}, use)


def refused(use: str = "read", **options: Any) -> OptionError:
    with pytest.raises(OptionError) as caught:
        QuerySettings.of(
            {name: text for name, text in ({**SERVER, **options}).items() if text is not None}, use
        )
    return caught.value


def test_what_is_not_said_has_the_defaults_of_the_use() -> None:
    batch, stream = settings(), settings("stream")
    assert batch.address.servers == ("nats://one:4222", "nats://two:4222")
    assert batch.api_prefix == "$JS.API"
    assert (batch.starting.every, stream.starting.every) == (EARLIEST, LATEST)
    assert batch.ending.every == LATEST
    assert batch.fail_on_data_loss
    assert not batch.include_headers


def test_names_are_taken_in_any_case() -> None:
    found = QuerySettings.of({"SERVERS": "a", "Stream": "ORDERS", "failondataloss": "FALSE"}, "read")
    assert not found.fail_on_data_loss


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("strem", "did you mean stream?"),
        ("maxOffsetPerTriger", "did you mean maxOffsetsPerTrigger?"),
        ("subscribe", "use stream or streams"),
        ("subscribePattern", "use streamPattern"),
        ("kafka.bootstrap.servers", "use servers"),
        ("kafka.group.id", "use consumerDurable"),
        ("kafka.ssl.truststore.location", "no Kafka client"),
        ("fetchOffset.numRetries", "use fetchRetries"),
        ("nats.host", "use servers"),
        ("nats.pull.subscription.stream.name", "use stream"),
        ("path", "option stream"),
        ("zzz", "docs/pipeline.md"),
    ],
)
def test_an_unknown_option_is_refused_with_what_is_meant(option: str, advice: str) -> None:
    error = refused(stream="ORDERS", **{option: "x"})
    assert error.option == option
    assert advice in str(error)


def test_no_option_has_a_name_that_advice_is_given_for() -> None:
    assert {option.name.lower() for option in OPTIONS}.isdisjoint(FOREIGN)


@pytest.mark.parametrize(
    ("option", "text", "what"),
    [
        ("servers", ",", "has no such value"),
        ("stream", "OR.DERS", "no stream name"),
        ("stream", " ", "is empty"),
        ("subjects", "a..b", '"a..b" is no subject'),
        ("subjects", "a.*,*.b", "overlap"),
        ("streamPattern", "(", "no regular expression"),
        ("minPartitions", "0", "not 1 or more"),
        ("minPartitions", "many", "no whole number"),
        ("fetchRetries", "-1", "not 0 or more"),
        ("failOnDataLoss", "maybe", "neither true nor false"),
        ("startingOffsets", "first", "earliest or latest"),
        ("startingOffsets", '{"ORDERS": 0}', "0 is no sequence"),
        ("startingOffsets", '{"ORDERS": "7"}', "is no sequence"),
        ("startingOffsets", '{"ORDERS": true}', "is no sequence"),
        ("startingOffsets", "[1]", "not understood"),
        ("startingTimestamp", "yesterday", "is no time"),
        ("startingTimestamp", "2026-11-22T08:00:00", "with its zone"),
        ("startingOffsetsByTimestamp", '{"ORDERS": "noon"}', "is no time"),
        ("startingOffsetsByTimestampStrategy", "earliest", "none of error, latest"),
        ("endingOffsets", "earliest", "nothing can end at the earliest"),
        ("timeout", "soon", "no span of time"),
        ("timeout", "0", "no span of time"),
        ("jsApiPrefix", "$JS.>", "no wildcards"),
    ],
)
def test_a_wrong_value_is_refused(option: str, text: str, what: str) -> None:
    streams = {} if option in {"stream", "streamPattern"} else {"stream": "ORDERS"}
    error = refused(**{**streams, option: text})
    assert (error.option, what in str(error)) == (option, True), str(error)


@pytest.mark.parametrize(
    ("use", "options", "option"),
    [
        ("read", {}, "stream"),
        ("read", {"stream": "A", "streams": "A,B"}, "streams"),
        ("read", {"stream": "A", "streamPattern": "A.*"}, "streamPattern"),
        ("read", {"stream": "A", "servers": None}, "servers"),
        ("read", {"stream": "A", "password": "x"}, "password"),
        ("read", {"stream": "A", "tlsCert": "x"}, "tlsCert"),
        ("read", {"stream": "A", "domain": "hub", "jsApiPrefix": "$JS.hub.API"}, "jsApiPrefix"),
        ("read", {"stream": "A", "startingOffsets": "latest"}, "startingOffsets"),
        ("read", {"stream": "A", "startingOffsets": '{"B": 1}'}, "startingOffsets"),
        ("read", {"streams": "A,B", "startingOffsets": '{"A": 1}'}, "startingOffsets"),
        (
            "read",
            {"stream": "A", "startingOffsets": '{"A": 9}', "endingOffsets": '{"A": 3}'},
            "endingOffsets",
        ),
        ("read", {"stream": "A", "maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger"),
        ("stream", {"stream": "A", "endingOffsets": "latest"}, "endingOffsets"),
        (
            "stream",
            {"stream": "A", "minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"},
            "minOffsetsPerTrigger",
        ),
        ("write", {"stream": "A", "startingOffsets": "earliest"}, "startingOffsets"),
    ],
)
def test_what_does_not_go_together_or_has_no_place_is_refused(
    use: str, options: dict[str, str | None], option: str
) -> None:
    assert refused(use, **options).option == option


def test_all_that_is_wrong_is_reported_and_nothing_that_follows_from_it() -> None:
    options = {"kafka.bootstrap.servers": "s", "strem": "A", "timeout": "x", "usr": "a", "password": "p"}
    _, wrong = QuerySettings.validated({**options, "tlsCert": "c", "endingOffsets": "latest"}, "stream")
    assert [error.option for error in wrong] == [
        "kafka.bootstrap.servers",
        "strem",
        "usr",
        "timeout",
        "tlsCert",
        "endingOffsets",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stream": "A", "startingOffsets": '{"B": 1}'}, "names B, which is not read; streams read: A;"),
        (
            {"streams": "A,C", "startingOffsets": '{"B": 1, "C": 2, "D": 3}'},
            "names B, D, which are not read; streams read: A, C;",
        ),
        ({"streams": "A,B", "startingOffsets": '{"A": 1}'}, "has no position for B; streams read: A, B;"),
        (
            {"streamPattern": "A.*", "startingOffsets": '{"AB": 1, "B": 1}'},
            'names B, which is not read; streamPattern "A.*"',
        ),
    ],
)
def test_positions_are_for_the_streams_that_are_read(options: dict[str, str], said: str) -> None:
    assert f"option startingOffsets: {said}" in str(refused("stream", **options))


def test_what_spark_adds_to_a_writers_options_is_left_alone() -> None:
    assert settings("write", checkpointLocation="x", queryName="q").use == "write"


def test_the_narrowest_say_of_a_start_counts_as_with_kafka() -> None:
    every = {
        "startingOffsets": '{"ORDERS": 12}',
        "startingOffsetsByTimestamp": '{"ORDERS": 1000}',
        "startingTimestamp": "1970-01-01T00:00:02Z",
    }
    assert settings(**every).starting.of("ORDERS") == StreamPosition("time", 2 * 10**9)
    del every["startingTimestamp"]
    assert settings(**every).starting.of("ORDERS") == StreamPosition("time", 10**9)
    del every["startingOffsetsByTimestamp"]
    assert settings(**every).starting.of("ORDERS") == StreamPosition("sequence", 12)


def test_minus_one_and_minus_two_are_kafkas_words() -> None:
    found = QuerySettings.of({**SERVER, "streams": "A,B", "startingOffsets": '{"A": -2, "B": -1}'}, "stream")
    assert (found.starting.of("A"), found.starting.of("B")) == (EARLIEST, LATEST)


def test_filters_that_others_contain_are_left_out() -> None:
    assert settings(subjects="a.>, a.b ,c.*,c.d.e").subjects == ("a.>", "c.*", "c.d.e")


def test_a_number_without_a_unit_is_milliseconds() -> None:
    assert settings(timeout="1500").address.timeout == settings(timeout="1.5s").address.timeout == 1.5


def test_a_domain_names_the_prefix_of_the_api() -> None:
    assert settings(domain="hub").api_prefix == "$JS.hub.API"
    assert settings(jsApiPrefix="js.mapped").api_prefix == "js.mapped"


def test_secrets_are_in_no_text_of_settings_or_errors() -> None:
    made = settings(user="ann", password="s3cr3t-p", token="s3cr3t-t", servers="nats://bob:s3cr3t-u@one:1")
    assert "s3cr3t" not in repr(made)
    assert pickle.loads(pickle.dumps(made)) == made
    for options in (
        {"servers": "nats://bob:s3cr3t@one,,"},
        {"password": "s3cr3t"},
        {"nkey": "s3cr3t", "x": "y"},
    ):
        assert "s3cr3t" not in str(refused(stream="ORDERS", **options))


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "nats" / "context"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, **fields: Any) -> None:
    (folder / "shop.json").write_text(json.dumps(fields))


def of_context(use: str = "read", **options: str) -> QuerySettings:
    return QuerySettings.of({"context": "shop", "stream": "ORDERS", **options}, use)


def test_a_context_says_where_and_as_whom(contexts: Path) -> None:
    write(
        contexts,
        url="nats://one:1, nats://two:2",
        user="ann",
        password="env://PW",
        ca="ca.pem",
        tls_first=True,
        jetstream_domain="hub",
        inbox_prefix="_MINE",
    )
    found = of_context()
    assert found.address.servers == ("nats://one:1", "nats://two:2")
    assert (found.address.user, found.address.password) == ("ann", "env://PW")
    assert (found.address.tls_ca, found.address.tls_first) == ("ca.pem", True)
    assert (found.api_prefix, found.domain, found.address.inbox_prefix) == ("$JS.hub.API", "hub", "_MINE")


def test_options_go_before_a_context(contexts: Path) -> None:
    write(contexts, url="nats://one:1", user="ann", password="x", jetstream_domain="hub")
    found = of_context(servers="nats://two:2", creds="me.creds", jsApiPrefix="js.mapped")
    assert found.address.servers == ("nats://two:2",)
    assert (found.address.creds, found.address.user, found.address.password) == ("me.creds", "", "")
    assert (found.api_prefix, found.domain) == ("js.mapped", "")


def test_a_context_is_read_once_where_the_query_is_started(contexts: Path) -> None:
    write(contexts, url="nats://one:1")
    made = of_context(use="")
    (contexts / "shop.json").unlink()
    assert pickle.loads(pickle.dumps(made)).for_use("read").address.servers == ("nats://one:1",)


def test_a_context_that_is_missing_or_cannot_be_served_is_refused(contexts: Path) -> None:
    error = refused(servers=None, stream="ORDERS", context="shoop")
    assert "unknown context" in str(error)
    write(contexts, url="nats://one:1", socks_proxy="socks5://p:1")
    assert "SOCKS" in str(refused(servers=None, stream="ORDERS", context="shop"))
