"""Text that LaTeX prints as it is: commands for what is special, and a way out for letters that its fonts lack."""
# ruff: noqa: RUF001 (the tables hold letters that look alike)

from __future__ import annotations

import re

from rankscope.report.render.texts import DIGITS, MARKS, pairs

MATHS = pairs(r"""
    Δ \Delta Γ \Gamma Θ \Theta Λ \Lambda Σ \Sigma Φ \Phi Ω \Omega
    α \alpha β \beta γ \gamma δ \delta ε \varepsilon η \eta θ \theta κ \kappa λ \lambda μ \mu π \pi
    ρ \rho σ \sigma τ \tau φ \varphi χ \chi ψ \psi ω \omega
    − - ≤ \leq ≥ \geq ≠ \neq ≈ \approx ∞ \infty √ \surd ∩ \cap ∪ \cup ∈ \in ∑ \sum
    → \rightarrow ← \leftarrow ↑ \uparrow ↓ \downarrow ● \bullet ○ \circ
""")
"""Letters and signs that text fonts lack and mathematics has."""

# After the end of a row, a bracket or a star would be taken for an option of the line break.
SPECIAL = pairs(r"""
    & \& % \% $ \$ # \# _ \_ { \{ } \} \ \textbackslash{} ~ \textasciitilde{} ^ \textasciicircum{} | \textbar{}
    < \textless{} > \textgreater{} " \textquotedbl{} ' \textquotesingle{} ` \textasciigrave{} [ {[} ] {]} * {*}
""")
SPECIAL |= {"\xa0": "~", "\u2009": r"\,", "\u202f": r"\,", "\u200b": r"\hspace{0pt}", "\xad": r"\-"}
SPECIAL |= {char: rf"\ensuremath{{{command}}}" for char, command in MATHS.items()}
LATIN = "¡-·¹-ſ"
LATIN_LACKING = "ĦħĸĿŀŉŦŧſ"  # letters of that range that the usual fonts lack
TYPOGRAPHY = "ȘșȚț–—‘’‚“”„†‡•…‰‹›€™"

MINUS = re.compile(r"(?<![\w.)\]])-(?=\d)")
PIECES = re.compile(
    rf"(?P<marks>{MARKS.pattern})"
    rf"|(?P<special>[{re.escape(''.join(SPECIAL))}])"
    r"|(?P<ligature>-(?=-)|,(?=,))"
    rf"|(?P<foreign>(?:(?![ -~{LATIN}{TYPOGRAPHY}{re.escape(''.join(SPECIAL))}⁰⁴-⁹])[\s\S]|[{LATIN_LACKING}])+)"
)

CODE_WIDTH = len("U+0000 ")

FOREIGN = r"""\ifdefined\rankscopeforeign\else
  % pdfLaTeX prints letters that its fonts lack as code points, XeLaTeX and LuaLaTeX in the font of the document.
  \protected\def\rankscopeforeign#1#2{\ifdefined\XeTeXversion#1\else\ifdefined\directlua#1\else\texttt{{[}#2{]}}\fi\fi}
\fi"""


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX prints it: `50%` as `50\%`, a hyphen before a number as a minus."""
    return PIECES.sub(latex_piece, MINUS.sub("−", text.strip()))


def latex_piece(match: re.Match[str]) -> str:
    """Return a piece that cannot stand in LaTeX as it is, as a command."""
    piece = match[0]
    if match["marks"]:
        return rf"\textsuperscript{{{piece.translate(DIGITS)}}}"
    if match["special"]:
        return SPECIAL[piece]
    if match["ligature"]:  # two of them in a row would be printed as one other sign
        return f"{piece}{{}}"
    codes = " ".join(f"U+{ord(char):04X}" for char in piece)
    return rf"\rankscopeforeign{{{piece}}}{{{codes}}}"


def breakable(text: str, longest: int) -> str:
    """Return a text as LaTeX prints it in a narrow column: a long word may be broken behind its signs, or anywhere."""
    pieces = re.findall(rf"[^-_./:,+ ]{{1,{longest}}}[-_./:,+]*|[-_./:,+]+|\s+", text.strip())
    return "".join(latex_text(piece) + r"\allowbreak{}" if piece.strip() else " " for piece in pieces)


def latex_width(text: str) -> int:
    """Return about how many characters are printed; a letter that the fonts lack takes as many as its code point."""
    return len(text) + sum((CODE_WIDTH - 1) * len(match["foreign"] or "") for match in PIECES.finditer(text))
