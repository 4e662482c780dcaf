"""Does a value look like a secret? Tells random strings from words, identifiers, code, paths and placeholders.

Pure functions. A rule says how much its context proves (`need`); here the value has to do the rest. Words are
recognised by their form, not from a list, so that they may be of any language.
"""

from typing import NamedTuple

from aish.values.patterns import pattern

SURE = 0  # how much a value must look like a secret in its context: from "any value" …
LOOSE, LIKELY, HARDLY = 2, 3, 4  # … to "only random values"
JUDGED = 80  # a value is judged by its start, and masked to its end

# fmt: off
# Placeholders: what they contain, and how they begin.
_HOLDERS = ("***", "xxxx", "..", "…", "${", "$(", "#{", "{{", "your", "example", "placeholder", "redacted", "sanitized", "masked", "dummy", "changeme", "change_me", "change-me", "&ldquo", "&rdquo", "required|")
_HOLDER = pattern(
    r"\.?[$<{%\[`]|, | % |\|[a-z_-]{1,20}(?:[=:]|$)|[\w.-]{1,80}/[\w./-]{1,200}\.[a-z]{2,5}$"
    r"|(?:pass(?:word|wd)?|pwd|secret|token|key|user|admin|root|none|null|nil|true|false|str|string|int|bool|bytes|any|object|bearer|basic"
    r"|optional|required|undefined|test|foo|bar|todo|tbd|empty|unset|default|missing|invalid|expired|wrong|correct|contraseña|motdepasse|passwort|apikey)(?:\W*$|[;|])"
    r"|u?int\d{1,2}(?:array)?$"
    r"|base(?:64|32|58)(?!:)|sha-?\d|md5|bcrypt|argon2|pbkdf2|scrypt|aes-?\d|rsa-?\d|utf-?\d|ed25519|x509|oauth2?|http/|hs256|rs256|jwt|arn:|projects/"
    r"|\d{1,3}[+-]?(?:char|digit|letter|byte|bit|day|hour|min|sec|week|month|year|h$|m$|s$|d$)"
)
# Addresses, references in a schema, colours, and names of migrations; where the context is sure, passwords.
_REFERENCE = pattern(r"https?://|#/|#[0-9a-f]{3,8}$|0\d{3}_[a-z]\w*$")
_CAPITALS = pattern(r"[A-Z]{2,}(?:[_:][A-Z]{2,})+(?:@|$)")  # USER:API_TOKEN in a URL of documentation
# Names of variables such as password2, and samples such as password123, which people do use: where the context says
# that a password follows, only the former are none.
_NAME = pattern(r"(?:my|new|old|db|the|app|[a-z]{2,12}\d{1,3}_)?[_-]?(?:pass(?:word|wd)?|token|secret)_?\d?$")
_SAMPLE = pattern(r"(?:my|new|old|db|the)?_?(?:pass(?:word|wd)?|token|secret)_?\d{2,4}$")
# An expression of a programming language or of a shell: signs in it, and how it begins.
_CODE_SIGNS = pattern(r"[()\[\]{}→]|@\^\d|::|->|\\\w+\\|%s|\|\||&&|=>|\?\.|,[\w.]+[:=]")
_CODE = pattern(
    r"(?:self|this|os|env|process|config|settings|args|options|request|req|ctx|var|local|data)\.|[a-z_]+(?:\.[a-z_]\w*)+$|[a-z_]+\d{0,2}(?:\.[A-Za-z_]+)+$"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?=[A-Z]{4})[A-Z0-9]+$|0x[0-9A-Fa-f]{1,8}$|[./~]|https?:|&|[A-Za-z_][\w.]*=(?!=*$)|-{1,2}[A-Za-z]"
    r"|@[a-z_]+(?:\.[a-z_]+)+$|(?:!{1,2}|[*&])[A-Za-z_]|!\d"
)
# fmt: on
_EXPRESSION = pattern(r"^(?:self|this|os|env|process|config|settings|args|options|request|req|ctx)\.[A-Za-z_]")
_PATH = pattern(r"(?:~|[A-Za-z]:|\.{1,2})?(?:\\?/|\\\\)[\w.+-]{1,60}(?:\\?/|\\)[\w.+ -]")
_TAG = pattern(r"[<{]\w+[>}]|_here$")
_RUN = pattern(r"[A-Za-z0-9]+|[^\W\d_A-Za-z]+")
_CLASSES = (
    bytes(
        ord("0" if chr(byte).isdigit() else "a" if chr(byte).isalpha() else "-" if chr(byte) in "_-./:" else "!")
        for byte in range(128)
    )
    + b"!" * 128
)
_WORD, _NUMBER = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"), pattern(r"\d+")
_INSIDE = pattern(r"\d[a-z]")  # a number inside a word, as in Passw0rd
_SOUNDS = bytes(ord("a" if chr(byte) in "aeiouyAEIOUY" else "b") for byte in range(256))
_SILENT = b"b" * 6  # nobody can say so many consonants
_ABOUT = pattern(r"(?i)/|pass|pwd|secret|token|key|credential")  # in the names of files and of other things
_ABOUT_USERS = pattern(r"(?i)\b(?:pass(?:word|wd)?|secrets?|tokens?|keys?|credentials?|auth|user|admin)\b")
_NO_PHRASE, _HEXADECIMAL = pattern(r"[()\[\]{}$;=<>]"), pattern(r"[0-9a-fA-F-]+")
_PASSPHRASE = 16  # characters of a password that consists of words
_UUID = pattern(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ValueSigns(NamedTuple):
    """How many characters of which kind a value has."""

    length: int
    digits: int
    letters: int
    mixed: bool  # upper and lower case, beyond a first capital
    odd: bool  # has a character that identifiers and paths do not have

    @property
    def strength(self) -> int:
        """How many signs of a secret there are."""
        length, digits, letters, mixed, odd = self
        return (digits >= 1) + (letters >= 1) + mixed + odd + (length >= 16) + (digits >= 4)


class ValueShape(NamedTuple):
    """What a value is made of, and how many characters of it no word explains."""

    signs: ValueSigns
    runs: int  # letters and digits without anything between them
    words: int  # runs that are words
    random: int  # characters of runs that are neither words nor numbers

    @property
    def is_random(self) -> bool:
        """Are the most part of its letters and digits random?"""
        return self.random >= 6 and 5 * self.random >= 3 * (self.signs.letters + self.signs.digits)


def count_signs(value: str) -> ValueSigns:
    """Count the characters of a value."""
    classes = value.encode("ascii", "ignore").translate(_CLASSES)
    digits, letters, odd = classes.count(b"0"), classes.count(b"a"), b"!" in classes
    if len(classes) < len(value):
        foreign = [character for character in value if character > "\x7f"]
        digits += sum(map(str.isdigit, foreign))
        letters += sum(map(str.isalpha, foreign))
        odd = odd or not all(map(str.isalnum, foreign))
    mixed = value != value.lower() and value[1:] != value[1:].lower() and value != value.upper()
    return ValueSigns(len(value), digits, letters, mixed, odd)


def shape(value: str, signs: ValueSigns | None = None) -> ValueShape:
    """Measure a value. This takes longer than to count its signs."""
    signs = signs or count_signs(value)
    runs = words = 0
    random = 32 if value.count("-") >= 4 and _UUID.search(value) else 0
    for run in _RUN.findall(value):
        runs += 1
        if run.isdigit():
            continue
        if not run.isascii() or _is_word(run):
            words += 1
        else:
            random += len(run)
    return ValueShape(signs, runs, words, min(random, signs.digits + signs.letters))


def looks_secret(
    value: str, need: int, quote: str = "", *, words: bool = True, phrase: bool = False, name: bool = False
) -> bool:
    """Does the value look enough like a secret?

    With `words`, a word with a number may be one, as in passwords; with `phrase`, a sentence with a number; with `name`,
    words with a number and underscores between them, such as blue_sky_2020.
    """
    value = value[:JUDGED]
    if need == SURE:
        return _may_be_any(value, words=words)
    if len(value) < 6 or value.isalpha():
        return False
    signs = count_signs(value)
    if (need > LOOSE and " " in value) or _is_weak(signs, need):
        return False
    if quote in ("", "`") and _is_code(value):
        return False  # backticks often have code in them
    if _is_holder(value) or _is_sample_password(value.lower(), need):
        return False
    if _PATH.match(value) or _REFERENCE.match(value.lower()):
        return False
    if " " in value:  # quoted, so it may be a passphrase; but most often it is a label or a sentence
        made = shape(value, signs)
        odd = made.random >= 4 or (phrase and signs.digits > 0)
        return words and odd and made.runs <= 6 and not (_NO_PHRASE.search(value) or _ABOUT_USERS.search(value))
    if not words and signs.length < 8 and is_id(value):
        return False  # a commit
    if words and _is_name(value, signs) and not (name and signs.digits and not _ABOUT.search(value)):
        return False
    if words and need == LOOSE and signs.digits == 0:
        return _is_passphrase(value, signs) or (signs.odd and signs.mixed)
    if signs.strength < need or not words:  # a short password may be weak if no word explains it
        return signs.strength + words >= need and signs.digits + signs.odd > 0 and shape(value, signs).is_random
    return True


def _may_be_any(value: str, *, words: bool) -> bool:
    """May this be a value where the context is sure, and not an option, a path or an expression?"""
    if len(value) < 4 or (len(value) < 6 and value.isalpha()):
        return False
    if value.startswith(("-", "~", "/")) or value.endswith("://"):
        return False
    if _is_holder(value) or _is_sample_password(value.lower(), SURE) or _EXPRESSION.match(value):
        return False
    return words or not _is_plain_name(value)


def _is_weak(signs: ValueSigns, need: int) -> bool:
    """Are there too few signs of a secret, whatever the words are? Only a long passphrase may have none."""
    if signs.letters == 0:
        return True
    if need > LOOSE:
        return signs.strength + (need == LIKELY) < need or not (signs.digits or signs.odd)
    return signs.digits == 0 and not signs.odd and signs.length < _PASSPHRASE


def _is_holder(value: str) -> bool:
    """Is this a placeholder, a type, or the name of an algorithm?"""
    low = value.lower()
    if _HOLDER.match(low) or _CAPITALS.match(value):
        return True
    for holder in _HOLDERS:
        if holder in low:
            return True
    return ("<" in low or "{" in low or "_" in low) and bool(_TAG.search(low))


def _is_sample_password(value: str, need: int) -> bool:
    return bool(_NAME.match(value) or (need > LOOSE and _SAMPLE.match(value)))


def _is_plain_name(value: str) -> bool:
    """Is this made of words only, such as some-token-from-header?"""
    signs = count_signs(value)
    return signs.digits == 0 and not signs.odd and signs.length < 40 and shape(value, signs).random == 0


def _is_code(value: str) -> bool:
    return " " in value or bool(_CODE.match(value) or _CODE_SIGNS.search(value))


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
    return bool(_HEXADECIMAL.fullmatch(value) or _UUID.search(value))


def _is_word(run: str) -> bool:
    """Are these words of a language or of a program, also joined in camel case, perhaps with a number?"""
    if run.isalpha() and (run.islower() or run.isupper() or run[1:].islower()):
        return _can_be_said(run)
    numbers = _NUMBER.findall(run)
    if len(numbers) > 2 or (numbers and max(map(len, numbers)) > 4):
        return False
    letters = _WORD.findall(run)
    if not letters:
        return False
    size = sum(map(len, letters))
    if len(letters) > 1 and size < 3 * len(letters):
        return False  # random letters make many short parts
    if numbers and min(map(len, letters)) < 3 and not (len(letters) == 1 and len(run) <= 4):
        return (
            len(numbers) == 1
            and not _INSIDE.search(run)
            and size >= 4 * len(letters)
            and all(map(_can_be_said, letters))
        )
    return all(_can_be_said(part) for part in letters)


def _can_be_said(part: str) -> bool:
    """Can a person say this, or is it short enough for an abbreviation?"""
    if len(part) <= 3:
        return True
    if len(part) > 24:
        return False
    sounds = part.encode().translate(_SOUNDS)
    return _SILENT not in sounds and sounds.count(b"a") * 6 >= len(part)


def _is_name(value: str, signs: ValueSigns) -> bool:
    """Is this an identifier, a path or the like: only words and numbers, with signs of names between them?"""
    if signs.odd:
        return False
    made = shape(value, signs)
    if made.random >= 6 or (made.random and made.words < 4):
        return False
    if signs.digits == 0:
        return not _is_passphrase(value, signs)
    snake = "_" in value and (value == value.lower() or value == value.upper())
    return made.words >= 2 and (snake or "/" in value or made.words >= 4)


def _is_passphrase(value: str, signs: ValueSigns) -> bool:
    """Is this like correct-horse-battery-staple? Words with underscores are names of variables."""
    joints = value.count("-") + value.count(".")
    if signs.length < _PASSPHRASE or joints < 3 or "_" in value or "/" in value:
        return False
    return not _ABOUT_USERS.search(value)
