"""Builds a study's run records from the originals that its SOURCES.toml names, and the card that tells of them.

`python -m draftdepth.reports.provenance_files` writes them; the same originals give the same bytes.
"""

import hashlib
import json
import shlex
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, MissingInputError
from . import FORMATS
from .form import Conversion, ReaderOptions
from .source import Source as Origin

SOURCES_FILE = "SOURCES.toml"
RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Source:
    """One original: its name, its hashes, what is to be known of it, and the options that it is read with."""

    name: str
    sha256: str
    copy_sha256: str | None
    about: str
    options: Mapping[str, Any]

    def command(self, form: str, target: str) -> str:
        """The `draftdepth convert` command that writes this source's records to a target."""
        words = ["draftdepth", "convert", form, self.name, "-o", target]
        for option, value in self.options.items():
            flag = "--" + option.replace("_", "-")
            words += [flag] if value is True else [flag, str(value)]
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class Output:
    """One file of run records and the sources whose records it holds, in their order."""

    file: str
    about: str
    sources: tuple[Source, ...]

    def parts(self) -> tuple[str, ...]:
        """A file for each source's records; several are joined in this order to make the output."""
        stem = self.file.removesuffix(".jsonl")
        several = len(self.sources) > 1
        return tuple(f"{stem}.part{n}.jsonl" if several else self.file for n, _ in enumerate(self.sources, 1))


@dataclass(frozen=True, slots=True)
class Sources:
    """Where all run records of a study come from."""

    title: str
    about: str
    form: str
    repository: str
    commit: str
    licence: str
    outputs: tuple[Output, ...]


def read_sources(study: Path) -> Sources:
    """Read a study folder's SOURCES.toml.

    Raises
    ------
    InputError
        It is no such file, or lacks an entry; the entry is named.
    MissingInputError
        It is not there.
    """
    path = study / SOURCES_FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        outputs = tuple(
            Output(
                output["file"],
                output["about"],
                tuple(
                    Source(one["name"], one["sha256"], one.get("copy_sha256"), one["about"], one["options"])
                    for one in output["source"]
                ),
            )
            for output in values["output"]
        )
        title, about, form = values["title"], values["about"], values["format"]
        return Sources(title, about, form, values["repository"], values["commit"], values["licence"], outputs)
    except FileNotFoundError as error:
        raise MissingInputError(
            f"{SOURCES_FILE} is not there; a study that was converted from originals has one"
        ) from error
    except KeyError as error:
        raise InputError(f"{SOURCES_FILE}: found no entry {error}; every source needs it") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"{SOURCES_FILE}: found something else than a list of outputs and their sources") from error


def converted(source: Source, form: str, originals: Path) -> Conversion:
    """Read one original after a look at its hash.

    Raises
    ------
    InputError
        Its bytes are neither the original's nor the named copy's, or it cannot be converted.
    MissingInputError
        It is not there.
    """
    path = originals / source.name
    if not path.is_file():
        raise MissingInputError(f"{source.name} is not among the originals")
    text = path.read_bytes()
    if hashlib.sha256(text).hexdigest() not in (source.sha256, source.copy_sha256):
        raise InputError(f"{source.name}: found another SHA-256 than {SOURCES_FILE} names; the same file would do")
    return FORMATS[form].convert([Origin.of_text(text)], ReaderOptions(**source.options))


def build(sources: Sources, originals: Path) -> dict[str, str]:
    """Make every file of run records, and the card.

    Parameters
    ----------
    sources
        What SOURCES.toml says.
    originals
        Folder with the originals by name.

    Returns
    -------
    dict
        Text of each file by its path in the study's folder.
    """
    files: dict[str, str] = {}
    card = [f"# {sources.title}", "", sources.about.strip(), ""]
    for output in sources.outputs:
        made = [(source, converted(source, sources.form, originals)) for source in output.sources]
        lines = [
            json.dumps(record, ensure_ascii=False, allow_nan=False)
            for _, conversion in made
            for record in conversion.records
        ]
        text = "".join(f"{line}\n" for line in lines)
        files[f"{RUNS}/{output.file}"] = text
        digest = hashlib.sha256(text.encode()).hexdigest()
        card += [
            f"## {RUNS}/{output.file}",
            "",
            *_wrapped(output.about),
            "",
            f"{len(lines)} rows, SHA-256 {digest}",
            "",
        ]
        for (source, conversion), part in zip(made, output.parts(), strict=True):
            card += _told(source, conversion, sources, part)
    return files | {"CARD.md": "\n".join(card).rstrip() + "\n"}


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False)


def _told(source: Source, conversion: Conversion, sources: Sources, part: str) -> list[str]:
    counts = conversion.counts
    facts = {
        "repository": sources.repository,
        "commit": sources.commit,
        "licence": sources.licence,
        "SHA-256 of the original": source.sha256,
        "rows": len(conversion.records),
        "streams without step time": f"{counts['streams_without_step_time']} of {counts['streams']}",
        "identical copies": counts["copies"],
    }
    if source.copy_sha256:
        facts["SHA-256 of the copy that was read"] = f"{source.copy_sha256} (output texts and addresses replaced)"
    about = _wrapped(source.about)
    told = [f"- {name}: {value}" for name, value in facts.items()]
    return [f"### {source.name}", "", *about, "", *told, "", f"    {source.command(sources.form, part)}", ""]
