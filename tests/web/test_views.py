"""Every view is accessible in a real browser, and loads nothing from other hosts."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import (
    accessibility_violations,
    count_colours,
    dark_scheme,
    screenshot,
    window,
)
from tests.support.model_site import ModelSite, served, served_clusters
from tests.support.page_world import BILLING, LONG, NOW_MS, SETTLEMENT, state_at
from tests.support.waiting import wait_until
from zkconsumer.web.pages.view import group_address

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

SEEN_MS = NOW_MS + 2_000
GROUP = "/groups/zookeeper/billing"
VIEWS = {
    "cluster": ("/", "Cluster"),
    "groups": ("/groups", "Groups"),
    "group": (GROUP, "billing"),
    "group-in-trouble": ("/groups/zookeeper/fraud-scoring", "fraud-scoring"),
    "coordinator-group": ("/groups/coordinator/checkout", "checkout"),
    "group-left-to-the-gone": ("/groups/zookeeper/settlement", "settlement"),
    "topics": ("/topics", "Topics"),
    "topic": ("/topics/clicks", "clicks"),
    "manual": ("/manual/doctor", "The doctor"),
    "nodes": (f"{GROUP}/znodes?path=/consumers/billing/ids", "Nodes in ZooKeeper"),
}
PICTURES = {
    "light": {"cluster", "groups", "group", "group-left-to-the-gone", "topics", "topic", "nodes"},
    "dark": {"cluster", "group", "group-in-trouble"},
}


@pytest.fixture(scope="module")
def fixed_site() -> Iterator[ModelSite]:
    """Serve a site that shows the same to all tests of the module."""
    with served(ModelSite()) as opened:
        opened.source.publish(state_at())
        yield opened


def test_long_names_push_nothing_out(browser: Browser, fixed_site: ModelSite) -> None:
    """At 1440 px no table needs scrolling."""
    with window(browser, fixed_site.address, now_ms=SEEN_MS) as opened:
        for path in ("/", "/groups", group_address(LONG)):
            page = opened.open(path)
            for table in page.locator(".scroll:visible").all():
                assert table.evaluate("it => it.scrollWidth - it.clientWidth") == 0, path
                for cell in table.locator("code").all():
                    assert cell.evaluate("it => it.scrollWidth - it.clientWidth") <= 0, path


def test_on_a_phone_groups_and_topics_are_cards(browser: Browser, fixed_site: ModelSite) -> None:
    """Name, verdict, lag and delay are on the screen; a stuck group is not green."""
    size = {"width": 390, "height": 800}
    with window(
        browser, fixed_site.address, now_ms=SEEN_MS, viewport=size, scheme="dark"
    ) as opened:
        page = opened.open("/groups")
        stuck = page.locator("tbody tr").first
        expect(stuck).to_contain_text("fraud-scoring")
        expect(stuck.locator(".badge:visible")).to_have_text("stuck")
        for label in ("Lag", "Behind"):
            cell = stuck.locator(f"[data-label='{label}']")
            box = cell.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= 390
        screenshot(page, "groups-small-dark")
        page = opened.open("/topics")
        expect(page.locator("tbody tr").first.locator(".badge")).to_be_in_viewport()
        screenshot(page, "topics-small-dark")
        screenshot(opened.open("/"), "cluster-small-dark")


def outside(page: Page) -> list[str]:
    """Return the cells of cards that extend beyond the screen, or whose text exceeds them."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".cards :is(th, td)")]
            .filter(cell => cell.checkVisibility())
            .filter(cell => cell.getBoundingClientRect().right > innerWidth
                || cell.scrollWidth > cell.clientWidth + 1)
            .map(cell => cell.outerHTML.slice(0, 200))"""
    )
    return found


def test_on_a_phone_a_group_is_shown_completely(browser: Browser, fixed_site: ModelSite) -> None:
    """Each partition has its owner, lag and delay; members and brokers are shown, too."""
    size = {"width": 390, "height": 800}
    with window(browser, fixed_site.address, now_ms=SEEN_MS, viewport=size) as opened:
        page = opened.open(group_address(SETTLEMENT))
        expect(page.locator("#verdict")).to_be_in_viewport()
        expect(page.locator(".head .badge").first).to_have_text("stuck")
        owned, unowned = (page.locator(f"tr[data-key='invoices-{number}']") for number in (1, 2))
        for row, cells in (
            (owned, {"Partition": "1", "host6·b4": "owns it in stream 0", "Lag": "1"}),
            (unowned, {"Partition": "2", "Lag": "falls behind24,000", "Behind": "~4 min 26 s"}),
        ):
            for label, text in cells.items():
                cell = row.locator(f"[data-label='{label}']")
                expect(cell).to_have_text(re.compile(f"^{text}"))
                label_shown = "it => getComputedStyle(it, '::before').content"
                assert cell.evaluate(label_shown).startswith(f'"{label}')
                box = cell.bounding_box()
                assert box is not None
                assert box["x"] + box["width"] <= 390
        expect(page.locator(".who .badge:visible")).to_have_text(["reads", "gone"])
        screenshot(page, "group-left-to-the-gone-small")
        for path, tables in ((group_address(SETTLEMENT), 2), ("/", 2), ("/topics/clicks", 1)):
            page = opened.open(path)
            expect(page.locator("table.cards")).to_have_count(tables)
            assert outside(page) == [], path


def test_tile_numbers_need_one_line(browser: Browser, fixed_site: ModelSite) -> None:
    """The longest possible numbers fit on a phone and on a large screen."""
    for width in (390, 1440):
        size = {"width": width, "height": 900}
        with window(browser, fixed_site.address, now_ms=SEEN_MS, viewport=size) as opened:
            for path in ("/", group_address(SETTLEMENT), group_address(BILLING)):
                for tile in opened.open(path).locator(".tile dd:not(.sub)").all():
                    for text in (None, "~59 min 59 s", "~23 h 59 min", "99,999,999"):
                        if text is not None:
                            tile.evaluate("(it, text) => { it.textContent = text; }", text)
                        lines = (
                            "it => it.clientHeight / parseFloat(getComputedStyle(it).lineHeight)"
                        )
                        assert round(tile.evaluate(lines)) == 1
                        assert tile.evaluate("it => it.scrollWidth - it.clientWidth") <= 0, text


def await_chart(page: Page) -> None:
    """Wait until the page's chart, if it has one, shows its lines."""
    page.evaluate("document.fonts.ready")
    if page.locator("#chart").count():
        expect(page.locator("#chart[data-points]")).to_be_attached()
        assert count_colours(page, "#chart canvas") > 10


def test_every_view_is_accessible(browser: Browser, fixed_site: ModelSite) -> None:
    """Neither colour scheme has a finding of axe, charts have lines, and no other host is asked."""
    with window(browser, fixed_site.address, now_ms=SEEN_MS) as opened:
        for name, (path, heading) in VIEWS.items():
            page = opened.open(path)
            expect(page.get_by_role("heading", level=1)).to_have_text(heading)
            await_chart(page)
            assert accessibility_violations(page) == [], name
            if name in PICTURES["light"]:
                screenshot(page, name)
            with dark_scheme(page):
                await_chart(page)
                assert accessibility_violations(page, "dark") == [], name
                if name in PICTURES["dark"]:
                    screenshot(page, f"{name}-dark")
        opened.page.set_viewport_size({"width": 390, "height": 800})
        for name, (path, _) in VIEWS.items():
            page = opened.open(path)
            await_chart(page)
            assert accessibility_violations(page) == [], f"{name} on a phone"
            with dark_scheme(page):
                assert accessibility_violations(page, "dark") == [], f"{name} on a phone"
        assert opened.assert_clean()


def test_login_and_missing_pages_are_accessible(browser: Browser) -> None:
    """A browser logs in, is refused, and logs out; a page that doesn't exist says so."""
    token = "a-token-that-is-long-enough"
    with served(ModelSite(token)) as site, window(browser, site.address) as opened:
        page = opened.open("/groups")
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        assert accessibility_violations(page) == []
        screenshot(page, "login")
        page.get_by_label("Token").fill("a-token-that-is-not-the-one")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        opened.errors.clear()  # the browser logs the response 403
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Groups")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        assert opened.assert_clean()
    with served(ModelSite()) as site, window(browser, site.address) as opened:
        page = opened.open("/groups/zookeeper/none-such")
        expect(page.get_by_role("main")).to_contain_text("There is no zookeeper group none-such")
        assert accessibility_violations(page) == []


def test_messages_are_shown_as_text(browser: Browser) -> None:
    """Markup in messages stays text; they can be filtered and downloaded, on a phone, too."""
    token = "a-token-that-is-long-enough"
    with (
        served(ModelSite(token)) as site,
        window(browser, site.address, now_ms=SEEN_MS) as opened,
    ):
        page = opened.open("/topics/orders")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name="Messages").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Messages")
        expect(page.locator(".message")).to_have_count(5)
        expect(page.locator(".message").nth(1)).to_contain_text("<script>document.title")
        assert page.title() == "Messages of orders · zkconsumer"
        assert page.locator(".message img").count() == 0
        assert accessibility_violations(page) == []
        screenshot(page, "messages")
        with dark_scheme(page):
            assert accessibility_violations(page, "dark") == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_label("Filter").fill(".customer.id == 42")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".message")).to_have_count(1)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert '"order":4711' in download.value.path().read_text()
        assert opened.assert_clean()


def test_several_clusters_are_accessible(browser: Browser) -> None:
    """Links lead from the overview into a cluster and back; its pages update themselves."""
    with served_clusters() as (address, sites), window(browser, address, now_ms=SEEN_MS) as opened:
        page = opened.open("/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Clusters")
        expect(page.locator("tbody th a").first).to_have_text("shop")
        assert accessibility_violations(page) == []
        screenshot(page, "clusters")
        page.get_by_role("link", name="shop", exact=True).click()
        page.get_by_role("link", name="Groups", exact=True).click()
        page.get_by_role("link", name="billing").click()
        await_chart(page)
        assert accessibility_violations(page) == []
        wait_until(lambda: sites["shop"].source.listening == 1, what="the page to listen")
        page.get_by_role("link", name="All clusters").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Clusters")
        assert opened.assert_clean()


def test_small_screens_scroll_in_one_direction_only(
    browser: Browser, fixed_site: ModelSite
) -> None:
    """Wide tables scroll within the page."""
    size = {"width": 390, "height": 800}
    with window(browser, fixed_site.address, now_ms=SEEN_MS, viewport=size) as opened:
        for path, _ in VIEWS.values():
            page = opened.open(path)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, path
        await_chart(opened.open(GROUP))
        screenshot(opened.page, "group-small")


def test_without_scripts_only_the_chart_is_missing(browser: Browser, fixed_site: ModelSite) -> None:
    """The server sends complete pages, and filters have a button then."""
    with window(browser, fixed_site.address, java_script_enabled=False) as opened:
        page = opened.open(GROUP)
        expect(page.locator("table.grid")).to_contain_text("3,419,335")
        expect(page.locator("#chart")).to_have_text("The chart needs JavaScript.")
        page.goto(f"{fixed_site.address}/groups")
        page.get_by_label("Find").fill("fraud")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("tbody tr")).to_have_count(1)


def test_the_chart_has_a_table_of_the_same_numbers(browser: Browser, fixed_site: ModelSite) -> None:
    """The table serves readers who can't see the canvas; buttons hide lines."""
    with window(browser, fixed_site.address, now_ms=SEEN_MS) as opened:
        page = opened.open(GROUP)
        await_chart(page)
        page.get_by_text("The same as a table").click()
        latest = page.locator(".numbers tbody tr").first
        expect(latest).to_contain_text("5,522")  # the group's lag, as its tile says
        expect(page.locator(".tile", has_text="records to read")).to_contain_text("5,522")
        assert accessibility_violations(page) == []
        # Samples before and after the stop of a server are not connected by a line.
        assert page.locator(".numbers tbody tr").count() >= 20
        page.get_by_role("radio", name="Position").check()
        expect(page.locator(".series")).to_have_text([re.compile("^written"), re.compile("^read")])
        page.get_by_role("radio", name="Lag in time").check()
        expect(page.locator(".numbers caption")).to_have_text("Lag of each partition, in time")
        button = page.get_by_role("button", name="orders-5")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        expect(button).to_be_focused()
        page.get_by_role("radio", name="15 min").check()
        expect(page.locator("#chart[data-points='60']")).to_be_attached()
        assert opened.assert_clean()


MIXED = """async () => {
  const { seriesOf } = await import("/static/chart_series.js");
  const steps = [
    ...Array(30).fill(480), ...Array(30).fill(240), 3600,
    ...Array(30).fill(120), ...Array(30).fill(60),
    90, ...Array(60).fill(5), 61, 300, ...Array(20).fill(5),
  ];
  const times_ms = [0];
  for (const step of steps) times_ms.push(times_ms.at(-1) + step * 1000);
  const lag = times_ms.map(() => 1);
  const answer = { times_ms, total: lag, partitions: [{ topic: "t", partition: 0, lag }] };
  const { times, lines } = seriesOf(answer, "lag", new Map());
  return lines[0].values.flatMap((one, at) => (one === null ? [times[at]] : []));
}"""


def test_the_chart_has_gaps_only_where_nothing_was_read(
    browser: Browser, fixed_site: ModelSite
) -> None:
    """Older times have fewer samples: the larger distance alone is no gap."""
    with window(browser, fixed_site.address, now_ms=SEEN_MS) as opened:
        gaps = opened.open(GROUP).evaluate(MIXED)
        hour = 30 * 480 + 30 * 240
        silent = hour + 3_600 + 30 * 120 + 30 * 60 + 90 + 60 * 5
        assert gaps == [hour + 240, silent + 5, silent + 61 + 5]
        assert opened.assert_clean()


def test_failed_notifications_are_shown_on_every_page(browser: Browser) -> None:
    """The banner fits the screen, however long the receiver's error is."""
    site = ModelSite()
    site.delivery_problem = (
        f"notifying ops: https://hooks.example.org: {'x' * 150} <b>; trying again"
    )
    with (
        served(site) as opened_site,
        window(browser, opened_site.address, now_ms=SEEN_MS) as opened,
    ):
        page = opened.open("/groups")
        banner = page.get_by_role("region", name="Notifications")
        expect(banner).to_contain_text("Some notifications are not delivered. notifying ops")
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            box = banner.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert accessibility_violations(page) == []
            with dark_scheme(page):
                assert accessibility_violations(page, "dark") == []
        assert opened.assert_clean()


def test_the_colour_scheme_is_chosen_and_kept(browser: Browser, fixed_site: ModelSite) -> None:
    """One button switches between the system's scheme, light and dark."""
    with window(browser, fixed_site.address, scheme="light") as opened:
        page = opened.open("/")
        background = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(background)
        button = page.get_by_role("button", name="Colours")
        for scheme in ("light", "dark"):
            button.click()
            expect(button).to_contain_text(scheme)
        dark = page.evaluate(background)
        assert dark != light
        page = opened.open("/topics")
        assert page.evaluate(background) == dark
        button.click()
        assert page.evaluate(background) == light
        assert opened.assert_clean()
