"""A page that stays open follows the cluster, and leaves focus, scroll and fields as they are."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import accessibility_violations, window
from tests.support.large_page import large_state
from tests.support.model_site import ModelSite, served
from tests.support.page_world import BILLING, NOW_MS, STEP_MS, STEPS, state_at
from tests.support.waiting import wait_until
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

GROUP = "/groups/zookeeper/billing"
SEEN_S = (NOW_MS + 2_000) / 1_000
BEFORE = 49
"""The step before a third member joins."""


def show(site: ModelSite, state: ClusterState) -> None:
    """Publish a state, at its time."""
    site.clock.advance(state.snapshot.taken_ms + 2_000 - site.clock.wall_ms())
    site.source.publish(state)


def focused(page: Page) -> str:
    """Return the text of the element that has the focus."""
    found: str = page.evaluate("document.activeElement.textContent.trim().replace(/\\s+/g, ' ')")
    return found


def test_a_rebalance_is_shown_and_announced(browser: Browser, site: ModelSite) -> None:
    """The grid follows, changed rows light up, and a screen reader hears why."""
    show(site, state_at(BEFORE))
    with window(browser, site.address, reduced_motion="no-preference") as opened:
        page = opened.open(GROUP)
        row = page.locator("tr[data-key='orders-6']")
        expect(row.locator(".own")).to_have_class("own hue1")
        expect(page.locator("th.member")).to_have_count(2)
        page.get_by_text("The same as a table").click()
        page.locator("a", has_text="Nodes in ZooKeeper").focus()
        page.evaluate("scrollTo(0, 150)")
        page.evaluate("window.sameDocument = true")
        with page.expect_response(lambda response: response.url.endswith(GROUP)):
            show(site, state_at(BEFORE + 1))
        expect(row.locator(".own")).to_have_class("own hue2")
        expect(page.locator("th.member")).to_have_count(3)
        lit = "row => row.getAnimations().length"
        assert row.evaluate(lit) == 1
        assert page.locator("tr[data-key='orders-0']").evaluate(lit) == 0
        expect(page.locator("#news")).to_contain_text("joined: 3 partitions changed hands.")
        assert page.evaluate("window.sameDocument")
        assert page.evaluate("scrollY") == 150
        assert focused(page) == "Nodes in ZooKeeper"
        assert page.locator("details.numbers").evaluate("one => one.open")
        assert opened.assert_clean()


def test_reduced_motion_stops_all_animations(browser: Browser, site: ModelSite) -> None:
    """Where the user prefers reduced motion, neither badges nor rows are animated."""
    show(site, state_at(BEFORE))
    with window(browser, site.address) as opened:
        page = opened.open(GROUP)
        expect(page.locator("th.member")).to_have_count(2)
        show(site, state_at(BEFORE + 1))
        expect(page.locator("th.member")).to_have_count(3)
        assert page.evaluate("document.getAnimations().length") == 0


def test_outdated_values_are_marked(browser: Browser, site: ModelSite) -> None:
    """Ages grow without updates, and the age of a value that is no longer read says so."""
    with window(browser, site.address) as opened:
        opened.page.clock.install(time=SEEN_S - 60)
        opened.page.clock.pause_at(SEEN_S)
        page = opened.open(GROUP)
        age = page.locator("#fresh time")
        expect(age).to_have_text("2 s")
        committed = page.locator("tr[data-key='orders-0'] td.first")
        expect(committed).not_to_have_class("n first wide old")
        expect(page.locator("#link")).to_have_text("Live")
        expect(page.locator("th.seen")).to_be_hidden()
        page.clock.run_for(58_000)
        expect(age).to_have_text("1 min")
        expect(age).to_have_class("age old")
        expect(page.locator("#link")).to_have_text("Out of date")
        expect(page.locator("#fresh")).to_have_class("fresh stale")
        expect(committed).to_have_class("n first wide old")
        expect(page.locator("th.seen")).to_be_visible()
        page.clock.resume()  # axe waits on the page's clock
        assert accessibility_violations(page) == []
        page.clock.pause_at(SEEN_S + 600)
        latest = replace(state_at(failing=True), number=900, problem="ZooKeeper does not answer")
        show(site, latest)
        expect(age).to_have_text("2 s")
        expect(committed).to_have_class("n first wide")
        expect(page.get_by_role("region", name="Problem")).to_contain_text("does not answer")
        expect(page.locator("#link")).to_have_text("Out of date")
        failures = page.get_by_role(
            "region", name="What can\N{RIGHT SINGLE QUOTATION MARK}t be read now"
        )
        expect(failures).to_contain_text("log ends of broker 2 for 44 s")
        assert opened.assert_clean()


def test_a_command_is_copied(browser: Browser, site: ModelSite) -> None:
    """One click copies it to the clipboard; a link leads to its documentation."""
    granted = ["clipboard-read", "clipboard-write"]
    with window(browser, site.address, permissions=granted) as opened:
        page = opened.open("/")
        page.get_by_role("button", name="Copy").first.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == (
            "zkconsumer doctor --group fraud-scoring --zookeeper zk1:2181,zk2:2181,zk3:2181/shop"
        )
        page.get_by_role("link", name="About member-stale").click()
        expect(page.locator("tr:target")).to_contain_text("member-stale")
        assert opened.assert_clean()


def test_a_lost_connection_is_reported_and_restored(browser: Browser, site: ModelSite) -> None:
    """The page keeps what it showed, and says that it has no connection."""
    with window(browser, site.address) as opened:
        page = opened.open("/")
        expect(page.locator("#link")).to_have_text("Live")
        page.get_by_text("What it means, what helps").first.click()
        opened.page.context.set_offline(True)
        page.route("**/*", lambda route: route.abort())
        show(site, state_at(STEPS - 1))
        expect(page.locator("#link")).to_have_text("Connection lost, trying again")
        expect(page.locator("#verdict")).to_be_visible()
        page.unroute("**/*")
        opened.page.context.set_offline(False)
        show(site, state_at(STEPS))
        expect(page.locator("#link")).to_have_text("Live", timeout=10_000)
        expect(page.locator("details[open]")).to_have_count(1)


def test_a_hidden_page_holds_no_connection(browser: Browser, site: ModelSite) -> None:
    """Browsers allow few connections per host, so only its title follows until it is shown."""
    hide = """hidden => {
        Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with window(browser, site.address) as opened:
        opened.page.clock.install()
        page = opened.open("/")
        wait_until(lambda: site.source.listening == 1, what="the page to listen")
        page.evaluate(hide, True)
        wait_until(lambda: site.source.listening == 0, what="the page to go")
        full = site.source.current
        quiet = replace(full.snapshot, groups={}, topics=())
        healthy = replace(
            full, number=900, snapshot=quiet, judgements=Judgements(quiet, None, Memory())
        )
        assert page.title().startswith("fraud-scoring is stuck: ")
        show(site, healthy)
        page.clock.run_for(10_000)
        expect(page).to_have_title("All is well · zkconsumer")
        show(site, replace(full, number=901))
        page.evaluate(hide, False)
        expect(page).to_have_title(re.compile("^fraud-scoring is stuck: "))
        assert page.locator("link[rel=icon]").get_attribute("href") == "/static/icon-bad.svg"
        assert opened.assert_clean()


def test_a_page_that_may_not_listen_polls(browser: Browser) -> None:
    """A server limits its listeners; a page above the limit is some seconds behind."""
    with served(ModelSite(listeners=0)) as site, window(browser, site.address) as opened:
        opened.page.clock.install()
        page = opened.open(GROUP)
        expect(page.locator("#link")).to_have_text("Connection lost, trying again")
        show(site, replace(site.source.current, number=900, problem="gone"))
        page.clock.run_for(10_000)
        expect(page.get_by_role("region", name="Problem")).to_be_visible()


def test_a_group_that_disappears_and_returns(browser: Browser, site: ModelSite) -> None:
    """Its page says that it is gone, and shows it again when it is back."""
    with window(browser, site.address) as opened:
        page = opened.open(GROUP)
        full = site.source.current
        others = {key: group for key, group in full.snapshot.groups.items() if key != BILLING}
        show(site, replace(full, number=900, snapshot=replace(full.snapshot, groups=others)))
        expect(page.get_by_role("main")).to_contain_text("or no longer")
        show(site, replace(full, number=901))
        expect(page.locator("table.grid")).to_be_visible()
        expect(page.locator("#chart canvas")).to_be_visible()
        show(site, replace(full, number=902, snapshot=replace(full.snapshot, groups=others)))
        expect(page.get_by_role("main")).to_contain_text("or no longer")
        page.reload()
        show(site, replace(full, number=903))
        expect(page.locator("#chart canvas")).to_be_visible()


def test_filters_apply_during_typing(browser: Browser, site: ModelSite) -> None:
    """The list and the address change, the field keeps the focus, and a reload shows the same."""
    with window(browser, site.address) as opened:
        page = opened.open("/groups?sort=-lag")
        page.evaluate("window.sameDocument = true")
        field = page.get_by_label("Find")
        field.press_sequentially("se ind", delay=20)
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody th")).to_have_text("search-index")
        # Slow typing shows the matches of each prefix, which may be this row, too.
        page.wait_for_url("**/groups?q=se+ind&sort=-lag")
        expect(field).to_be_focused()
        show(site, state_at(STEPS))
        expect(field).to_have_value("se ind")
        field.fill("")
        page.get_by_label("State").select_option("rebalancing")
        expect(page.locator("tbody th")).to_have_text(["settlement", "mailer"])
        assert page.evaluate("window.sameDocument")
        page.reload()
        expect(page.locator("tbody th")).to_have_text(["settlement", "mailer"])
        assert opened.assert_clean()


def test_a_large_cluster_stays_usable(browser: Browser, site: ModelSite) -> None:
    """With 500 topics of 20 partitions, pages have few nodes, and filters and updates come soon."""
    state = replace(large_state(), number=900)
    show(site, state)
    with window(browser, site.address) as opened:
        page = opened.open("/topics")
        expect(page.locator("tbody tr")).to_have_count(50)
        page.get_by_role("link", name="After").click()
        expect(page.locator("tbody th").first).to_have_text("topic-0050")
        page.get_by_label("Find").fill("0499")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody th")).to_have_text("topic-0499")
        page = opened.open("/groups/zookeeper/large")
        expect(page.locator("tr[data-owner]")).to_have_count(100)
        assert page.locator("*").count() < 6_000
        page.evaluate("window.sameDocument = true")
        site.clock.advance(61_000)
        show(site, replace(state, number=901, problem="gone"))
        expect(page.get_by_role("region", name="Problem")).to_be_visible()
        page.get_by_label("Topic").select_option("topic-0333")
        expect(page.locator("tr[data-owner]")).to_have_count(20)
        assert page.evaluate("window.sameDocument")


def test_everything_is_reached_by_keyboard(browser: Browser, site: ModelSite) -> None:
    """Keys alone lead from the top of the page to a group's chart and its moves."""
    with window(browser, site.address, now_ms=NOW_MS + STEP_MS) as opened:
        page = opened.open("/")
        press = page.keyboard.press
        press("Tab")
        assert focused(page) == "Skip to the content"
        press("Enter")
        for expected in (
            "fraud-scoring is stuck: fraud-scoring_risk1 and fraud-scoring_risk2 are no longer "
            "committing",
            "fraud-scoring",
            "zkconsumer doctor --group fraud-scoring --zookeeper zk1:2181,zk2:2181,zk3:2181/shop",
            "Copy",
            "About commits-paused",
            "What it means, what helps, what was seen",
        ):
            press("Tab")
            assert focused(page) == expected
        press("Enter")
        expect(page.locator("details[open]")).to_have_count(1)
        while focused(page) != "Groups":
            press("Shift+Tab")
        press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Groups")
        while focused(page) != "billing":
            press("Tab")
        signal = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert signal == "solid"
        press("Enter")
        expect(page.locator("#chart[data-points]")).to_be_attached()
        while page.evaluate("document.activeElement.value") != "lag":
            press("Tab")
        press("ArrowRight")
        expect(page.get_by_role("radio", name="Lag in time")).to_be_checked()
        while focused(page) != "Partitions that changed hands":
            press("Tab")
        press("Enter")
        expect(page.locator(".moves li").first).to_be_visible()
        hidden = page.evaluate(
            "document.activeElement.getBoundingClientRect().top < "
            "document.querySelector('.top').getBoundingClientRect().bottom"
        )
        assert not hidden
        assert opened.assert_clean()
