"""The words for times in English, German, French and Spanish, and the tokenizer that recognizes them.

Pure: text in, tokens out. Each of these words has one kind, and a kind is one character. So a rule about the order of
words is a regular expression over kinds, and it works for all languages at once. All other words have the kind `.`.
"""

import functools
import re
import unicodedata

from aish.values.named_tuple import NamedTuple

Value = int | str | tuple[int, ...]

# A kind, then `value: words`. Weekdays and months are numbered in their order.
_WORDS: dict[str, str] = {
    "unit": """
        minute: minute minutes min mins minuten minuto minutos
        hour: hour hours hr hrs stunde stunden heure heures hora horas
        day: day days tag tage tagen jour jours día días
        week: week weeks woche wochen semaine semaines semana semanas
        month: month months monat monate monaten monats mois mes meses
        quarter: quarter quarters quartal quartale quartalen trimestre trimestres
        year: year years jahr jahre jahren jahres an ans année années l'an l’an año años""",
    "weekend": "weekend: weekend weekends week-end week-ends wochenende wochenenden fin_de_semana",
    "yesterday": """
        0: today heute aujourd'hui aujourd’hui hoy
        1: yesterday gestern hier ayer
        2: vorgestern avant-hier avant_hier anteayer antier antes_de_ayer""",
    "daypart": """
        morning: morning früh vormittag morgen matin mañana
        noon: noon mittag midi mediodía
        afternoon: afternoon nachmittag après-midi tarde
        evening: evening abend soir soirée
        night: night nacht nuit noche""",
    "tonight": "0: tonight\n1: anoche\n2: anteanoche",
    "count": """
        1: one
        2: two zwei deux dos
        3: three drei trois tres
        4: four vier quatre cuatro
        5: five fünf cinq cinco
        6: six sechs seis
        7: seven sieben siete
        8: eight acht huit ocho
        9: nine neun neuf nueve
        10: ten zehn dix diez
        11: eleven elf onze once
        12: twelve zwölf douze doce
        14: fourteen vierzehn quatorze catorce
        15: fifteen fünfzehn quinze quince
        20: twenty zwanzig vingt veinte
        30: thirty dreißig trente treinta""",
    "half": "0: half halbe halben halbes halber demi demie media medio",
    "couple": "0: couple paar par",
    "few": """
        0: few several some einigen einige wenigen mehreren quelques plusieurs unos unas pocos pocas varios varias
            algunos algunas""",
    "one": "1: a an ein eine einem einer einen un une una",
    "ago": "0: ago",
    "vor": "0: vor",  # German: before a date, ago before a number
    "hace": "0: hace",
    "il": "0: il",
    "last": """
        1: last previous letzte letzten letzter letztes letztem vorige voriges vorigen vorigem voriger vergangene
            vergangenen vergangenes vergangenem vergangener dernier dernière derniers dernières passé passée passés
            passées pasado pasada pasados pasadas último última últimos últimas anterior anteriores
        2: vorletzte vorletzten vorletztes antepasado antepasada""",
    "past": "0: past",
    "this": "0: this these diese diesen dieses dieser diesem ce cet cette ces este esta estos estas",
    "before": "0: before avant antes",
    "after": "0: after nach après después",
    "since": "0: since seit seitdem depuis desde",
    "until": "0: until till bis jusqu jusque hasta",
    "between": "0: between zwischen entre",
    "from": "0: from",
    "to": "0: to through thru à",
    "and": "0: and und et",
    "y": "0: y",  # "and" in Spanish; also a part of "il y a" in French
    "about": "0: around circa ca environ vers alrededor",
    "in": "0: in im en au during während pendant durant dans durante throughout por",
    "on": "0: on am um at over within",
    "of": "0: of de des du d von vom del",
    "the": "0: the der die das den dem zum le la les l el los las al",
    "part": """
        early: early beginning start anfang beginn début debut principio principios comienzo comienzos inicio
        mid: mid middle mitte mi mediados
        late: late end ende fin finales""",
    "recent": """
        0: recently lately kürzlich neulich récemment dernièrement recientemente últimamente
            kurzem poco""",
    "now": "0: now jetzt maintenant ahora",
    # Words before a time that is not in the past, or not one definite time.
    "never": """
        0: next nächste nächsten nächster nächstes nächstem kommende kommenden prochain prochaine próximo próxima
            every each jede jeden jedes chaque cada tous toutes todos todas""",
    "season": """
        0: spring frühling frühjahr printemps primavera
        1: summer sommer été verano
        2: autumn fall herbst automne otoño
        3: winter hiver invierno""",
    "month": """
        1: january januar jänner janvier enero
        2: february februar février febrero
        3: march märz maerz mars marzo
        4: april avril abril
        5: may mai mayo
        6: june juni juin junio
        7: july juli juillet julio
        8: august août agosto
        9: september septembre septiembre setiembre
        10: october oktober octobre octubre
        11: november novembre noviembre
        12: december dezember décembre diciembre""",
    "mon": "1: jan\n2: feb\n3: mar\n4: apr\n6: jun\n7: jul\n8: aug\n9: sep\n10: oct okt\n11: nov\n12: dec dez",
    "sept": "9: sept",  # short for September; also seven in French
    "weekday": """
        0: monday montag lundi lunes
        1: tuesday dienstag mardi martes
        2: wednesday mittwoch mercredi miércoles
        3: thursday donnerstag jeudi jueves
        4: friday freitag vendredi viernes
        5: saturday samstag sonnabend samedi sábado
        6: sunday sonntag dimanche domingo""",
    "wday": "0: mon\n1: tue tues\n2: wed weds\n3: thu thur thurs\n4: fri\n5: sat\n6: sun",
    "quarter": "1: q1\n2: q2\n3: q3\n4: q4",
}
_MARKS = {",": "comma", "-": "dash", "–": "dash", "—": "dash", ".": "stop", "'": "mark", "’": "mark"} | dict.fromkeys(
    "?!;:\n。？！", "stop"
)
_OTHERS = "number year years date clock comma dash stop mark".split()
KINDS = {name: chr(0x100 + place) for place, name in enumerate([*_WORDS, *_OTHERS])}
NAMES = {kind: name for name, kind in KINDS.items()}
OTHER = "."

# A number next to other characters is a price, a version, a port or a part of a path.
_FREE, _ENDS = r"(?<![\w.,/:$#@%=+~\\-])", r"(?![\w%°]|[-./:,]\d|[/\\])"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:\s?[ap]m)?|(?:1[0-2]|0?[1-9])\s?[ap]m"
_HOUR = r"(?:(?:[01]?\d|2[0-3])\s?uhr|(?<=à\ )(?:[01]?\d|2[0-3])\s?h)(?:\s?[0-5]\d)?"
_TOKEN = rf"""(?:(?<=\d)T(?=\d\d:))?(?:
    (?P<word>(?=[^\W\d])(?:week-ends?\b|apr[èe]s-midi\b|avant[-\ ]hier\b|aujourd['’]hui\b|l['’]an\b
        |fin\ de\ semana\b|antes\ de\ ayer\b|\w+))
  | (?P<years>{_FREE}(?:19|20)\d\d[-–](?:19|20)\d\d{_ENDS})
  | (?P<date>{_FREE}(?:\d{{4}}-\d\d(?:-\d\d)?|\d{{4}}/\d{{1,2}}/\d{{1,2}}
        |\d{{1,2}}(?P<between>[-/.])\d{{1,2}}(?P=between)\d{{4}}|\d\d\.\d\d\.\d\d|\d{{1,2}}/\d{{1,2}}/\d\d)(?:(?=T\d\d:)|{_ENDS}))
  | (?P<clock>(?<![.,/:-])(?:{_CLOCK}|{_HOUR})\b(?![:.]\d))
  | (?P<number>(?:{_FREE}|(?<=[a-z]-)|(?<=\d-))\d{{1,4}}(?:st|nd|rd|th|er|º)?(?![\w%°]|[./:,]\d|[/\\]))
  | (?P<mark>\n(?=[^\S\n]*\n)|(?P<sign>[^\w\s])(?P=sign)*|\w+)
)(?:[^\S\n]|\n(?![^\S\n]*\n))*"""
_FRENCH = frozenset(
    "le la les un une j je tu nous vous avons est dit que qu quoi et dans pour avec soir matin "
    "depuis jusqu jusque à avant après-midi midi ce cette mon ma notre nos".split()
)
# Words that are often not a time. These need a word of their own language before them …
_OTHERWISE = frozenset("mars mayo été ete".split())
_ROMANCE = frozenset(
    "en de du d l le el l' au cet ce este depuis desde jusqu jusque à hasta avant antes après después entre début "
    "fin mi principios mediados finales".split()
)
# … and these need a capital letter, or a preposition of time before them.
_VERBS = frozenset("may march august spring fall".split())
_AFTER_VERB = frozenset("be have not also need or well only never still".split())


_HEADS = "unit weekend yesterday daypart tonight season month mon sept weekday wday recent now il".split()
_COMPOUND = {  # German
    day + part: (day, part)
    for day in "montag dienstag mittwoch donnerstag freitag samstag sonntag".split()
    for part in "morgen früh vormittag mittag nachmittag abend nacht".split()
}


class Token(NamedTuple):
    """A word, number or punctuation mark: its kind, its value for a time, and its place in the text."""

    text: str
    kind: str
    value: Value
    begin: int
    end: int


@functools.cache
def lexicon() -> dict[str, tuple[str, Value]]:
    """The kind and value of each word, with and without its accents."""
    table: dict[str, tuple[str, Value]] = {}
    for name, lines in _WORDS.items():
        value = ""
        for word in lines.split():
            if word.endswith(":"):
                value = word[:-1]
                continue
            entry = KINDS[name], int(value) if value.isdigit() else value
            table[word.replace("_", " ")] = entry
            if not word.isascii():
                table.setdefault(_plain(word), entry)
    for both in ("ano", "anos"):
        del table[both]
    return table


def _plain(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


@functools.cache
def _heads() -> frozenset[str]:
    """A text without any of these words and without a digit has no time; of compounds, the first part."""
    kinds = {KINDS[name] for name in _HEADS}
    words = (word for word, (kind, _) in lexicon().items() if kind in kinds)
    return frozenset(word.replace("'", " ").replace("’", " ").replace("-", " ").split()[0] for word in words) | {
        *_COMPOUND
    }


def may_name_time(text: str) -> bool:
    """Can there be a time in a text? A quick check, because most texts have none."""
    return any(letter.isdigit() for letter in text) or not _heads().isdisjoint(re.findall(r"\w+", text.lower()))


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_TOKEN, re.VERBOSE | re.IGNORECASE)


def tokens(text: str) -> list[Token]:
    """The text as a row of tokens."""
    table = lexicon()
    found = []
    for match in _pattern().finditer(text):
        sort = match.lastgroup or ""
        said = match[sort]
        if sort == "word":
            low = said.lower()
            kind, value = table.get(low, (OTHER, 0))
            if kind == OTHER and (parts := _COMPOUND.get(low)):  # Freitagabend: two words written as one
                found += [Token(part, *table[part], *match.span(sort)) for part in parts[:-1]]
                kind, value = table[parts[-1]]
        else:
            kind, value = _read_sign(said, sort)
        found.append(Token(said, kind, value, *match.span(sort)))
    return found


def _read_sign(said: str, sort: str) -> tuple[str, Value]:
    """The kind and value of a token that is not a word."""
    if sort == "mark":
        name = _MARKS.get(said[0])
        return (KINDS[name] if name else OTHER), 0
    numbers = tuple(int(part) for part in re.findall(r"\d+", said))
    if sort == "clock":
        hour, minute = (*numbers, 0)[:2]
        low = said.lower()
        if low.endswith("m"):
            hour = hour % 12 + 12 * ("p" in low)
        return KINDS["clock"], (hour, minute)
    if sort == "number":
        year = len(said) == 4 and 1900 <= numbers[0] < 2100
        return KINDS["year" if year else "number"], numbers[0]
    if sort == "date":
        return KINDS["date"], _ordered(said, numbers)
    return KINDS[sort], numbers


def _ordered(said: str, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Year, month and day. With dots the day is first, otherwise the month, unless that is not a valid month."""
    if len(numbers) == 2 or said[:4].isdigit():
        return numbers
    first, second, year = numbers
    year += 2000 if year < 100 else 0
    if ("." in said and second <= 12) or first > 12:
        first, second = second, first
    return year, first, second


def figures(token: Token) -> tuple[int, ...]:
    """The numbers of a date or a time of day."""
    return token.value if isinstance(token.value, tuple) else ()


def doubtful(row: list[Token], place: int, *, led: bool) -> bool:
    """Is the month or season at `place` probably another word? `led`: a preposition of time is before it."""
    token = row[place]
    word, before = token.text.lower(), row[place - 1].text.lower() if place else ""
    if word in _OTHERWISE:
        return before not in _ROMANCE
    if word not in _VERBS:
        return False
    if led:
        after = row[place + 1].text.lower() if place + 1 < len(row) else ""
        return token.text == "may" and after in _AFTER_VERB
    return token.text[0].islower() or not place or row[place - 1].kind == KINDS["stop"]


def is_french(row: list[Token]) -> bool:
    """Is it French and not German? `hier` means yesterday in French and here in German."""
    return any(token.text.lower() in _FRENCH for token in row)
