"""Hands `python -m draftdepth` over to the command line."""

from .reports.command import main

if __name__ == "__main__":
    main(prog_name="draftdepth")
