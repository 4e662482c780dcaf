"""Recognize questions about past conversations: a summary of recent ones, of this one, or one particular statement.

Pure: takes text, returns a word. Only for models that cannot search themselves; a miss costs little, so doubt means no.
"""

import re
from typing import Literal

Past = Literal["recent", "this", "said", ""]

_TALKS = (
    r"conversations?|chats?|discussions?|sessions?|talks?|gespräche?n?|unterhaltung(?:en)?|unterredung(?:en)?|échanges?|"
    r"discussions|conversaciones|conversación|charlas?"
)
_SUM_UP = (
    r"summar(?:y|i[sz]e|ies)|sum up|recap|overview|digest|zusammenfass\w*|fass\w*|überblick|résum\w*|récapitul\w*|"
    r"resum\w*|recapitul\w*"
)
# Words for the user's own conversations; discussions in files or of other people are not in the journals.
_OURS = (
    r"my|our|we|i|us|recent|latest|last|past|today'?s?|yesterday'?s?|unsere?\w*|meine?\w*|wir|letzte\w*|mes|nos|nous|"
    r"récent\w*|derni\w*|mis|nuestr[ao]s?|recientes?|últim[ao]s?"
)
_LATELY = r"(?:recent\w*|lately|today|yesterday|last|past|week|month|so far)"
_RECENT = (
    rf"(?i)\b(?:{_SUM_UP})\b(?=.{{0,80}}\b(?:{_OURS})\b).{{0,60}}\b(?:{_TALKS})\b|"
    rf"\b(?:{_OURS})\b.{{0,40}}\b(?:{_TALKS})\b.{{0,40}}\b(?:{_SUM_UP})\b|"
    rf"\b(?:{_SUM_UP})\b.{{0,40}}\bwhat (?:i|we)(?:'ve| have)? "
    r"(?:did|done|do|been doing|discussed|talked|worked|said)\b|"
    r"\bwhat (?:have|did) (?:i|we) (?:do|done|discuss\w*|talk\w*|work\w*|been (?:doing|talking|working))\b"
    rf"(?! wrong).{{0,40}}\b{_LATELY}\b|"
    rf"\bwhat (?:was|were|have|had) (?:i|we) (?:doing|working on|talking about|(?:been )?up to)\b"
    rf".{{0,40}}\b{_LATELY}\b|"
    rf"\b(?:{_SUM_UP})(?: of)? (?:(?:my|our|this|(?:the )?(?:last|past)) (?:day|week|month|few days)|yesterday)\W*$|"
    r"\bworüber haben wir\b.{0,40}\bge(?:sprochen|redet)\b|\bwas habe(?:n wir| ich)\b.{0,40}\b(?:gemacht|getan)\b|"
    r"\bworan habe(?:n wir| ich)\b.{0,40}\bgearbeitet\b|"
    rf"\b(?:{_SUM_UP})\b.{{0,20}}\bwas (?:ich|wir)\b.{{0,60}}"
    r"\b(?:gemacht|getan|besprochen|gesprochen|gesagt|gearbeitet)\b|"
    r"\bde quoi (?:avons-nous|nous avons|on a) parlé\b|\bqu'(?:avons-nous|ai-je) fait\b|"
    rf"\b(?:{_SUM_UP})\b.{{0,20}}\bce (?:que j'ai|que nous avons|qu'on a) (?:fait|dit|discuté)\b|"
    r"\bqu'est-ce (?:que j'ai|que nous avons|qu'on a) fait (?:cette|hier|aujourd'hui|récemment|la semaine|ce mois)|"
    r"\bde qué hablamos\b|\bqué (?:hice|hicimos)\b|"
    rf"\b(?:{_SUM_UP})\b.{{0,20}}\blo que (?:hice|hicimos|hablamos|dijimos|he hecho|hemos (?:hecho|hablado))\b|"
    r"(?:总结|總結|概括).{0,12}(?:对话|對話|聊天|会话)|(?:总结|總結|概括).{0,8}(?:最近|这周|本周|上周|今天|昨天).{0,4}(?:工作|事)|"
    r"(?:最近|这周|本周|上周|今天|昨天).{0,8}(?:聊|谈|說|说|做)了?(?:些)?什么"
)
_THIS = (
    rf"(?i)\b(?:{_SUM_UP})\b.{{0,20}}\b(?:this|our current|diese[sr]?|dieses|cette|esta)\b.{{0,20}}\b(?:{_TALKS})\b|"
    r"总结.{0,4}这(?:次|个|段).{0,2}(?:对话|聊天|会话|谈话|讨论)"
)
_SAID = (
    r"(?i)\b(?:did|have|had) (?:we|i|you)(?: \w{3,8}){0,2} (?:decided?|agreed?|discuss(?:ed)?|talk(?:ed)? about|"
    r"sa(?:y|id)|tell|told|mention(?:ed)?|settled?|concluded?|ask(?:ed)?)\b(?<!mean to say)|"
    r"\b(?:what|when|where|why|how|which|who)\b.{0,40}\b(?:we|i|you) (?:decided|agreed|discussed|talked about|said|"
    r"told|mentioned|settled|concluded|asked)\b|"
    r"\b(?:do you )?remember (?:when|what|how|that time)\b|\bas (?:we|i) (?:discussed|said|mentioned)\b|"
    r"\blast time we\b|"
    r"\bwas (?:haben wir|habe ich|hatten wir)\b.{0,60}\b(?:beschlossen|entschieden|gesagt|besprochen|vereinbart)\b|"
    r"\bqu(?:'avons-nous|'est-ce que nous avons|'est-ce qu'on a) (?:décidé|dit)\b|"
    r"\bqué (?:decidimos|dijimos|acordamos)\b|"
    r"我们.{0,16}(?:决定|说|讨论|商量)(?:了|过)"
)
# One of our verbs where a command can start, after assignments and our global options.
_SHOWS = (
    r"(?:^|[|&;({`!\n])\s*(?:(?:[A-Za-z_]\w*=\S*|command|exec|env|nice|time|sudo)\s+)*(?:\S*/)?"
    r"(?:python[\d.]*\s+-m\s+)?aish\s+(?:-\S+\s+(?:[\w.]+=\S+\s+)?)*(?:search|recent|thread)(?![\w.=/-])"
)
_LONGEST = 400  # characters; a longer question brings its own material
_SCRIPT = 4_000  # characters of a command to search


def asks_about_past(typed: str) -> Past:
    """Return which part of the past a question is about; empty if none."""
    text = " ".join(typed.replace("’", "'").split())
    if len(text) > _LONGEST:
        return ""
    if re.search(_THIS, text):
        return "this"
    if re.search(_RECENT, text):
        return "recent"
    return "said" if re.search(_SAID, text) else ""


def shows_past(command: str) -> bool:
    """Does a command print past conversations?"""
    return "aish" in command and re.search(_SHOWS, command[:_SCRIPT]) is not None
