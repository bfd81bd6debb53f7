"""The colours of pages and charts: every pair that is read, or must be seen, has enough contrast in both themes."""

import re

import pytest

from rankscope.report.charts.palette import NOTEBOOK_CSS, PAGE_CSS
from rankscope.report.tokens import COLOURS, THEMES

GROUNDS = ("paper", "surface", "sunk")
TONES = ("better", "worse", "same", "unsure", "unsafe", "caution")
READ = [
    *((text, ground) for text in ("ink", "ink-2", "ink-3", *TONES) for ground in GROUNDS),
    *((tone, f"{tone}-tint") for tone in TONES),
    *(("ink", f"{tone}-tint") for tone in TONES),
    *(("ink", ground) for ground in ("mark", "r0", "r1")),
    *(("ink-2", ground) for ground in ("mark", "r0", "r1")),
    ("on-r3", "r3"),
    ("on-r4", "r4"),
    ("paper", "ink"),
    *((f"s{i}", "paper") for i in range(1, 8)),
]
SEEN = [(line, ground) for line in ("axis", "focus") for ground in GROUNDS]


def luminance(colour):
    """Relative luminance after WCAG 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(theme, one, other):
    low, high = sorted(luminance(THEMES[theme][name]) for name in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_guideline():
    assert luminance("#ffffff") == pytest.approx(1)
    assert luminance("#000000") == 0
    assert luminance("#777777") == pytest.approx(0.1845, abs=5e-5)  # 4.48:1 on white, as the guideline's tools say


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("pair", READ, ids="-on-".join)
def test_text_can_be_read(theme, pair):
    assert contrast(theme, *pair) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("pair", SEEN, ids="-on-".join)
def test_axes_and_the_focus_can_be_seen(theme, pair):
    assert contrast(theme, *pair) >= 3


@pytest.mark.parametrize("sheet", [PAGE_CSS, NOTEBOOK_CSS], ids=["page", "notebook"])
def test_every_sheet_has_each_colour_in_both_themes_and_dark_only_on_screens(sheet):
    light, dark = (re.search(pattern, sheet)[1] for pattern in (r"^[^{]+\{([^}]*)\}", r"scheme:dark\)\{[^{]+\{([^}]*)"))
    for name, colours in COLOURS.items():
        assert f"--rs-{name}:{colours[0]};" in light
        assert f"--rs-{name}:{colours[1]};" in dark
    assert "@media screen and (prefers-color-scheme:dark)" in sheet
    assert "@media (prefers-color-scheme:dark)" not in sheet
