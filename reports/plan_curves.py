"""Curves of a plan as SVG: assurance against runs with its error band, and expected loss against GPU-minutes."""

import io
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from .figure_style import CURRENT
from .plan_words import SHORT_LAYOUTS, count

type Document = Mapping[str, Any]

ASSURANCE_SVG, LOSS_SVG = "plan_assurance.svg", "plan_loss.svg"

BAND = 1.6448536269514722  # a 90 % band of Monte-Carlo error
STEADY: Any = {"svg.hashsalt": "draftdepth", "svg.fonttype": "none", "text.parse_math": False}
COLOURS = ("#1b6ca8", "#c1440e", "#4a7c39", "#7b4b94")
LINES = ("-", "--", "-.", ":")


def _plain(text: str) -> str:
    """A name as a figure can write it: no character that the font may lack."""
    return "".join(char if 32 <= ord(char) < 127 else "?" for char in text)[:48]


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": "draftdepth"})
    return stream.getvalue()


def _panels(document: Document) -> tuple[Figure, list[Any]]:
    rows = len(document["comparisons"])
    columns = min(2, rows)
    height = -(-rows // columns)
    figure = Figure(figsize=(5.2 * columns, 3.4 * height), layout="constrained")
    axes = figure.subplots(height, columns, squeeze=False).ravel()
    if document["study"]["synthetic"]:
        figure.suptitle("SYNTHETIC", color=CURRENT, fontweight="bold", fontsize=12)
    for spare in axes[rows:]:
        spare.set_visible(False)
    for axis, row in zip(axes, document["comparisons"], strict=False):
        axis.set_title(f"{_plain(row['arm'])} against {_plain(row['against'])} [{row['label']}]", fontsize=8)
        axis.grid(alpha=0.3)
    return figure, list(axes[:rows])


def assurance_curves(document: Document) -> str:
    """Assurance against runs of each arm, at the rounds of the answer, one line a layout, 90 % error bands."""
    with mpl.rc_context(STEADY):
        figure, axes = _panels(document)
        for axis, row in zip(axes, document["comparisons"], strict=True):
            grid, design = row["grid"], row["design"] or row["best_value"]
            runs = np.asarray(grid["runs"], dtype=float)
            place = list(map(int, grid["rounds"])).index(design["rounds"])
            for layout, name in enumerate(grid["layouts"]):
                value = np.asarray(grid["assurance"])[layout, :, place]
                error = BAND * np.asarray(grid["assurance_error"])[layout, :, place]
                axis.plot(runs, value, color=COLOURS[layout], linestyle=LINES[layout], label=SHORT_LAYOUTS[str(name)])
                axis.fill_between(runs, value - error, value + error, color=COLOURS[layout], alpha=0.25, linewidth=0)
            if document["plan"]["goal"]["kind"] == "assurance":
                axis.axhline(
                    document["plan"]["goal"]["target"], color="black", linestyle=":", linewidth=0.8, label="goal"
                )
            axis.set_ylim(0.0, 1.02)
            axis.set_xlabel(f"runs of each arm, {count(design['rounds'])} rounds a run", fontsize=8)
            axis.set_ylabel("assurance (decides, and rightly)", fontsize=8)
            axis.legend(fontsize=7)
        return _svg(figure)


def loss_curves(document: Document) -> str:
    """Expected loss after the experiment against GPU-minutes, one line a round count, 90 % error bars."""
    gpus = document["plan"]["minutes"]["gpus"]
    with mpl.rc_context(STEADY):
        figure, axes = _panels(document)
        for axis, row in zip(axes, document["comparisons"], strict=True):
            grid, design = row["grid"], row["design"] or row["best_value"]
            layout = [str(name) for name in grid["layouts"]].index(design["layout"])
            for place, rounds in enumerate(grid["rounds"]):
                minutes = gpus * np.asarray(grid["minutes"])[layout, :, place]
                value = np.asarray(grid["loss_after"])[layout, :, place]
                error = BAND * np.asarray(grid["loss_after_error"])[layout, :, place]
                axis.errorbar(
                    minutes,
                    value,
                    error,
                    marker=".",
                    linewidth=1,
                    elinewidth=0.7,
                    linestyle=LINES[place % len(LINES)],
                    label=f"{count(rounds)} rounds a run",
                )
            axis.axhline(row["loss_before"], color="black", linestyle=":", linewidth=0.8, label="without any run")
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.set_ylim(bottom=0.0)
            axis.set_xlabel(f"GPU-minutes ({SHORT_LAYOUTS[design['layout']]})", fontsize=8)
            axis.set_ylabel("expected loss after it, tok/s", fontsize=8)
            axis.legend(fontsize=7)
        return _svg(figure)
