"""Valid calls of what :mod:`skrank.text` makes of links and URLs, for `_calls`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skrank import text

LINKS = np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])
URLS = ["a.org/", "a.org/b", "c.org/"]


def functions(call: Callable) -> dict[str, Any]:
    """Return the calls of functions."""
    return {
        "text.letor_table": call(text.letor_table, table="gov"),
        "text.propagate_links": call(
            text.propagate_links, values=[1.0, 2.0, 0.5], links=LINKS
        ),
        "text.propagate_site": call(
            text.propagate_site, values=[1.0, 2.0, 0.5], site=text.SiteMap(URLS)
        ),
    }


def methods(method: Callable, call: Callable) -> dict[str, Any]:
    """Return the calls of methods."""
    topics = np.eye(3)
    return {
        "HostRank.fit": method(
            text.HostRank, "fit", links=LINKS, hosts=[0, 0, 1], depths=[0, 1, 0]
        ),
        "TopicalPageRank.fit": method(
            text.TopicalPageRank, "fit", links=LINKS, topics=topics
        ),
        "TopicalHITS.fit": method(text.TopicalHITS, "fit", links=LINKS, topics=topics),
        "TopicalHITS.combine": method(
            lambda: text.TopicalHITS().fit(LINKS, topics),
            "combine",
            weights=[[0.5, 0.5, 0.0]],
        ),
        "LinkGraph.from_file": call(text.LinkGraph.from_file, source=b"a b\nb c\n"),
        "LinkGraph.from_urls": call(
            text.LinkGraph.from_urls,
            urls=["a.org", "b.org"],
            targets=[["//b.org"], ["//a.org"]],
        ),
    }


USES = {text.SiteMap: lambda site: text.propagate_site([1.0, 2.0], site)}
