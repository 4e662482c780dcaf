"""Generated conversations, for measuring searches in a large memory.

Sentences are filled from templates. Each conversation has one subject and a few people, and word frequencies follow
Zipf's law. The same seed gives the same conversations. They are kept in `bench/out` and generated only once.
"""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from aish.places import Places, find_places
from aish.storage.lines import encode
from aish.views.screen import Bar

SEED, VERSION = 20_261, 1
SHORTEST, LONGEST = 20, 200  # turns of a conversation
RARE = 40_000  # words that belong to no subject, by frequency
UNTIL = datetime(2026, 11, 1, tzinfo=UTC)
DAYS = 1_000  # the time span of all turns

_SUBJECTS = """
garden: tomato soil compost greenhouse seedling hedge watering frost pruning lawn beetle harvest basil fence
kitchen: sourdough oven recipe lentil saucepan cinnamon dough broth spice dinner noodle pickle knife marinade
travel: train hostel ferry luggage passport itinerary border museum mountain harbour ticket timetable island tunnel
cycling: gear chain saddle puncture helmet climb derailleur pannier brake tyre trail descent pump spoke
music: violin rehearsal chord quartet melody drummer cello concert tempo choir guitar recording encore harmony
health: physio knee allergy dentist sleep migraine vaccine posture stretching appointment prescription fever rash diet
money: mortgage invoice pension budget refund tax insurance deposit account salary receipt loan interest rent
house: boiler plaster radiator wiring roof insulation carpenter paint gutter tiles lease landlord hallway cellar
animals: puppy kennel vet parrot aquarium leash kitten hamster fur shelter feeding pond hedgehog stable
books: novel chapter author library poem translation essay paperback bookshop plot biography publisher draft reader
work: interview meeting deadline manager contract colleague promotion workshop agenda office onboarding review memo desk
python: traceback decorator import generator dataclass coroutine wheel virtualenv pytest docstring lambda mypy slice
servers: nginx certificate container kernel systemd firewall proxy cluster backup snapshot latency hostname daemon disk
databases: index query migration replica transaction schema cursor deadlock vacuum postgres sqlite partition trigger row
school: exam homework teacher lecture thesis semester scholarship chemistry essay laboratory grade classroom diploma
weather: storm drizzle forecast hail sunshine fog thunder breeze humidity snow heatwave rainbow cloud gale
cinema: director trailer actor subtitle sequel screening documentary script popcorn premiere camera thriller comedy
family: grandmother nephew wedding birthday cousin toddler reunion anniversary sister uncle nursery adoption picnic
sport: marathon coach tournament goalkeeper sprint swimming league penalty racket training medal referee yoga
science: telescope neutron enzyme experiment fossil galaxy microscope hypothesis sensor laser protein orbit magnet
"""
_PEOPLE = (
    "Adele Bruno Carmen Dario Edith Farid Greta Hamid Ingrid Jonas Karin Leopold Marta Nadim Oksana Piotr Quentin Rosa"
    " Stefan Tamara Ulrich Valeria Wanda Xenia Yusuf Zoltan Amara Benedikt Chiara Dmitri Elif Florian Gwen Henrik Iris"
    " Jamila Kenji Lotte Mateo Noor Olga Pavel Ravi Selma Tobias Ursula Viktor Wilma Yara Zeno"
).split()
_VERBS = "find keep change order repair clean compare measure replace paint plan test write carry sell borrow".split()
_KINDS = "new old cheap heavy quiet broken second small local better red strange early wooden simple long".split()
_WHEN = (
    "yesterday,last week,on Monday,in March,this morning,two days ago,on Friday,in the evening,next month,in 2024,"
    "on the 14th,before lunch,since June,at the weekend"
).split(",")
_ASKING = (
    "How do I {verb} the {kind} {noun}?",
    "Do you know where {name} got the {noun} for the {noun}?",
    "Should we {verb} the {noun} {when}, or wait for the {noun}?",
    "What did {name} say about the {kind} {noun}?",
    "Can you help me to {verb} a {noun} with a {rare}?",
    "Why does the {noun} make that {rare} noise {when}?",
)
_TELLING = (
    "I had to {verb} the {noun} {when} because the {rare} was too {kind}.",
    "{name} told me that the {noun} needs a {kind} {noun} and some {rare}.",
    "We went to see the {noun} {when}, and it was {kind} but fine.",
    "My {noun} is still {kind}, so I will {verb} it {when}.",
    "It cost {number} for the {noun}, and {number} more for the {rare}.",
    "Nothing about the {rare} {noun} has changed {when}.",
)
_ANSWERING = (
    "You could {verb} the {noun} first, then look at the {kind} {noun} and at what {name} has written about it.",
    "It depends on the {noun}: a {kind} one takes about {number} minutes, and with a {rare} a little longer.",
    "Most people {verb} it {when}; keep the {noun} dry and put the {rare} {noun} beside it.",
    "That sounds like the {rare}. Check the {noun}, {verb} whatever is {kind}, and try again {when}.",
    "For a {noun} of that kind there are {number} ways, and the {kind} {noun} is the one I would take.",
    "The {noun} and the {noun} belong together here, so {verb} both of them before the {rare} comes {when}.",
)
_SYLLABLES = "ba ker li mon tra su ve dor ni pel ga rin to ush fe cal my zor ed ant wi lo gre sha ti um ple ro".split()

Thing = TypeVar("Thing")


def crowd(home: Path, turns: int) -> Places:
    """Return the home of a crowd; generate it if it is missing or was made with other parameters."""
    places = find_places({"AISH_HOME": str(home)})
    made, stamp = home / "crowd.json", {"seed": SEED, "version": VERSION, "turns": turns}
    if not made.exists() or json.loads(made.read_text(encoding="utf-8")) != stamp:
        shutil.rmtree(home, ignore_errors=True)
        _write(places.sessions, turns)
        made.write_text(json.dumps(stamp), encoding="utf-8")
    return places


def _write(sessions: Path, turns: int) -> None:
    sessions.mkdir(parents=True)
    bar, chance, done = Bar(f"generating {turns:,} turns"), random.Random(SEED), 0
    speech = Speech(chance)
    while done < turns:
        size = min(chance.randint(SHORTEST, LONGEST), turns - done)
        start = UNTIL - timedelta(seconds=DAYS * 86_400 * (turns - done) / turns)
        name = f"{start:%Y%m%d-%H%M%S}-{done:08x}"
        (sessions / f"{name}.jsonl").write_bytes(b"".join(map(encode, speech.conversation(name, start, size))))
        done += size
        bar(done, turns)


def questions(count: int) -> list[str]:
    """Return questions for the crowd: with words, names, times, filters and misspellings."""
    chance = random.Random(SEED + 1)
    speech = Speech(chance)
    endings = ("", "", "", " " + chance.choice(_WHEN), " according to Iris", " in:garden", " -oven")
    asked = []
    for number in range(count):
        speech.turn_to(number)
        text = speech.sentence(_ASKING if number % 3 else _TELLING)
        if number % 10 == 9:
            text = " ".join(word[1:] if len(word) > 6 else word for word in text.split())
        asked.append(text + endings[number % len(endings)])
    return asked


class Speech:
    """Generates sentences about a subject."""

    def __init__(self, chance: random.Random) -> None:
        lines = [line.partition(": ") for line in _SUBJECTS.strip().splitlines()]
        self._subjects = [(name, words.split()) for name, _, words in lines]
        coin = random.Random(SEED)  # every crowd has the same rare words
        self._rare = ["".join(coin.choices(_SYLLABLES, k=2 + coin.randrange(3))) for _ in range(RARE)]
        self._weights = list(accumulate(1 / rank for rank in range(1, RARE + 1)))
        self._chance = chance
        self.turn_to(0)

    def turn_to(self, number: int) -> None:
        """Switch to another subject."""
        self._subject, self._nouns = self._subjects[number % len(self._subjects)]
        self._people = self._chance.sample(_PEOPLE, 3)

    def conversation(self, name: str, start: datetime, size: int) -> Iterator[dict[str, Any]]:
        """Yield the records of a journal."""
        self.turn_to(self._chance.randrange(len(self._subjects)))
        yield {"meta": {"format": 1, "id": name, "started": start.isoformat(), "channel": self._subject}}
        for number in range(1, size + 1):
            own = number % 2 == 1
            time = f"{start + timedelta(seconds=40 * number):%Y-%m-%dT%H:%M:%S}.000Z"
            record = {"n": number, "ts": time, "role": "user" if own else "assistant", "content": self.turn(own)}
            yield record | ({"name": self._people[0]} if own else {})

    def turn(self, own: bool) -> str:
        if not own:
            return " ".join(self.sentence(_ANSWERING) for _ in range(2 + int(3 * self._chance.random())))
        patterns = [_TELLING, _ASKING] if self._chance.random() < 0.5 else [_ASKING, _TELLING, _TELLING]
        return " ".join(map(self.sentence, patterns[: 1 + int(3 * self._chance.random())]))

    def sentence(self, patterns: tuple[str, ...]) -> str:
        pattern = self._pick(patterns)
        while "{noun}" in pattern:  # choose again for each, so that two nouns seldom repeat
            pattern = pattern.replace("{noun}", self._noun(), 1)
        return pattern.format(
            verb=self._pick(_VERBS),
            kind=self._pick(_KINDS),
            name=self._pick(self._people),
            when=self._pick(_WHEN),
            number=int(1 + 400 * self._chance.random() ** 3),
            rare=self._chance.choices(self._rare, cum_weights=self._weights)[0],
        )

    def _noun(self) -> str:
        if self._chance.random() < 0.15:  # sometimes leave the subject
            return self._pick(self._pick(self._subjects)[1])
        return self._pick(self._nouns)

    def _pick(self, things: Sequence[Thing]) -> Thing:
        return things[int(len(things) * self._chance.random())]
