"""Sites by URLs: hand-made trees, odd URLs, and trees that have no circles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank.text import SiteMap

# A page, and the page that is its parent.
TREE = {
    "http://a.org/": None,
    "http://a.org/contact.html": "http://a.org/",
    "http://a.org/papers/index.html": "http://a.org/",
    "http://a.org/papers/one.pdf": "http://a.org/papers/index.html",
    "http://a.org/papers/2020/two.pdf": "http://a.org/papers/index.html",
    "http://a.org/papers/2021/": "http://a.org/papers/index.html",
    "http://a.org/papers/2021/three.pdf": "http://a.org/papers/2021/",
    "http://b.org/x.html": None,
    "http://b.org/d/": None,
    "http://b.org/d/e/f": "http://b.org/d/",
}


@pytest.mark.parametrize("seed", range(3))
def test_parents_and_children_of_a_hand_made_tree(seed):
    urls = np.random.default_rng(seed).permutation(list(TREE)).tolist()
    site = SiteMap(urls)
    parents = [None if p < 0 else urls[p] for p in site.parents]
    assert dict(zip(urls, parents)) == TREE
    for number, url in enumerate(urls):
        children = [page for page, parent in TREE.items() if parent == url]
        assert site.n_children[number] == len(children)
        shares = site.child_shares[[number]].toarray()[0]
        expected = [url in (TREE[u],) for u in urls]
        assert np.allclose(shares, np.array(expected) / max(len(children), 1))
    assert len(site) == 10
    assert repr(site) == "SiteMap(10 pages, 2 hosts)"


def test_numbers_of_urls():
    site = SiteMap(["http://a.org/x/y.html", "", "b.org", "https://B.ORG:443/x/"])
    assert site.n_slashes.tolist() == [4, 0, 0, 4]
    assert site.lengths.tolist() == [21, 0, 5, 20]
    assert site.depths.tolist() == [1, 0, 0, 1]
    assert site.hosts.tolist() == [0, 1, 2, 2]
    assert site.parents.tolist() == [-1, -1, -1, 2]


@pytest.mark.parametrize(
    "same",
    [
        "a.org/d/",
        "//a.org/d/",
        "HTTP://A.org/d/",
        "https://a.org:443/d/",
        "http://a.org:80//d/",
        "http://user:word@a.org/d/",
        "http://a.org/d/#part",
        "http://a.org/d/?",
        " http://a.org/d/ ",
        "http://a.org/./e/../d/INDEX.PHP",
        "http://a.org/../d/default.asp",
    ],
)
def test_forms_of_one_index_page(same):
    site = SiteMap([same, "http://a.org/d/page.html"])
    assert site.parents.tolist() == [-1, 0]


@pytest.mark.parametrize(
    "other",
    ["http://a.org/d", "http://a.org/d/?page=2", "http://a.org/d/indexed.html", ""],
)
def test_what_is_no_index_page(other):
    assert SiteMap([other, "http://a.org/d/page.html"]).parents.tolist() == [-1, -1]


def test_the_first_index_page_of_a_directory_is_the_parent_of_the_others():
    site = SiteMap(["a.org/d/index.html", "a.org/", "a.org/d/", "a.org/d/x"])
    assert site.parents.tolist() == [1, -1, 0, 0]


@given(st.lists(st.text(alphabet="ab./:?#@[]%\\ \0é", max_size=12), min_size=1))
def test_any_strings_are_urls_and_make_a_forest(urls):
    site = SiteMap(urls)
    parents = site.parents
    for page in range(len(urls)):
        seen = set()
        while page >= 0:
            assert page not in seen
            seen.add(page)
            page = parents[page]
    assert site.n_children.sum() == (parents >= 0).sum()
    assert (site.depths >= 0).all()


class _Counted(str):
    """A name that counts how many characters of names were hashed."""

    hashed = 0
    __slots__ = ()

    def __hash__(self):
        _Counted.hashed += len(self)
        return super().__hash__()

    def __eq__(self, other):
        return super().__eq__(other)


def test_the_parents_of_deep_pages_take_as_many_steps_as_there_are_directories():
    site = SiteMap(["a.org/", "a.org/" + "d/" * 300 + "x", "a.org/" + "d/" * 300])
    places = [(tuple(map(_Counted, p)), is_index) for p, is_index in site._places]
    object.__setattr__(site, "_places", places)
    _Counted.hashed = 0
    assert site.parents.tolist() == [-1, 2, 0]
    assert _Counted.hashed <= 4 * sum(map(len, site.urls))


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "..", "", "index.html", "x"]), max_size=5),
        min_size=1,
        max_size=12,
    )
)
def test_parents_by_their_definition(paths):
    site = SiteMap(["h.org/" + "/".join(path) for path in paths])
    places = site._places
    expected = []
    for page, (place, is_index) in enumerate(places):
        first = {}
        for other, (directory, other_is_index) in reversed([*enumerate(places)]):
            if other_is_index:
                first[directory] = other
        above = [place[:n] for n in range(len(place), 0, -1)]
        if is_index and first[place] == page:
            del above[0]
        expected.append(next((first[d] for d in above if d in first), -1))
    assert site.parents.tolist() == expected


def test_what_is_no_url_is_named():
    with pytest.raises(TypeError, match="urls must hold strings; item 1 is missing"):
        SiteMap(["a.org", None])
    with pytest.raises(ValueError, match="urls is empty"):
        SiteMap([])
    with pytest.raises(TypeError, match="urls must be a sequence of strings"):
        SiteMap("a.org")
