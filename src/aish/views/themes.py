"""Colours for each purpose: three themes, which the user's own styles can override.

Pure: names in, styles out. A style is a few words such as `bold cyan` or `underline #ff8800`. `codes` translates it
for a terminal, `editor_style` for the line editor.
"""

from collections.abc import Mapping

Theme = Mapping[str, str]

PLAIN = "plain"
COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ATTRIBUTES = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7"}

_DARK = {
    "prompt": "bold cyan",
    "command": "bold green",  # a known command, and its sign in the prompt
    "unknown": "red",  # an unknown command name
    "question": "bold blue",
    "ask": "bold yellow",
    "colon": "bold magenta",
    "suggestion": "dim",
    "dim": "dim",
    "warning": "yellow",
    "error": "red",
    "match": "bold",  # a matching word in a search result
    "added": "green",  # lines of a difference
    "removed": "red",
    "fact": "cyan",
    "pref": "green",
    "context": "magenta",
}
_LIGHT = _DARK | {
    "prompt": "bold blue",
    "ask": "bold red",
    "suggestion": "#767676",  # dim is hard to read on white
    "dim": "#767676",
    "warning": "magenta",
    "fact": "blue",
}
_PLAIN = dict.fromkeys(_DARK, "") | {
    "command": "bold",
    "unknown": "underline",
    "ask": "reverse",
    "suggestion": "dim",
    "match": "bold",
}
THEMES: Mapping[str, Theme] = {"dark": _DARK, "light": _LIGHT, PLAIN: _PLAIN}


def theme(name: str = "dark", own: Mapping[str, str] | None = None, *, colors: bool = True) -> Theme:
    """Return the styles of a theme, overridden by the user's own; without colours always the plain theme."""
    if not colors:
        return _PLAIN
    good = {use: style for use, style in (own or {}).items() if not wrong_style(use, style)}
    return {**THEMES.get(name, _DARK), **good}


def wrong_style(use: str, style: str) -> str:
    """Return a message about what is wrong with a style in the settings, or "" if it is valid."""
    if use not in _DARK:
        return f"unknown name {use!r}; use one of: {', '.join(_DARK)}"
    for word in style.split():
        if word not in _ATTRIBUTES and not _color(word):
            known = ", ".join((*_ATTRIBUTES, *COLORS))
            return f"{word!r} is not a colour; use {known}, a colour with bright- in front, or #rrggbb"
    return ""


def codes(style: str) -> str:
    """Return the SGR numbers of a style, for use between `ESC [` and `m`."""
    return ";".join(_ATTRIBUTES.get(word) or _color(word) for word in style.split())


def editor_style(style: str) -> str:
    """Translate a style to the names of prompt_toolkit."""
    words = []
    for word in style.split():
        name = word.removeprefix("bright-")
        if name in COLORS:
            bright = word != name
            special = {("white", False): "gray", ("white", True): "white", ("black", True): "brightblack"}
            name = special.get((name, bright)) or (f"bright{name}" if bright else name)
            word = f"ansi{name}"
        words.append(word)
    return " ".join(words)


def _color(word: str) -> str:
    """Return the SGR code of a colour, or "" if it is not a colour."""
    name = word.removeprefix("bright-")
    if name in COLORS:
        return str((30 if word == name else 90) + COLORS.index(name))
    if len(word) == 7 and word.startswith("#") and all(digit in "0123456789abcdefABCDEF" for digit in word[1:]):
        return "38;2;" + ";".join(str(int(word[place : place + 2], 16)) for place in (1, 3, 5))
    return ""
