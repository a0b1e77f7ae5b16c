"""The check of the documentation finds a broken page of each kind."""

import base64
import shutil

import pytest

browser = pytest.importorskip("browser", reason="the folder .ci is not here")
check_site = pytest.importorskip("check_site")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
# What stands for MathJax: it replaces the formulas when it is told to start.
TYPESETS = """
window.MathJax = {startup: {promise: (async () => {
  for (const formula of document.querySelectorAll(".math"))
    formula.innerHTML = "<mjx-container>x</mjx-container>";
})()}};
"""
GOOD = """
<script src="mathjax.js" defer></script><h1 id="top">Title</h1>
<p>Text with <span class="math">\\(x^2\\)</span> and <code>\\frac</code>,
<img src="dot.png" alt="a dot"> <a href="other.html#there">there</a>
<a href="#top">up</a> <a href="https://example.org/x">elsewhere</a>.</p>
"""


@pytest.fixture
def site(tmp_path):
    """Writes a site whose index page has this body, beside another page."""
    (tmp_path / "dot.png").write_bytes(PIXEL)
    (tmp_path / "mathjax.js").write_text(TYPESETS)

    def write(body):
        for name, text in (("index", body), ("other", '<h1 id="there">There</h1>')):
            page = f"<!doctype html><html><body>{text}</body></html>"
            (tmp_path / f"{name}.html").write_text(page)
        return tmp_path

    return write


def found(folder):
    return [wrong for _, wrong in check_site.Site(folder).findings()]


def seen(folder):
    raw = check_site.RAW
    return [w for _, w in browser.look_at(CHROMIUM, folder, ["index.html"], raw)]


def test_a_good_page_passes(site, capsys):
    folder = site(GOOD)
    assert found(folder) == []
    assert check_site.main([str(folder)]) == 0
    assert capsys.readouterr().out == "2 pages, 0 findings\n"


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ('<a href="gone.html">x</a>', "broken link gone.html"),
        ('<a href="other.html#nowhere">x</a>', "missing anchor other.html#nowhere"),
        ('<a href="#nowhere">x</a>', "missing anchor #nowhere"),
        ('<img src="gone.png">', "missing file gone.png"),
        ('<img srcset="dot.png 1x, gone.png 2x">', "missing file gone.png"),
        ('<script src="gone.js"></script>', "missing file gone.js"),
        (
            '<script src="https://example.org/x.js"></script>',
            "fetched from another host: https://example.org/x.js",
        ),
        (
            '<link rel="stylesheet" href="//example.org/x.css">',
            "fetched from another host: //example.org/x.css",
        ),
        (
            "<style>@import url('https://example.org/x.css');</style>",
            "fetched from another host: https://example.org/x.css",
        ),
        (
            '<p style="background: url(gone.png)">x</p>',
            "missing file gone.png",
        ),
        (r"<p>the half, \frac{1}{2}</p>", r"raw markup '\\frac{1}{2}'"),
        (r"<p>the half, \(1/2\)</p>", r"raw markup '\\(1/2\\)'"),
        ("<p>see :class:`Ranker`</p>", "raw markup ':class:`Ranker`'"),
        (
            '<p class="math">x</p>',
            "formulas, but no script that typesets them",
        ),
    ],
)
def test_files_tell_what_is_wrong(body, finding, site, capsys):
    folder = site(body)
    assert found(folder) == [finding]
    assert check_site.main([str(folder)]) == 1
    assert capsys.readouterr().out.endswith("2 pages, 1 findings\n")


def test_style_sheets_are_searched_for_other_hosts(site):
    folder = site(GOOD)
    (folder / "x.css").write_text("@font-face {src: url(https://example.org/f.woff)}")
    assert found(folder) == ["fetched from another host: https://example.org/f.woff"]


def test_wrong_arguments_are_refused(site, tmp_path, capsys):
    for arguments in (
        [str(tmp_path / "gone")],
        [str(site(GOOD)), "--screenshots", "x"],
    ):
        with pytest.raises(SystemExit):
            check_site.main(arguments)
    assert "needs --browser" in capsys.readouterr().err


@needs_chromium
def test_a_good_page_passes_in_the_browser(site, tmp_path, capsys):
    folder, pictures = site(GOOD), tmp_path / "pictures"
    arguments = [str(folder), "--browser", CHROMIUM, "--screenshots", str(pictures)]
    assert check_site.main(arguments) == 0
    assert capsys.readouterr().out == "2 pages, 0 findings\n"
    widths = sorted(path.name for path in pictures.glob("index-*"))
    assert widths == ["index-1400.png", "index-400.png"]


@needs_chromium
@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ('<img src="gone.png">', "image does not load: "),
        ('<img src="mathjax.js">', "image does not load: "),
        ('<span class="math">\\(x\\)</span>', "formula that is not typeset: \\(x\\)"),
        ("<mjx-merror>Missing }</mjx-merror>", "formula with an error: Missing }"),
        (r"<p>the half, \frac{1}{2}</p>", r"raw markup \frac{1}{2}"),
        ("<script>throw new Error('lost')</script>", "script fails: Error: lost"),
        ("<script>console.error('lost')</script>", "script complains: lost"),
        ('<img src="https://example.org/x.png">', "fetched from another host: https:"),
        ('<p style="width: 900px">x</p>', "908 pixels wide in a window of 400"),
    ],
)
def test_the_browser_tells_what_is_wrong(body, finding, site):
    style = "<style>body {margin: 8px}</style>"
    assert any(wrong.startswith(finding) for wrong in seen(site(style + body)))


def test_a_browser_that_is_not_there_is_named():
    with pytest.raises(browser.BrowserError, match="no program 'no-such-browser'"):
        browser.Browser("no-such-browser")


@needs_chromium
def test_a_program_that_is_no_browser_is_an_error():
    with pytest.raises(browser.BrowserError, match="has ended"):
        browser.Browser(shutil.which("true"))
