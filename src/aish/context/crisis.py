"""Detect a message from a person in crisis. The prompt then gets a supportive directive, and memory keeps nothing.

The phrases are data, by language. They are few and explicit, to avoid false alarms on everyday text such as `kill`.
Pure: takes text, returns a boolean.
"""

import re
import unicodedata
from functools import cache

CARE = """\
The last message may come from a person in crisis. Before anything else answer warmly, briefly and without judging;
take it seriously, do not lecture and do not diagnose. Encourage them to talk to somebody they trust and, if there is
danger now, to call the local emergency number or a crisis line (in many countries 112, 911 or 988). Offer to go on
talking. Suggest no commands."""

PHRASES = {
    "English": """i want to die|i wanna die|i want to kill myself|i will kill myself|i'm going to kill myself|
        i am going to kill myself|thinking about killing myself|thinking of killing myself|thoughts of suicide|
        suicidal thoughts|i am suicidal|i'm suicidal|i feel suicidal|i want to end my life|end it all tonight|
        take my own life|i don't want to live anymore|i do not want to live any more|i don't want to be alive|
        no reason to live|better off without me|i want to hurt myself|i keep hurting myself|i cut myself again|
        i can't go on living|i don't want to wake up anymore""",
    "German": """ich will sterben|ich möchte sterben|ich will nicht mehr leben|ich möchte nicht mehr leben|
        ich bringe mich um|ich will mich umbringen|ich werde mich umbringen|selbstmordgedanken|suizidgedanken|
        ich denke an selbstmord|ich denke an suizid|mir das leben nehmen|keinen sinn mehr im leben|
        ich verletze mich selbst|alle wären ohne mich besser dran""",
    "French": """je veux mourir|j'ai envie de mourir|je vais me tuer|je veux me tuer|envie de me tuer|me suicider|
        pensées suicidaires|je ne veux plus vivre|j'ai plus envie de vivre|en finir avec la vie|mettre fin à mes jours|
        je me fais du mal""",
    "Spanish": """quiero morir|quiero morirme|me quiero morir|quiero matarme|me voy a matar|voy a suicidarme|
        quiero suicidarme|pensamientos suicidas|no quiero vivir más|no quiero seguir viviendo|ya no quiero vivir|
        acabar con mi vida|quitarme la vida|hacerme daño""",
    "Portuguese": """quero morrer|quero me matar|vou me matar|pensamentos suicidas|não quero mais viver|
        acabar com a minha vida|tirar a minha vida|penso em suicídio""",
    "Italian": """voglio morire|voglio uccidermi|voglio ammazzarmi|mi voglio ammazzare|pensieri suicidi|
        non voglio più vivere|farla finita con la vita|togliermi la vita|penso al suicidio""",
    "Dutch": """ik wil dood|ik wil sterven|ik wil niet meer leven|ik ga mezelf van kant maken|ik wil zelfmoord plegen|
        zelfmoordgedachten|een einde aan mijn leven""",
    "Polish": """chcę umrzeć|chcę się zabić|zabiję się|myśli samobójcze|nie chcę już żyć|odebrać sobie życie""",
    "Turkish": """ölmek istiyorum|kendimi öldürmek istiyorum|kendimi öldüreceğim|intihar etmek istiyorum|
        intihar düşünceleri|artık yaşamak istemiyorum""",
    "Russian": """хочу умереть|хочу покончить с собой|покончу с собой|убью себя|хочу убить себя|не хочу больше жить|
        не хочу жить|мысли о самоубийстве|суицидальные мысли""",
    "Ukrainian": """хочу померти|хочу вбити себе|покінчити з собою|не хочу більше жити|думки про самогубство""",
    "Arabic": "أريد أن أموت|اريد ان اموت|أريد قتل نفسي|سأقتل نفسي|أفكر في الانتحار|لا أريد أن أعيش",
    "Hindi": "मैं मरना चाहता हूँ|मैं मरना चाहती हूँ|मैं जीना नहीं चाहता|मैं जीना नहीं चाहती|आत्महत्या करना चाहता|आत्महत्या करना चाहती",
    "Chinese": "我想死|我不想活了|不想活下去|想自杀|想自殺|我要自杀|我要自殺|结束自己的生命|結束自己的生命|活着没意思",
    "Japanese": "死にたい|消えてしまいたい|自殺したい|もう生きたくない|生きていたくない|命を絶ちたい",
    "Korean": "죽고 싶어|죽고 싶다|자살하고 싶|자살 생각|살고 싶지 않|목숨을 끊고",
}
_NOT_SO = r"to die (?:of laughter|laughing|on this hill)|morir(?:me)? de (?:risa|hambre)|mourir de (?:rire|faim)"


def shows_crisis(text: str) -> bool:
    """Does this text say that the user's own life or health is in danger?"""
    plain = " ".join(unicodedata.normalize("NFKC", text[:20_000]).replace("’", "'").casefold().split())
    plain = re.sub(_NOT_SO, "", plain) if any(word in plain for word in ("die", "mori", "mouri")) else plain
    return any(_says(plain, phrase) for phrase in _phrases())


@cache
def _phrases() -> list[str]:
    return [" ".join(one.split()) for text in PHRASES.values() for one in text.split("|")]


def _says(text: str, phrase: str) -> bool:
    """Is the phrase in the text, as whole words? Plain search: an expression of all phrases takes 8 ms to compile."""
    at = text.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        if not _spaced(phrase) or not (_is_letter(text[at - 1 : at]) or _is_letter(text[end : end + 1])):
            return True
        at = text.find(phrase, at + 1)
    return False


def _is_letter(text: str) -> bool:
    return text == "_" or text.isalnum()


def _spaced(phrase: str) -> bool:
    """Does this language put spaces between words? In others a phrase may occur in the middle of a text run."""
    return not any("\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7a3" for letter in phrase)
