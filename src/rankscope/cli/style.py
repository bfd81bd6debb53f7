"""How help is laid out."""

from __future__ import annotations

import argparse


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps examples as they are written, and option names in one narrow column."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)
