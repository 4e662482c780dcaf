"""Does a value look like a secret? Tells random strings from words, identifiers, code, paths and placeholders.

Pure functions. A rule says how much its context proves (`need`); here the value has to do the rest. Words are
recognised by their form, not from a list, so that they may be of any language.
"""

from typing import NamedTuple

from aish.values.patterns import compiled

SURE = 0  # how much a value must look like a secret in its context: from "any value" …
LOOSE, LIKELY, HARDLY = 2, 3, 4  # … to "only random values"
JUDGED = 80  # a value is judged by its start, and masked to its end

# fmt: off
# Placeholders: what they contain, and how they begin.
_HOLDERS = ("***", "xxxx", "..", "…", "${", "$(", "{{", "your", "example", "placeholder", "redacted", "sanitized", "masked", "dummy", "changeme", "change_me", "change-me", "&ldquo", "&rdquo", "required|")
_HOLDER = (
    r"[$<{%\[|]|, | % |https?://|#/|#[0-9a-f]{3,8}$|\d{3,4}_[a-z]|[\w.-]{1,80}/[\w./-]{1,200}\.[a-z]{2,5}$"
    r"|(?:pass(?:word|wd)?|pwd|secret|token|key|user|admin|root|none|null|nil|true|false|str|string|int|bool|bytes|any|object|bearer|basic"
    r"|optional|required|undefined|test|foo|bar|todo|tbd|empty|unset|default|missing|invalid|expired|wrong|correct)\W*$"
    r"|base(?:64|32|58)(?!:)|sha-?\d|md5|bcrypt|argon2|pbkdf2|scrypt|aes-?\d|rsa-?\d|utf-?\d|ed25519|x509|oauth2?|http/|hs256|rs256|jwt|arn:|projects/"
    r"|\d{1,3}[+-]?(?:char|digit|letter|byte|bit|day|hour|min|sec|week|month|year|h$|m$|s$|d$)"
)
# Names of variables such as password2, and samples such as password123, which people do use: where the context says
# that a password follows, only the former are none.
_NAME = r"(?:my|new|old|db|the)?_?(?:pass(?:word|wd)?|token|secret)_?\d?$"
_SAMPLE = r"(?:my|new|old|db|the)?_?(?:pass(?:word|wd)?|token|secret)_?\d{2,4}$"
# An expression of a programming language or of a shell: signs in it, and how it begins.
_CODE_SIGNS = r"[()\[\]{}→]|@\^\d|::|->|\\\w+\\|%s|\|\||&&|=>|\?\.|,[\w.]+[:=]"
_CODE = (
    r"(?:self|this|os|env|process|config|settings|args|options|request|req|ctx|var|local|data)\.|[a-z_]+(?:\.[a-z_]\w*)+$|[a-z_]+\d{0,2}(?:\.[A-Za-z_]+)+$"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?=[A-Z]{4})[A-Z0-9]+$|0x[0-9A-Fa-f]{1,8}$|[./~]|https?:|&|[A-Za-z_][\w.]*=(?!=*$)|-{1,2}[A-Za-z]"
    r"|@[a-z_]+(?:\.[a-z_]+)+$|(?:!{1,2}|[*&])[A-Za-z_]|!\d"
)
# fmt: on
_EXPRESSION = r"^(?:self|this|os|env|process|config|settings|args|options|request|req|ctx)\.[A-Za-z_]"
_PATH = r"(?:~|[A-Za-z]:|\.{1,2})?(?:\\?/|\\\\)[\w.+-]{1,60}(?:\\?/|\\)[\w.+ -]"
_TAG = r"[<{]\w+[>}]|_here$"
_RUN = r"[A-Za-z0-9]+|[^\W\d_A-Za-z]+"
_CLASSES = (
    bytes(
        ord("0" if chr(byte).isdigit() else "a" if chr(byte).isalpha() else "-" if chr(byte) in "_-./:" else "!")
        for byte in range(128)
    )
    + b"!" * 128
)
_PARTS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
_SOUNDS = bytes(ord("a" if chr(byte) in "aeiouyAEIOUY" else "b") for byte in range(256))
_SILENT = b"b" * 6  # nobody can say so many consonants
_ABOUT = r"(?i)/|pass|pwd|secret|token|key|credential"  # in the names of files and of other things
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class ValueShape(NamedTuple):
    """What a value is made of: numbers of characters, and how many of them no word explains."""

    length: int
    digits: int
    letters: int
    mixed: bool  # upper and lower case, beyond a first capital
    odd: bool  # has a character that identifiers and paths do not have
    runs: int  # letters and digits without anything between them
    words: int  # runs that are words
    random: int  # characters of runs that are neither words nor numbers

    @property
    def strength(self) -> int:
        """How many signs of a secret there are."""
        signs = (self.digits >= 1, self.letters >= 1, self.mixed, self.odd, self.length >= 16, self.digits >= 4)
        return sum(signs)

    @property
    def is_random(self) -> bool:
        """Are the most part of its letters and digits random?"""
        return self.random >= 6 and 5 * self.random >= 3 * (self.letters + self.digits)


def shape(value: str) -> ValueShape:
    """Measure a value."""
    if value.isascii():
        classes = value.encode().translate(_CLASSES)
        digits, letters, odd = classes.count(b"0"), classes.count(b"a"), b"!" in classes
    else:
        digits = sum(character.isdigit() for character in value)
        letters = sum(character.isalpha() for character in value)
        odd = any(not character.isalnum() and character not in "_-./:" for character in value)
    mixed = value != value.lower() and value[1:] != value[1:].lower() and value != value.upper()
    runs = words = 0
    random = 32 if value.count("-") >= 4 and compiled(_UUID).search(value) else 0
    for run in compiled(_RUN).findall(value):
        runs += 1
        if run.isdigit():
            continue
        if not run.isascii() or _is_word(run):
            words += 1
        else:
            random += len(run)
    random = min(random, digits + letters)
    return ValueShape(len(value), digits, letters, mixed, odd, runs, words, random)


def looks_secret(
    value: str, need: int, quote: str = "", *, words: bool = True, phrase: bool = False, name: bool = False
) -> bool:
    """Does the value look enough like a secret?

    With `words`, a word with a number may be one, as in passwords; with `phrase`, a sentence with a number; with `name`,
    words with a number and underscores between them, such as blue_sky_2020.
    """
    value = value[:JUDGED]
    if len(value) < (4 if need == SURE else 6) or (need != SURE and value.isalpha()):
        return False
    if _is_holder(value) or _is_sample_password(value.lower(), need):
        return False
    if need == SURE:
        if value.startswith(("-", "~", "/")) or value.endswith("://") or (len(value) < 6 and value.isalpha()):
            return False
        return not compiled(_EXPRESSION).match(value) and (words or not _is_plain_name(value))
    if quote in ("", "`") and _is_code(value):
        return False  # backticks often have code in them
    made = shape(value)
    if made.letters == 0 or compiled(_PATH).match(value):
        return False
    if " " in value:  # quoted, so it may be a passphrase; but most often it is a label or a sentence
        odd = made.random >= 4 or (phrase and made.digits > 0)
        return need == LOOSE and words and odd and made.runs <= 6 and not compiled(r"[()\[\]{}$;=<>]").search(value)
    if not words:
        return made.is_random and made.digits + made.odd > 0 and made.strength >= need
    if _is_name(value, made) and not (name and made.digits and not compiled(_ABOUT).search(value)):
        return False
    if need == LOOSE and made.digits == 0:
        return _is_passphrase(value, made) or (made.odd and made.mixed)
    return made.digits + made.odd > 0 and made.strength >= need


def _is_holder(value: str) -> bool:
    """Is this a placeholder, a type, or the name of an algorithm?"""
    low = value.lower()
    if compiled(_HOLDER).match(low):
        return True
    for holder in _HOLDERS:
        if holder in low:
            return True
    return ("<" in low or "{" in low or "_" in low) and bool(compiled(_TAG).search(low))


def _is_sample_password(value: str, need: int) -> bool:
    return bool(compiled(_NAME).match(value) or (need > LOOSE and compiled(_SAMPLE).match(value)))


def _is_plain_name(value: str) -> bool:
    """Is this made of words only, such as some-token-from-header?"""
    made = shape(value)
    return made.random == made.digits == 0 and not made.odd and made.length < 40


def _is_code(value: str) -> bool:
    return " " in value or bool(compiled(_CODE).match(value) or compiled(_CODE_SIGNS).search(value))


def is_sample(token: str) -> bool:
    """Is this a sample of a token, made of words?"""
    made = shape(token[: 2 * JUDGED])
    return made.runs >= 4 and made.random == 0


def trimmed(text: str, start: int, end: int, quoted: bool) -> tuple[int, int]:
    """Return the position of a value without trailing punctuation."""
    value = text[start:end]
    kept = value.rstrip("\\") if quoted else value.rstrip(".,;:!?)\"'*`\\")
    return start, start + len(kept)


def is_id(value: str) -> bool:
    """Is this a hash or an id, as far as one can see?"""
    return bool(compiled(r"[0-9a-fA-F-]+").fullmatch(value) or compiled(_UUID).search(value))


def _is_word(run: str) -> bool:
    """Are these words of a language or of a program, also joined in camel case, perhaps with a number?"""
    if run.isalpha() and (run.islower() or run.isupper() or run[1:].islower()):
        return _can_be_said(run)
    letters, numbers = list[str](), list[str]()
    for part in compiled(_PARTS).findall(run):
        (numbers if part[0] <= "9" else letters).append(part)
    if not letters or len(numbers) > 2 or (numbers and max(map(len, numbers)) > 4):
        return False
    size = sum(map(len, letters))
    if len(letters) > 1 and size < 3 * len(letters):
        return False  # random letters make many short parts
    if numbers and min(map(len, letters)) < 3 and not (len(letters) == 1 and len(run) <= 4):
        return len(numbers) == 1 and run[-1].isdigit() and size >= 4 * len(letters) and all(map(_can_be_said, letters))
    return all(_can_be_said(part) for part in letters)


def _can_be_said(part: str) -> bool:
    """Can a person say this, or is it short enough for an abbreviation?"""
    if len(part) <= 3:
        return True
    if len(part) > 24:
        return False
    sounds = part.encode().translate(_SOUNDS)
    return _SILENT not in sounds and sounds.count(b"a") * 6 >= len(part)


def _is_name(value: str, made: ValueShape) -> bool:
    """Is this an identifier, a path or the like: only words and numbers, with signs of names between them?"""
    if made.odd or made.random >= 6 or (made.random and made.words < 4):
        return False
    if made.digits == 0:
        return not _is_passphrase(value, made)
    snake = "_" in value and (value == value.lower() or value == value.upper())
    return made.words >= 2 and (snake or "/" in value or made.words >= 4)


def _is_passphrase(value: str, made: ValueShape) -> bool:
    """Is this like correct-horse-battery-staple? Words with underscores are names of variables."""
    signs = sum(value.count(sign) for sign in "-.")
    about = compiled(r"(?i)\b(?:pass(?:word|wd)?|secrets?|tokens?|keys?|credentials?|auth|user|admin)\b").search(value)
    return made.length >= 16 and signs >= 3 and "_" not in value and "/" not in value and not about
