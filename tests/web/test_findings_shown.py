"""A page with every kind of finding, under names as long as allowed, shows all of them."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import accessibility_violations, dark_scheme, screenshot, window
from tests.support.cluster_with_problems import (
    ELSEWHERE,
    HOST,
    TOPIC,
    group_name,
    snapshot_with_problems,
    state_with_problems,
)
from tests.support.diagnosed_cluster import NOW_MS
from tests.support.manual_clock import ManualClock
from tests.support.model_site import ModelSite, served, served_clusters
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Severity
from zkconsumer.status.doctor.examine import examine

pytestmark = pytest.mark.sandbox

WIDTHS = (1440, 390)
GROUP_TROUBLES = ("stale", "unequal", "split", "mixed", "unreadable", "spare")


def cut_off(page: Page) -> list[str]:
    """Return elements that extend beyond the screen or their box, where nothing scrolls."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(
                "#verdict, .tile *, .finding *, .cards :is(th, td), .rows li, .banner *, h1, h2")]
            .filter(it => it.checkVisibility()
                && !it.closest(".scroll, .sr, svg, pre, code.command"))
            .concat([...document.querySelectorAll(".cards :is(th, td)")]
                .filter(it => innerWidth < 700 && it.checkVisibility()))
            .filter(it => it.getBoundingClientRect().right > innerWidth + 1
                || (it.scrollWidth > it.clientWidth + 1
                    && getComputedStyle(it).display != "inline"))
            .map(it => it.outerHTML.slice(0, 160))"""
    )
    return found


def test_the_cluster_has_every_kind_of_finding() -> None:
    """Each kind that the page can name is there, except those that ``ELSEWHERE`` explains."""
    found = examine(snapshot_with_problems(), Circumstances())
    kinds = {it.code for finding in found for it in (finding, *finding.consequences)}
    assert {code for code in Code if not code.startswith("ready-")} == kinds | ELSEWHERE.keys()
    assert not kinds & ELSEWHERE.keys()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_finding_is_visible(browser: Browser, width: int) -> None:
    """On a phone and on a large screen, light and dark, no finding is cut off or inaccessible."""
    site = ModelSite()
    site.clock = ManualClock(wall_ms=NOW_MS + 2_000)
    with served(site) as site:
        site.source.publish(state_with_problems())
        size = {"width": width, "height": 900}
        with window(browser, site.address, now_ms=NOW_MS + 2_000, viewport=size) as opened:
            page = opened.open("/?findings=all")
            shown = [it.get_attribute("data-code") for it in page.locator("article.finding").all()]
            assert sorted(map(str, shown)) == sorted(
                finding.code
                for finding in examine(snapshot_with_problems(), Circumstances())
                if finding.severity > Severity.NOTE and finding.code is not Code.NOT_LOOKED_AT
            )
            expect(page.get_by_text(f"log ends of {HOST}")).to_be_visible()
            screenshot(opened.open("/"), f"every-trouble-{width}")
            groups = [f"/groups/zookeeper/{group_name(trouble)}" for trouble in GROUP_TROUBLES]
            for path in ("/?findings=all", "/groups", "/topics", f"/topics/{TOPIC}", *groups):
                page = opened.open(path)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path
                assert cut_off(page) == [], path
                assert accessibility_violations(page) == [], path
                with dark_scheme(page):
                    assert accessibility_violations(page, "dark") == [], path
            assert opened.assert_clean()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_overview_of_clusters_and_nodes_fit_a_phone(browser: Browser, width: int) -> None:
    """Neither several clusters, one with every finding, nor a group's nodes exceed the width."""
    size = {"width": width, "height": 900}
    with (
        served_clusters() as (address, sites),
        window(browser, address, now_ms=NOW_MS + 2_000, viewport=size) as opened,
    ):
        sites["plant"].source.publish(state_with_problems())
        for path in ("/", "/clusters/shop/groups/zookeeper/billing/znodes"):
            page = opened.open(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert cut_off(page) == [], path
            assert accessibility_violations(page) == [], path
            with dark_scheme(page):
                assert accessibility_violations(page, "dark") == [], path
        assert opened.assert_clean()
