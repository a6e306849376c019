"""Render the page of a stored result, with no refit."""

import json
from pathlib import Path

from .output import write_whole
from .page_files import REPORT_HTML, REPORT_MD, report_files
from .page_opened import stored


def report_file(path: Path, out_dir: Path, json_wanted: bool) -> str:
    """Write the page of a stored result.

    Returns
    -------
    str
        What goes to stdout: where the page lies.

    Raises
    ------
    DraftdepthError
        The file is not there, holds no result of this program, or the folder cannot be written.
    """
    with stored(path) as tree:
        files = report_files(tree)
    write_whole(out_dir, files)
    named = {"report": str(out_dir / REPORT_HTML), "markdown": str(out_dir / REPORT_MD)}
    if json_wanted:
        return json.dumps(named | {"figures": len(files) - 2}, sort_keys=True) + "\n"
    return f"report: {named['report']}\nas Markdown: {named['markdown']}\n"
