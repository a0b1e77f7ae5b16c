"""Check every page of a built site: links, images, formulas, foreign hosts, width.

``python .ci/check_site.py FOLDER`` reads the files. A link or an image must lead to a
file and an anchor of the site, text outside of code must be neither TeX nor a role
that was not understood, and scripts, styles, fonts and images must be files of the
site. With ``--browser chromium`` the pages are opened in headless Chromium instead,
without a network: images must load, formulas must be typeset, scripts must run without
errors, and no page may be wider than a wide or a narrow window. Whatever is found is
printed, and ends the command with exit code 1. ``--screenshots FOLDER`` writes pictures
of the pages named after the folder of the site, or of all.
"""

import argparse
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# A command of TeX, its brackets, or a role of reStructuredText that was not understood.
RAW = r"\\[()\[\]]|\\[A-Za-z]{2,}|\$\$|:[a-z:]+:`"

_AS_WRITTEN = {"pre", "code", "script", "style", "textarea", "title"}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"}
_VOID |= {"source", "track", "wbr"}
# What a browser fetches by itself, with the attribute that says from where.
_FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src"}
_FETCHED |= {"video": "src", "audio": "src", "embed": "src", "object": "data"}
_FETCHED_LINKS = {"stylesheet", "preload", "icon", "modulepreload", "manifest"}
_IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+(?!url))["']?([^"')\s;]+)""")


class Page(HTMLParser):
    """What a page refers to: its anchors, links, fetched files and odd text."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.fetched, self.odd = set(), [], [], []
        self.has_formulas = False
        self._open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Note what a tag refers to."""
        attrs = {name: value or "" for name, value in attrs}
        self.anchors |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        self.fetched += _IN_STYLES.findall(attrs.get("style", ""))
        is_formula = "math" in attrs.get("class", "").split()
        self.has_formulas |= is_formula
        if attrs.get(_FETCHED.get(tag)):
            self.fetched.append(attrs[_FETCHED[tag]])
        for choice in filter(None, attrs.get("srcset", "").split(",")):
            self.fetched.append(choice.split()[0])
        if tag == "link" and _FETCHED_LINKS & set(attrs.get("rel", "").split()):
            self.fetched.append(attrs.get("href", ""))
        elif tag in ("a", "area", "link") and "href" in attrs:
            self.links.append(attrs["href"])
        if tag not in _VOID:
            self._open.append((tag, is_formula or tag in _AS_WRITTEN))

    def handle_endtag(self, tag):
        """Forget a tag and those within it that were not closed."""
        names = [name for name, _ in self._open]
        if tag in names:
            del self._open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data):
        """Look for raw markup outside of code and formulas."""
        if any(tag == "style" for tag, _ in self._open):
            self.fetched += _IN_STYLES.findall(data)
        if not any(as_written for _, as_written in self._open):
            self.odd += re.findall(rf"(?:{RAW})[^\n]{{0,30}}", data)


class Site:
    """The files of a folder.

    Parameters
    ----------
    folder : path-like
        Where the site was built.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.pages = {
            path.relative_to(self.folder).as_posix(): Page(
                path.read_text(encoding="utf-8")
            )
            for path in sorted(self.folder.rglob("*.html"))
        }

    def findings(self):
        """Pairs of the name of a file and of what is wrong with it."""
        for name, page in self.pages.items():
            yield from ((name, found) for found in self._of_page(name, page))
        for path in sorted(self.folder.rglob("*.css")):
            name = path.relative_to(self.folder).as_posix()
            for target in _IN_STYLES.findall(path.read_text(encoding="utf-8")):
                if (wrong := self._fetch(name, target)) is not None:
                    yield name, wrong

    def _of_page(self, name, page):
        for target in page.fetched:
            if (wrong := self._fetch(name, target)) is not None:
                yield wrong
        for target in page.links:
            if (wrong := self._link(name, target)) is not None:
                yield wrong
        for text in page.odd:
            yield f"raw markup {text!r}"
        if page.has_formulas and not any("mathjax" in t for t in page.fetched):
            yield "formulas, but no script that typesets them"

    def _fetch(self, name, target):
        """What is wrong with a file that the browser fetches, or None."""
        parts = urlsplit(target)
        if parts.scheme == "data" or not (parts.path or parts.netloc):
            return None if target.startswith(("data:", "#")) else f"empty {target!r}"
        if parts.scheme or parts.netloc:
            return f"fetched from another host: {target}"
        path = self._file(name, parts.path)
        if not path.is_file() or path.stat().st_size == 0:
            return f"missing file {target}"
        return None

    def _link(self, name, target):
        """What is wrong with a link, or None; other hosts are not asked."""
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            return None
        path = self._file(name, parts.path) if parts.path else self.folder / name
        if not path.is_file():
            return f"broken link {target}"
        if not path.is_relative_to(self.folder):
            return f"link out of the site {target}"
        page = self.pages.get(path.relative_to(self.folder).as_posix())
        anchor = unquote(parts.fragment)
        if anchor and page is not None and anchor not in page.anchors:
            return f"missing anchor {target}"
        return None

    def _file(self, name, path):
        return Path(os.path.normpath(self.folder / Path(name).parent / unquote(path)))


def main(arguments=None):
    """Print the findings; the exit code is 1 if there are any."""
    parser = argparse.ArgumentParser(description="Check every page of a built site.")
    parser.add_argument("folder", type=Path, help="where the site was built")
    parser.add_argument("pages", nargs="*", help="pages to open; all of them if none")
    parser.add_argument("--browser", help="open pages in this Chromium")
    parser.add_argument("--screenshots", type=Path, help="where to write pictures")
    chosen = parser.parse_args(arguments)
    if not (chosen.folder / "index.html").is_file():
        parser.error(f"{chosen.folder} holds no index.html")
    if chosen.screenshots is not None and chosen.browser is None:
        parser.error("--screenshots needs --browser")
    site = Site(chosen.folder)
    pages = chosen.pages or list(site.pages)
    if chosen.browser is None:
        findings = list(site.findings())
    else:
        from browser import look_at

        found = look_at(chosen.browser, site.folder, pages, RAW, chosen.screenshots)
        findings = list(found)
    for name, wrong in findings:
        print(f"{name}: {wrong}")
    print(f"{len(pages)} pages, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
