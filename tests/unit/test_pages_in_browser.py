"""Pages in a headless Chromium: nothing is cut off, everyone can read them, and values show on hover and focus."""

import json
import re
from pathlib import Path

import pytest
import yaml
from plimsoll import __main__ as stages
from plimsoll.figures import chart, data
from plimsoll.pages import figure_values, report

from tests import browser
from tests.conftest import PROJECT, built, small
from tests.unit import test_pages_of_studies as whole

# A study with a forest plot, figures and claims of every verdict, whose page is small enough to be looked at many times.
STUDY = "li2018"
# Its figures with bars, points of lines and a radar, of one and of two columns.
DRAWN = ("fig05", "fig06", "fig09", "fig10")
# The study with the most claims and figures.
LARGEST = "liu2020"
# Width of A4 without its margins, in CSS pixels.
PAPER = 710
WIDE, NARROW = 1280, 400
OPENED = "document.querySelectorAll('main details').forEach(one => { one.open = true; })"
FEW_ROWS = "document.querySelectorAll('tbody').forEach(one => [...one.rows].slice(4).forEach(row => row.remove()))"
# Elements that reach beyond the page, and tables that do not fit their boxes. On a wide page a box may scroll.
BEYOND = """(() => {
  const page = document.documentElement.clientWidth;
  const name = one => `${one.tagName} ${one.className} ${one.textContent.slice(0, 60)}`;
  const scrolls = one => {
    const box = one.parentElement.closest('.wide, pre');
    return box && getComputedStyle(box).overflowX === 'auto';
  };
  const shown = what => [...document.querySelectorAll(what)].filter(one => one.checkVisibility());
  const out = shown('body *').filter(one => one.getBoundingClientRect().right > page + 1 && !scrolls(one));
  const cut = shown('.wide').filter(one => one.scrollWidth > one.clientWidth + 1);
  return { out: out.slice(0, 5).map(name), cut: cut.map(name), scrolls: document.documentElement.scrollWidth - page };
})()"""
BROKEN = """[...document.querySelectorAll('a[href^="#"]')].map(one => decodeURIComponent(one.hash.slice(1)))
  .filter(name => !document.getElementById(name))"""
TYPE = """(words => {
  const input = document.querySelector('#search input');
  input.value = words;
  input.dispatchEvent(new Event('input'));
})"""
CHOOSE = """(verdict => {
  const one = document.querySelector('#filter select[name=verdict]');
  one.value = verdict;
  one.dispatchEvent(new Event('change', { bubbles: true }));
})"""
SPOIL = """(() => {
  const main = document.querySelector('main');
  main.insertAdjacentHTML('afterbegin', '<p style="color: #999">pale</p><img src="x">');
  main.insertAdjacentHTML('beforeend', '<div style="width: 2000px">wide</div>');
})()"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
# Smallest contrast of text at level AA.
AA = 4.5


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.started(tmp_path_factory.mktemp("chromium")) as running:
        yield running


def with_report(results: Path, study: str, drawn: tuple[str, ...] = ()) -> Path:
    """Return a study's folder of results, which is made from the reference and has the study's report.

    The figures in `drawn` are drawn again, and so they have values.
    """
    config = yaml.safe_load((PROJECT / "config/config.yaml").read_text())
    sources = whole.from_reference(results, study, small(), config)
    for name in drawn:
        shown = data.read(sources.figures, name)
        chart.draw_figure(built(study).design.chart(shown.chart), shown).save(sources.figures / name)
    (results / study / "report.html").write_text(report.render(built(study), sources))
    return results / study


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Return a folder of results with the pages on one study: its report, the claims of all studies, and the start page."""
    results = tmp_path_factory.mktemp("results")
    folder = with_report(results, STUDY, DRAWN)
    given = (
        ("verdicts", "together.json"),
        ("comparisons", "together.csv"),
        ("answers", "answer.csv"),
        ("sessions", "sessions.json"),
    )
    words = [word for option, name in given for word in (f"--{option}", str(folder / name))]
    outputs = (("page", "claims.html"), ("table", "claims.csv"), ("start", "index.html"))
    words += [word for option, name in outputs for word in (f"--{option}", str(results / name))]
    assert stages.main(["verdicts", *words]) == 0
    return results


PAGES = ("index.html", "claims.html", f"{STUDY}/report.html")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_and_no_link_is_broken(chromium, site, name):
    for width, media in ((WIDE, "screen"), (NARROW, "screen"), (PAPER, "print")):
        chromium.open(site / name, width=width, media=media)
        chromium.run(OPENED)
        found = chromium.run(BEYOND)
        assert found["scrolls"] <= 0 and not found["out"], (width, media, found)
        assert width == WIDE or not found["cut"], (width, media, found["cut"])
        assert chromium.run(BROKEN) == []


def violations(chromium) -> list[tuple]:
    """Return what axe-core finds in the open page: contrast below AA, missing names and texts, and wrong structure.

    It looks at the first rows of each table, because the others are alike.
    """
    chromium.run(f"{browser.axe()}; {OPENED}; {FEW_ROWS}")
    chosen = json.dumps({"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]})
    found = chromium.run(f"axe.run(document, {chosen}).then(one => JSON.stringify(one.violations))")
    return [(one["id"], node["html"][:200], node["failureSummary"]) for one in json.loads(found) for node in one["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", PAGES)
def test_everyone_can_read_the_pages(chromium, site, name, width, scheme):
    chromium.open(site / name, width=width, scheme=scheme)
    assert violations(chromium) == []


def test_everyone_can_read_what_is_printed(chromium, site):
    chromium.open(site / STUDY / "report.html", width=PAPER, media="print")
    # On paper a link looks like the text around it.
    assert {name for name, *_ in violations(chromium)} <= {"link-in-text-block"}


def test_a_figure_is_a_light_grey_card_on_a_dark_page_only(chromium, site):
    page, style = site / STUDY / "report.html", "getComputedStyle(document.querySelector('figure img'))"
    for scheme, media in (("light", "screen"), ("dark", "print")):
        chromium.open(page, scheme=scheme, media=media)
        assert chromium.run(f"{style}.filter") == "none", (scheme, media)
    chromium.open(page, scheme="dark")
    shade = float(re.fullmatch(r"brightness\((0\.\d+)\)", chromium.run(f"{style}.filter"))[1])
    # White becomes a grey that does not glare, on which the grey of tick labels can still be read.
    assert shade < 0.9 and contrast(0x55 / 255 * shade, shade) > AA
    assert float(chromium.run(f"{style}.borderRadius").removesuffix("px")) > 4


def contrast(*greys: float) -> float:
    """Return the contrast of two greys (0 is black, 1 is white), as WCAG defines it for values above 0.04."""
    dark, light = sorted(((grey + 0.055) / 1.055) ** 2.4 for grey in greys)
    return (light + 0.05) / (dark + 0.05)


def test_a_button_copies_a_command_or_selects_it(chromium, site):
    commands = "[...document.querySelectorAll('.copy')].map(one => one.previousElementSibling.textContent)"
    for clipboard in ("{ writeText: async words => { window.kept = words; } }", "undefined"):
        chromium.open(site / STUDY / "report.html")
        chromium.run(f"Object.defineProperty(navigator, 'clipboard', {{ value: {clipboard} }})")
        found = chromium.run(commands)
        assert found and all(re.fullmatch(r"\./plimsoll \w+ .+", one) for one in found)
        chromium.run("(async () => { document.querySelector('.copy').click(); await null; await null; })()")
        kept = chromium.run("window.kept ?? getSelection().toString()")
        assert kept == found[0]
        assert chromium.run("document.querySelector('.copy').textContent") == ("copy" if clipboard == "undefined" else "copied")


def test_what_cannot_be_read_would_be_found(chromium, site):
    chromium.open(site / "index.html")
    chromium.run(SPOIL)
    assert {name for name, *_ in violations(chromium)} >= {"color-contrast", "image-alt"}
    assert chromium.run(BEYOND)["out"]


def test_the_answer_s_ratios_are_on_the_first_screen(chromium, site):
    chromium.open(site / STUDY / "report.html")
    first = chromium.run("document.querySelector('svg.track').getBoundingClientRect().bottom")
    assert 0 < first < 800


def test_values_show_on_hover_and_on_focus(chromium, site):
    chromium.open(site / STUDY / "report.html")
    cell = "document.querySelector('.forest td')"
    shown = f"getComputedStyle({cell}.querySelector('.tip')).display"
    assert chromium.run(shown) == "none"
    place = chromium.run(f"(() => {{ const box = {cell}.getBoundingClientRect(); return [box.x + 30, box.y + 10]; }})()")
    chromium.point(*place)
    assert chromium.run(shown) == "block"
    assert re.match(r"\[[\d.]+, [\d.]+\], n = \d+$", chromium.run(f"{cell}.querySelector('.tip').textContent"))
    chromium.point(1, 1)
    assert chromium.run(shown) == "none"
    chromium.run(f"{cell}.querySelector('a').focus()")
    assert chromium.run(shown) == "block"
    # On a narrow page there is room for them beside the number.
    chromium.open(site / STUDY / "report.html", width=NARROW)
    assert chromium.run(shown) == "inline"


VALUE = "document.querySelector('#fig10 .spots span')"
SAYS = f"getComputedStyle({VALUE}, '::after').content"
# The least and the greatest x coordinate of any value's text while it has the focus, and of the page while it scrolls.
REACH = """[...document.querySelectorAll('.spots span')].map(one => {
  one.focus({ preventScroll: true });
  const box = one.getBoundingClientRect(), text = getComputedStyle(one, '::after');
  const wide = parseFloat(text.width) + parseFloat(text.paddingLeft) + parseFloat(text.paddingRight) + 2;
  const left = one.className === 'right' ? box.right - wide : box.left;
  return [left, Math.max(left + wide, document.documentElement.scrollWidth)];
})"""


def test_values_of_figures_show_on_hover_and_by_the_arrow_keys(chromium, site):
    chromium.open(site / STUDY / "report.html")
    every = {name: json.loads((site / STUDY / f"figures/{name}.values.json").read_text()) for name in DRAWN}
    for name, values in every.items():
        assert len(values) == chromium.run(f"document.querySelectorAll('#{name} .spots span').length") > 0
    said = chromium.run(f"{VALUE}.dataset.value")
    assert said == figure_values.text(every["fig10"][0]) and re.match(
        r"change of the mean, Docker, .*% of bare metal's \[", said
    )
    assert chromium.run(SAYS) == "none"
    middle = "[box.x + box.width / 2, box.y + box.height / 2]"
    chromium.run(f"{VALUE}.scrollIntoView({{ block: 'center' }})")
    chromium.point(*chromium.run(f"(() => {{ const box = {VALUE}.getBoundingClientRect(); return {middle}; }})()"))
    assert json.loads(chromium.run(SAYS)) == said
    chromium.point(1, 1)
    assert chromium.run(SAYS) == "none"
    chromium.run("document.querySelector('#fig10 .spots').focus()")
    chromium.press("ArrowRight")
    assert json.loads(chromium.run(SAYS)) == said
    chromium.press("ArrowDown")
    assert chromium.run("document.activeElement.dataset.value") == figure_values.text(every["fig10"][1])
    # One stop of the tab key for each figure.
    stops = chromium.run("[...document.querySelectorAll('.picture *')].filter(one => one.tabIndex >= 0).length")
    assert stops == chromium.run("document.querySelectorAll('.spots').length") >= len(DRAWN)


def test_values_lie_on_the_pixels_of_a_picture_and_their_texts_stay_in_the_page(chromium, site):
    for width in (WIDE, 950, NARROW):
        chromium.open(site / STUDY / "report.html", width=width)
        boxes = "['img', '.spots'].map(one => document.querySelector(`#fig10 ${one}`).getBoundingClientRect())"
        picture, spots = chromium.run(f"{boxes}.map(one => [one.left, one.top, one.right, one.bottom])")
        edge = 0.4 * 16 + 1
        inner = [one + by for one, by in zip(picture, (edge, edge, -edge, -edge), strict=True)]
        assert spots == pytest.approx(inner, abs=0.6), width
        reach = chromium.run(REACH)
        assert len(reach) > 100 and min(left for left, _ in reach) >= 0 and max(right for _, right in reach) <= width, width
    chromium.open(site / STUDY / "report.html", media="print")
    assert chromium.run("getComputedStyle(document.querySelector('.spots')).display") == "none"


def test_texts_of_values_can_be_read_in_both_schemes(chromium, site):
    for scheme in ("light", "dark"):
        chromium.open(site / STUDY / "report.html", scheme=scheme)
        chromium.run(f"{VALUE}.focus()")
        text = f"getComputedStyle({VALUE}, '::after')"
        colours = [chromium.run(f"{text}.{name}") for name in ("color", "backgroundColor")]
        assert contrast(*(int(re.match(r"rgb\((\d+)", one)[1]) / 255 for one in colours)) > AA


def test_a_search_finds_what_is_folded_and_opens_it(chromium, site):
    chromium.open(site / STUDY / "report.html", width=NARROW)
    assert chromium.run("document.querySelector('nav details').open") is False
    chromium.run(f"{TYPE}('drift outliers')")
    hits = "[...document.querySelectorAll('#search li a')]"
    assert chromium.run(f"{hits}.length") > 0
    chromium.run(f"{hits}[0].click()")
    assert chromium.run("document.querySelector('.found').checkVisibility({ contentVisibilityAuto: true })")
    chromium.run(f"{TYPE}('a word that is nowhere')")
    assert chromium.run(f"{hits}.length") == 0
    assert chromium.run("document.querySelector('#search p').textContent") == "0 places"


def test_a_search_finds_claims_by_their_words(chromium, site):
    chromium.open(site / "claims.html")
    identifier = chromium.run("document.querySelector('section.claim').id")
    words = chromium.run("document.querySelector('section.claim .statement').textContent")
    chromium.run(f"{TYPE}({json.dumps(words)})")
    found = chromium.run("[...document.querySelectorAll('#search li a')].map(one => one.hash)")
    assert f"#{identifier}" in found


def test_claims_can_be_chosen_on_a_study_s_page(chromium, site):
    chromium.open(site / STUDY / "report.html")
    every = chromium.run("document.querySelectorAll('tr.claim').length")
    chromium.run(f"{CHOOSE}('reproduced')")
    shown = "[...document.querySelectorAll('tr.claim')].filter(one => one.checkVisibility())"
    assert 0 < chromium.run(f"{shown}.length") < every
    assert chromium.run(f"{shown}.every(one => one.dataset.verdict === 'reproduced')")


def sheets(pdf: bytes) -> int:
    """Return the number of pages of a PDF that Chromium wrote."""
    return len(re.findall(rb"/Type\s*/Page[^s]", pdf))


def test_a_page_is_printed_as_a_summary_and_as_a_whole_on_request(chromium, site):
    page = site / STUDY / "report.html"
    chromium.open(page)
    summary = sheets(chromium.paper())
    chromium.run("location.hash = 'everything'")
    everything = sheets(chromium.paper())
    assert 2 <= summary <= 6 and everything > 2 * summary


def test_the_summary_of_the_largest_study_takes_six_pages(chromium, tmp_path):
    chromium.open(with_report(tmp_path, LARGEST) / "report.html")
    assert 2 <= sheets(chromium.paper()) <= 6


def test_claims_are_printed_as_a_table(chromium, site):
    page = site / "claims.html"
    chromium.open(page, media="print")
    rows = "[...document.querySelectorAll('.printed tbody tr')].filter(one => one.checkVisibility())"
    tested = chromium.run(f"{rows}.map(one => one.cells[1].textContent)")
    judged = json.loads((site / STUDY / "together.json").read_text())
    asked = [one["verdict"] for one in judged if one["comparisons"] and not one["same_as"]]
    assert sorted(tested) == sorted(asked) and "inconclusive" in asked and "reproduced" in asked
    assert chromium.run(f"{rows}.every(one => /[0-9]/.test(one.cells[2].textContent) && one.cells[3].textContent)")
    sections = "[...document.querySelectorAll('section.claim')].filter(one => one.checkVisibility()).length"
    assert chromium.run(sections) == 0
    # A study's report opens the claim on the screen, and a whole print has its comparisons.
    chromium.open(page)
    assert chromium.run(f"{rows}.length") == 0 and chromium.run(sections) > 0
    summary = sheets(chromium.paper())
    chromium.run("location.hash = 'everything'")
    assert summary <= 3 < sheets(chromium.paper())
