"""A picture of the mean ranks that the page of benchmarks prints.

The picture is drawn from the text of ``benchmarks.rst`` whenever the site is built, so
that it cannot show other figures than the page.
"""

import re
from pathlib import Path

PICTURE = "generated/mean_ranks.svg"
_OTHERS = ("LightGBM", "XGBoost", "CatBoost")


def mean_ranks(text, measure="ndcg@10"):
    """Mean ranks in the first table of a measure that has a column "rank".

    Parameters
    ----------
    text : str
        Source of the page.
    measure : str, default="ndcg@10"
        First word of the table.

    Returns
    -------
    dict
        Names of rankers and their mean ranks, in the order of the table.
    """
    table = re.search(rf"^ *{measure} +rank .*\n +-+\n((?: +\S.*\n)+)", text, re.M)
    if table is None:
        raise ValueError(f"the page has no table of mean ranks by {measure}")
    rows = re.findall(r"^ +(\S.*?)  +(\d+\.\d+) ", table[1], re.M)
    return {name: float(rank) for name, rank in rows}


def draw(ranks):
    """Bars of mean ranks; those of other libraries are grey.

    Parameters
    ----------
    ranks : dict
        Names and mean ranks.

    Returns
    -------
    matplotlib.figure.Figure
        The picture.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 0.6 + 0.27 * len(ranks)), layout="constrained")
    ax = figure.subplots()
    colors = ["#9aa0a6" if n.startswith(_OTHERS) else "#2962d9" for n in ranks]
    bars = ax.barh(list(ranks), list(ranks.values()), color=colors, height=0.7)
    ax.bar_label(bars, fmt="%.1f", padding=3)
    ax.set_xlabel("Mean rank by NDCG@10 on eleven collections; 1 is the best")
    ax.set_xlim(0, max(ranks.values()) + 1)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def write_picture(app, config):
    """Draw before Sphinx looks for pictures."""
    source = Path(app.srcdir)
    text = (source / "benchmarks.rst").read_text(encoding="utf-8")
    path = source / PICTURE
    path.parent.mkdir(exist_ok=True)
    draw(mean_ranks(text)).savefig(path, metadata={"Date": None})


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", write_picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
