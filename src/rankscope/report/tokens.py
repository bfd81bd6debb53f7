"""The colours of pages and charts, each for light and dark; on paper the light ones hold.

Chrome is ink on paper; colour is data or a verdict. Pages and charts take them as CSS variables of the same names, so
one place decides how both look.
"""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark"]

COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#fcfcfb", "#101315"),
    "surface": ("#ffffff", "#161a1d"),
    "sunk": ("#f3f4f3", "#1d2225"),
    "line": ("#e3e5e4", "#2a3034"),
    "line-2": ("#c3c8c7", "#475056"),
    "axis": ("#80888c", "#78828a"),
    "ink": ("#1a1e21", "#e9ebec"),
    "ink-2": ("#474f55", "#b6bec4"),
    "ink-3": ("#5f686e", "#9aa4ab"),
    "better": ("#0b5cab", "#72b7f6"),
    "better-tint": ("#e4effa", "#132a3f"),
    "worse": ("#b03d09", "#ff9d6e"),
    "worse-tint": ("#fceae0", "#3b2013"),
    "same": ("#0a6a5e", "#5fc9b7"),
    "same-tint": ("#e1f2ee", "#11302b"),
    "unsure": ("#586168", "#a8b2b9"),
    "unsure-tint": ("#eef0f1", "#242a2e"),
    "unsafe": ("#86397f", "#e2a3dd"),
    "unsafe-tint": ("#f7e9f5", "#37213a"),
    "caution": ("#765400", "#e3bb58"),
    "caution-tint": ("#faf0d6", "#322910"),
    "r0": ("#f5f7f7", "#1a1f22"),
    "r1": ("#dfe7ea", "#24313a"),
    "r2": ("#b5c7d0", "#34505f"),
    "r3": ("#6f93a6", "#5d8ba3"),
    "r4": ("#2c5a73", "#9cc7dc"),
    "on-r3": ("#0d1215", "#0b1013"),
    "on-r4": ("#ffffff", "#0b1013"),
    "s1": ("#1a1e21", "#e9ebec"),
    "s2": ("#6b4fa0", "#bda4ee"),
    "s3": ("#0a6a5e", "#5fc9b7"),
    "s4": ("#8a5a00", "#dcae55"),
    "s5": ("#a13a63", "#f29ebd"),
    "s6": ("#5d7316", "#b4cc62"),
    "s7": ("#66707a", "#98a4ae"),
    "mark": ("#fff0b0", "#403503"),
    "focus": ("#1467c9", "#7fbcff"),
}
"""Paper and ink; verdicts, each with its tint; r0 to r4, a ramp of one hue, and what is read on its end; s1 to s7,
lines of charts, which differ by dash and label too; words that were found; what has the focus."""
TONES: dict[str, str] = {
    "probably_better": "better",
    "probably_worse": "worse",
    "fine": "better",
    "look": "caution",
    "fails": "worse",
    "note": "unsure",
}
"""The colour of a mark of a report, where it has not its own."""

THEMES: dict[Theme, dict[str, str]] = {
    "light": {name: light for name, (light, _) in COLOURS.items()},
    "dark": {name: dark for name, (_, dark) in COLOURS.items()},
}


def tone(mark: str) -> str:
    """Return the name of the colour of a mark; its tint has the same name with `-tint`."""
    return TONES.get(mark, mark)


def variables(theme: Theme) -> str:
    """Return the declarations of a theme's colours, for a rule of a style sheet."""
    return "".join(f"--rs-{name}:{colour};" for name, colour in THEMES[theme].items())


def theme_css(selector: str) -> str:
    """Return the rules that give an element its colours: as the reader's system is set, and light on paper."""
    dark = f"@media screen and (prefers-color-scheme:dark){{{selector}{{{variables('dark')}}}}}"
    return f"{selector}{{{variables('light')}}}{dark}"
