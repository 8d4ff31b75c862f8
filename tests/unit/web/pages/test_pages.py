"""What each page shows of a cluster, and that it stays small for a large one."""

import re
from dataclasses import replace
from html import escape as html_escape
from typing import Any

import pytest

from tests.support.cluster_with_problems import group_name, state_with_problems
from tests.support.large_page import LARGE, large_state
from tests.support.page_world import (
    BILLING,
    CHECKOUT,
    FRAUD,
    LONG,
    MAILER,
    NOW_MS,
    SETTLEMENT,
    ScriptedPast,
    state_at,
)
from zkconsumer.model import Broker
from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.doctor.diagnosis import Code
from zkconsumer.status.grid import member_label
from zkconsumer.status.model import (
    BrokerStatus,
    GroupKey,
    GroupKind,
    GroupState,
)
from zkconsumer.status.rates import GroupRates
from zkconsumer.web.api import groups_json
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.pages import group_rows
from zkconsumer.web.pages.cluster import ClusterHealth, _caught_up, cluster_page
from zkconsumer.web.pages.formatting import NOT_KNOWN, Tone
from zkconsumer.web.pages.group import group_page
from zkconsumer.web.pages.group_grid import COLUMNS, ROWS
from zkconsumer.web.pages.group_rows import group_row
from zkconsumer.web.pages.groups import groups_page
from zkconsumer.web.pages.table import PAGE_ROWS
from zkconsumer.web.pages.topic import topic_page
from zkconsumer.web.pages.topics import topics_page
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.rendering import render
from zkconsumer.web.state import ClusterState


def page_request(path: str = "/", **query: str) -> PageRequest:
    """Return a request, two seconds after the latest snapshot."""
    return PageRequest(path=path, query=query, now_ms=NOW_MS + 2_000)


@pytest.fixture(scope="module")
def state() -> ClusterState:
    """Return the tale's latest state."""
    return state_at()


def sentence(view: View) -> str:
    """Return the sentence in the first page's banner."""
    outcome = view.context["verdict"]
    assert isinstance(outcome, ClusterHealth)
    return outcome.sentence


def html(view: View, state: ClusterState, what: PageRequest) -> str:
    """Return the page's HTML."""
    return render(view, what, state)


def test_the_first_page_says_what_is_wrong_first(state: ClusterState) -> None:
    """The first page begins with a sentence, the errors of groups, and the cluster's warnings."""
    view = cluster_page(state, page_request())
    findings = view.context["findings"]
    assert isinstance(findings, list)
    assert [finding.code for finding in findings] == [
        Code.COMMITS_PAUSED,
        Code.MEMBER_STALE,
        Code.MEMBER_FOREIGN,
        Code.UNDER_REPLICATED,
    ]
    outcome = view.context["verdict"]
    assert isinstance(outcome, ClusterHealth)
    assert outcome.sentence == (
        "fraud-scoring is stuck: fraud-scoring_risk1 and fraud-scoring_risk2 are no longer "
        "committing"
    )
    assert (outcome.group, outcome.all) == (
        FRAUD,
        "In all 3 errors, 1 warning and 1 group that does not keep up.",
    )
    page = html(view, state, page_request())
    assert "icon-bad.svg" in page
    assert page.index("fraud-scoring") < page.index("mailer") < page.index("2 partitions lack")


def badges(page: str, key: GroupKey) -> set[str]:
    """Return the badges that a page shows beside the group's name."""
    name = re.escape(html_escape(key.group_id))
    return set(
        re.findall(rf'>{name}</(?:a|h1)>.*?<span class="(badge [a-z]+"[^<]*)', page, re.DOTALL)
    )


def test_each_page_has_the_same_verdict_of_a_group(state: ClusterState) -> None:
    """Each page shows the doctor's verdict of a group: one that is stuck is green nowhere."""
    everything = {
        "cluster": html(cluster_page(state, page_request()), state, page_request()),
        "groups": html(groups_page(state, page_request()), state, page_request()),
    }
    topics = {topic.name for topic in state.snapshot.topics}
    everything |= {
        topic: html(topic_page(state, page_request(), topic), state, page_request())
        for topic in topics
    }
    for key, group in state.snapshot.groups.items():
        own = html(group_page(state, page_request(), key), state, page_request())
        listed = everything["cluster"].partition("Groups that are behind")[2]
        readers = {
            topic: everything[topic].partition("Groups that read it")[2]
            for topic in topics & group.topics_read
        }
        pages = [own, listed, everything["groups"], *readers.values()]
        shown_badges = [found for page in pages if (found := badges(page, key))]
        assert len(shown_badges) >= 2, key
        assert all(found == shown_badges[0] and len(found) == 1 for found in shown_badges), (
            key,
            shown_badges,
        )
    for key, word in ((FRAUD, "stuck"), (SETTLEMENT, "stuck"), (MAILER, "can&#39;t rebalance")):
        page = html(group_page(state, page_request(), key), state, page_request())
        [badge] = badges(page, key)
        assert badge.startswith('badge bad"')
        assert f"</svg>{word}</span>" in page


def test_the_json_has_the_verdict_of_the_pages(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON has the words of the pages, and says which groups the doctor did not examine."""

    def verdicts_in_json() -> dict[GroupKey, dict[str, Any]]:
        return {
            GroupKey(GroupKind(group["kind"]), group["group_id"]): group["verdict"]
            for group in groups_json(state)["groups"]
        }

    verdicts = verdicts_in_json()
    assert verdicts.keys() == state.snapshot.groups.keys()
    for key, verdict in verdicts.items():
        shown = group_row(state, key).verdict
        assert (verdict["word"], verdict["tone"], verdict["sentence"]) == (
            *(shown.word, shown.tone),
            shown.sentence,
        )
        page = html(group_page(state, page_request(), key), state, page_request())
        [badge] = badges(page, key)
        assert badge.startswith(f'badge {verdict["tone"]}"')
        word = html_escape(verdict["word"]).replace("&#x27;", "&#39;")
        assert f"</svg>{word}</span>" in page
    assert verdicts[SETTLEMENT]["code"] == Code.MEMBER_STALE
    assert verdicts[SETTLEMENT]["tone"] == "bad"
    assert verdicts[SETTLEMENT]["findings"] >= 1
    assert (verdicts[CHECKOUT]["code"], verdicts[CHECKOUT]["findings"]) == (None, 0)
    monkeypatch.setattr(group_rows, "MAX_EXAMINED_PARTITIONS", 0)
    assert {verdict["findings"] for verdict in verdicts_in_json().values()} == {None}


def test_a_group_page_begins_with_what_the_banner_says(state: ClusterState) -> None:
    """A group's page begins with the banner's cause and member, and so does its rebalance."""
    for key, expected in (
        (SETTLEMENT, "settlement is stuck: settlement_host7 is registered but gone"),
        (MAILER, "mailer can&#39;t rebalance: mail-legacy is another kind of client"),
        (BILLING, "billing: makes progress, but falls further behind (orders-5)"),
    ):
        page = html(group_page(state, page_request(), key), state, page_request())
        assert expected in page.partition('<dl class="tiles">')[0]
        assert "no cause was seen" not in page
    page = html(group_page(state, page_request(), SETTLEMENT), state, page_request())
    assert "<strong>settlement_host7 is registered but gone</strong>" in page
    assert "1 member of the group is registered but gone" in page
    calm = html(group_page(state, page_request(), CHECKOUT), state, page_request())
    assert 'class="verdict ' not in calm


def test_each_finding_has_its_command_and_its_page(state: ClusterState) -> None:
    """An incident is one finding with its effects, its command and its link to the manual."""
    page = html(cluster_page(state, page_request()), state, page_request())
    assert page.count('class="finding') == 4
    assert (
        "zkconsumer doctor --fix --group settlement --zookeeper zk1:2181,zk2:2181,zk3:2181/shop"
    ) in page
    assert 'href="/manual/doctor#member-stale"' in page
    assert "</a> is stuck: settlement_host7 is registered but gone" in page
    assert "<summary>partitions have no owner</summary>" in page
    group = html(group_page(state, page_request(), SETTLEMENT), state, page_request())
    assert '<use href="#i-bad"/></svg>gone</span>' in group
    fraud = html(group_page(state, page_request(), FRAUD), state, page_request())
    assert fraud.count('<use href="#i-bad"/></svg>no commits</span>') == 2  # both members
    assert '<use href="#i-ok"/></svg>reads</span>' not in fraud


def test_rates_of_cluster_and_groups_are_shown(state: ClusterState) -> None:
    """Pages show rates, and when a group will have caught up, or that it will not."""
    page = html(cluster_page(state, page_request()), state, page_request())
    assert "<dt>Written/s</dt><dd>4.9k</dd>" in page
    assert "records to read; 3 groups do not catch up" in page
    assert '<td class="n" data-label="Caught up in">3 min 45 s</td>' in page
    assert '<td class="n" data-label="Caught up">not at this rate</td>' in page
    behind = page[page.index("Groups that are behind") :].split("</tr>")
    [billing] = [row for row in behind if ">billing</a>" in row]
    assert "falls behind" in billing
    assert "not at this rate" in billing
    group = html(group_page(state, page_request(), LONG), state, page_request())
    assert "caught up in 3 min 45 s" in group
    assert "<dt>Written/s</dt><dd>435</dd>" in group
    assert "<dt>Read/s</dt><dd>915</dd>" in group


def test_a_silent_group_is_not_green_before_it_counts_as_stopped(state: ClusterState) -> None:
    """Burrow's rules take minutes: until they report a stop, a silent group is not green."""
    row = replace(group_row(state, FRAUD), last_commit_ms=None, late=(), findings=())
    seen = replace(row, burrow=BurrowStatus.OK, rates=GroupRates())
    silent = replace(seen, rates=GroupRates(written=29, read=0))
    for row, word, tone in (
        (seen, "no commits yet", Tone.CALM),
        (silent, "no commits yet", Tone.CALM),
        (replace(silent, last_commit_ms=NOW_MS), "not known yet", Tone.CALM),
        (replace(silent, state=GroupState.EMPTY), "nobody reads", Tone.CALM),
        (replace(silent, lag=None), "no commits yet", Tone.CALM),
        (replace(silent, lag=None, partitions=0), "keeps up", Tone.OK),
        (replace(silent, rates=GroupRates(written=29, read=28)), "keeps up", Tone.OK),
        (replace(silent, lag=0), "keeps up", Tone.OK),
        (replace(silent, burrow=BurrowStatus.STOP), "no commits", Tone.BAD),
    ):
        assert (row.verdict.word, row.verdict.tone) == (word, tone)
    assert silent.verdict.about.startswith("no commit was seen yet")
    about = replace(silent, lag=None).verdict.about
    assert about.startswith("no commit was seen yet, so no lag is known")
    assert "no commit was" not in replace(silent, last_commit_ms=NOW_MS).verdict.about


def test_a_group_without_members_does_not_keep_up(state: ClusterState) -> None:
    """A group without members is not shown as keeping up, whatever its lag and state."""
    row = group_row(state, GroupKey(GroupKind.ZOOKEEPER, "nightly-export"))
    assert (row.members, row.lag, row.rates.read, row.state) == (0, 0, 0, GroupState.EMPTY)
    assert (row.verdict.word, row.verdict.tone) == ("nobody reads", Tone.CALM)
    assert row.verdict.sentence == "nightly-export: it has no members, and there is nothing to read"
    late = replace(row, lag=20, rates=GroupRates(written=9, read=9))
    assert (late.verdict.word, late.caught_up) == ("nobody reads", "not at this rate")
    gone = replace(late, state=GroupState.ABANDONED, burrow=BurrowStatus.NOTFOUND)
    assert (gone.verdict.word, gone.verdict.tone) == ("not in use", Tone.CALM)
    stopped = replace(late, findings=group_row(state, SETTLEMENT).findings)
    assert (stopped.verdict.word, stopped.verdict.tone) == ("stuck", Tone.BAD)


def test_a_group_that_falls_behind_in_one_partition_is_not_caught_up(state: ClusterState) -> None:
    """A group that falls behind in one partition is late, though its total lag shrinks."""
    row = group_row(state, BILLING)
    assert row.rates.falls is not None
    assert (row.hindrance, row.caught_up) == ("falls behind: orders-5", "not at this rate")
    page = html(group_page(state, page_request(), BILLING), state, page_request())
    assert "records to read; falls behind: orders-5" in page
    assert replace(row, late=()).caught_up == "2 min 34 s"


def test_a_group_of_unknown_lag_is_not_late(state: ClusterState) -> None:
    """A group whose lag is unknown, as without a commit, is not called late."""
    view = group_page(state, page_request(), LONG)
    row = replace(group_row(state, LONG), lag=None, rates=GroupRates(written=0, read=0))
    page = html(replace(view, context={**view.context, "row": row}), state, page_request())
    tile = page.partition("<dt>Lag</dt>")[2].partition("</div>")[0]
    assert "records to read" in tile
    assert "falling" not in tile


def test_groups_that_keep_up_do_not_change_the_catch_up_time(state: ClusterState) -> None:
    """The cluster's catch-up time ignores groups with a small lag that read at their log's rate."""
    late = group_row(state, LONG)
    pace = replace(late, lag=20, burrow=BurrowStatus.OK, rates=GroupRates(written=9, read=9.001))
    assert _caught_up([late, pace]) == "caught up in 3 min 45 s"
    assert _caught_up([pace]) == ""


def test_a_cluster_that_is_partly_unreadable_is_not_healthy() -> None:
    """If parts can't be read, nothing else wrong is not called health."""
    failing = state_at(1, failing=True)
    quiet = replace(failing.snapshot, groups={}, topics=())
    state = replace(failing, snapshot=quiet, judgements=Judgements(quiet, None, Memory()))
    then = replace(page_request(), now_ms=quiet.taken_ms + 2_000)
    view = cluster_page(state, then)
    assert sentence(view) == "Not everything can be read"
    assert "log ends of broker 2" in html(view, state, then)


def banner_and_page(state: ClusterState) -> tuple[str, str]:
    """Return the first page's sentence, and its HTML, two seconds after the snapshot."""
    then = replace(page_request(), now_ms=state.snapshot.taken_ms + 2_000)
    view = cluster_page(state, then)
    return sentence(view), html(view, state, then)


def state_with(state: ClusterState, **changes: Any) -> ClusterState:
    """Return the state with other groups or topics."""
    memory = Memory()
    snapshot = replace(state.snapshot, **changes)
    memory.record(snapshot)
    return replace(state, snapshot=snapshot, judgements=Judgements(snapshot, None, memory))


def test_an_old_snapshot_is_not_healthy(state: ClusterState) -> None:
    """An old snapshot is not shown as healthy, whether reading failed or never ends."""
    well = state_with(state, groups={}, topics=())
    outcome, page = banner_and_page(well)
    assert outcome == "All is well"
    assert "icon-ok.svg" in page
    outcome, page = banner_and_page(replace(well, problem="ZooKeeper does not answer"))
    assert outcome == "The cluster can't be read now"
    assert "icon-bad.svg" in page
    late = replace(page_request(), now_ms=NOW_MS + 3_600_000)
    assert sentence(cluster_page(well, late)) == "The cluster can't be read now"
    assert sentence(cluster_page(state, late)).endswith(" committing, when it was last read")


def test_a_group_without_progress_is_not_healthy(state: ClusterState) -> None:
    """A group that makes no progress is shown before the doctor knows the reason."""
    snapshot = state.snapshot
    alone = replace(snapshot, groups={FRAUD: snapshot.groups[FRAUD]})
    judged = Judgements(alone, None, state.judgements._memory)
    outcome, page = banner_and_page(replace(state, snapshot=alone, judgements=judged))
    assert outcome == (
        "fraud-scoring: no longer commits, though there is something to read "
        "(payments-0 and 3 more)"
    )
    assert "In all 1 warning and 1 group that does not keep up." in page
    assert "icon-bad.svg" in page


def test_a_group_that_was_not_examined_is_not_healthy() -> None:
    """A group too large to be examined is named, and hides no other group's findings."""
    state = large_state(topics=501)
    broker = BrokerStatus(broker=Broker(0, "b0", 9092), seen_ms=NOW_MS, is_controller=True)
    outcome, page = banner_and_page(state_with(state, brokers=(broker,)))
    assert outcome == "Nothing is wrong in what was examined"
    assert "1 group too large to examine here" in page
    assert "icon-ok.svg" not in page
    mailer = state_at().snapshot.groups[MAILER]
    both = state_with(state, groups={**state.snapshot.groups, MAILER: mailer})
    found = cluster_page(both, page_request()).context["findings"]
    assert Code.MEMBER_FOREIGN in [item.code for item in found]  # type: ignore[attr-defined]


def test_a_lag_is_as_old_as_the_log_ends_it_is_counted_from(state: ClusterState) -> None:
    """A lag has the age of the log end, however fresh members and committed offsets are."""
    group = state.snapshot.groups[BILLING]
    old_ms = NOW_MS - 600_000
    first, *others = group.partitions
    old = replace(group, partitions=(first._replace(log_at_ms=old_ms), *others))
    what = state_with(state, groups={BILLING: old})
    page = html(group_page(what, page_request(), BILLING), what, page_request())
    assert f'<div class="tile" data-at="{old_ms}"><dt>Lag</dt>' in page


def test_an_unknown_lag_is_not_called_zero(state: ClusterState) -> None:
    """The lag of a group that never committed is unknown, not zero."""
    group = state.snapshot.groups[BILLING]
    bare = tuple(partition._replace(committed=()) for partition in group.partitions)
    _, page = banner_and_page(state_with(state, groups={BILLING: replace(group, partitions=bare)}))
    assert "every group has read everything" not in page
    assert f"the lag of {len(bare)} partitions is unknown" in page


def test_groups_with_problems_come_first(state: ClusterState) -> None:
    """Groups with problems come first, then by name; a request may sort and filter otherwise."""

    def names(**query: str) -> list[str]:
        table = groups_page(state, page_request("/groups", **query)).context["table"]
        return [row.key.group_id for row in table.rows]  # type: ignore[attr-defined]

    assert names()[:4] == ["fraud-scoring", "settlement", "mailer", "billing"]
    assert names(sort="-lag")[:2] == ["fraud-scoring", LONG.group_id]
    assert names(sort="name")[0] == "archiver"
    assert names(kind="coordinator") == ["checkout", "recommender"]
    assert names(state="empty") == ["nightly-export"]
    assert names(q="in bill") == ["billing"]


def test_members_have_short_names(state: ClusterState) -> None:
    """Members have short names beside their ids, from the original or from a coordinator."""
    page = html(
        group_page(state, page_request(), BILLING, ScriptedPast().rebalances(BILLING, 0)),
        state,
        page_request(),
    )
    assert "member bill3·f6 joined" in page
    assert "member bill2·aa was restarted" in page
    assert "billing_bill3-1795167510000-79d96af6" in page
    uuid = "app-0b1c2d3e-1111-2222-3333-0123456789ab"
    assert member_label(CHECKOUT.group_id, uuid) == "app·ab"
    assert member_label(CHECKOUT.group_id, "just-a-name") == "just-a-name"


def test_a_rebalance_that_is_known_twice_is_shown_once(state: ClusterState) -> None:
    """A rebalance that is both in memory and in the history is shown once, from memory."""
    past = ScriptedPast().rebalances(BILLING, 0)
    [recent] = state.judgements.rebalances(BILLING)
    written = replace(past[0], began_ms=recent.began_ms, reasons=("written down",))
    view = group_page(state, page_request(), BILLING, (*past, written))
    events = view.context["events"]
    assert [event.began_ms for event in events] == [  # type: ignore[attr-defined]
        recent.began_ms,
        past[0].began_ms,
    ]
    assert "written down" not in html(view, state, page_request())


def test_faults_are_shown_in_the_grid(state: ClusterState) -> None:
    """The grid shows unreadable members, owners that read nothing, and partitions that stopped."""
    assert "can&#39;t be read" in html(
        group_page(state, page_request(), MAILER), state, page_request()
    )
    page = html(group_page(state, page_request(), FRAUD), state, page_request())
    assert page.count("Burrow: STOP") >= 4
    assert page.count(">no commits</span>") >= 4
    only = group_page(state, page_request(show="faults"), FRAUD)
    assert "No partition matches." in html(only, state, page_request(show="faults"))


def test_a_missing_group_or_topic_is_a_404_page(state: ClusterState) -> None:
    """A missing group or topic is a page with status 404, and its name is escaped."""
    none = GroupKey(GroupKind.ZOOKEEPER, "<script>")
    for view in (
        group_page(state, page_request(), none),
        topic_page(state, page_request(), "<script>"),
    ):
        assert view.status == 404
        page = html(view, state, page_request())
        assert "&lt;script&gt;" in page
        assert "<script>" not in page


def test_a_large_cluster_makes_small_pages() -> None:
    """The pages of a large cluster are limited in rows, columns and filters."""
    state = large_state()
    topics = topics_page(state, page_request("/topics"))
    table = topics.context["table"]
    assert len(table.rows) == PAGE_ROWS  # type: ignore[attr-defined]
    assert table.paging.pages == 10  # type: ignore[attr-defined]
    view = group_page(state, page_request("/groups/zookeeper/large"), LARGE)
    grid = view.context["grid"]
    assert sum(len(rows) for _, rows in grid.topics) == ROWS  # type: ignore[attr-defined, misc]
    assert len(grid.columns) <= COLUMNS  # type: ignore[attr-defined]
    assert grid.hidden_columns == 40  # type: ignore[attr-defined]
    for page in (
        cluster_page(state, page_request()),
        groups_page(state, page_request()),
        topics,
        view,
    ):
        assert len(html(page, state, page_request())) < 250_000
    last = group_page(state, page_request(page="100", topic="topic-0499"), LARGE).context["grid"]
    assert last.paging.found == 20  # type: ignore[attr-defined]


def test_a_group_beyond_the_end_of_a_log_has_not_read_all_there_is() -> None:
    """A group after the log's end has lag 0, and is not shown as having read everything."""
    state = state_with_problems()
    key = GroupKey(GroupKind.ZOOKEEPER, group_name("beyond"))
    row = group_row(state, key)
    assert (row.lag, row.caught_up) == (0, NOT_KNOWN)
    shown = html(group_page(state, page_request(), key), state, page_request())
    assert "has read everything" not in shown
    assert "its offset is beyond the end" in shown
