"""How figures look: colours by name, letters, lines and sizes; shapes before colours, text as text."""

from typing import Any

INK, MUTED, FAINT, PAPER = "#1a1a1a", "#6b6b6b", "#a8a8a8", "#fffefb"
POSTERIOR, PROXY, CURRENT, MEASURED = "#0b4f8a", "#8a4708", "#a3123a", "#1a6b38"
NAMED = {
    INK: "ink", MUTED: "muted", FAINT: "faint", PAPER: "paper",
    POSTERIOR: "posterior", PROXY: "proxy", CURRENT: "current", MEASURED: "measured",
}  # fmt: skip
"""Colours by the name that the page's style sheet gives them, so that a dark page may turn them."""

DOTTED = (0, (1, 1.6))
LINE = 0.165  # inches of a legend's line
WIDTH = 4.2  # inches at 72 points: less than the width of a phone, so that no letter shrinks there

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "draftdepth",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.6,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "path.simplify": False,
}
