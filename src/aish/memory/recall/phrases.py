"""Phrases by which a question shows what it wants. English, German, French, Spanish, Chinese and Japanese.

Pure: one regular expression per line, case does not matter; a line that starts with # is a comment. A new
language is a few lines in each table.
"""

import re

# Where the work stands: "where were we", "how far did I get", "continue".
_STATE = r"""
    # English
    \bwhere (?:were|was|are|am|did) (?:we|i)\b|\b(?:left|leave) off\b
    \b(?:i|we) (?:stop(?:ped)?|leave|left)\b|\bhow far\b(?! away)
    \b(?:state|status|progress) of\b
    \bhow (?:is|are|'s)\b.{0,40}\b(?:going|coming|doing)\b|^continue\b
    \b(?:continue|resume|carry on|pick up)\b.{0,20}\b(?:with|where|today|work)\b
    \blet'?s (?:continue|go on)\b
    \b(?:what|which)(?: \w+)? (?:was|were|am|are|is) (?:i|we)\b.{0,30}(?:\b\w+ing\b|\bon\b|\bat\b)
    \b(?:what|which)(?: \w+)? (?:was|were|am|are|is) (?:i|we)\b.{0,30}(?:\bup to\b)
    \b(?:right now|at the moment|in progress|under way|currently)\b
    \bwhat(?:'s| is) running\b|\b(?:i|we) was\b
    \b(?:does|do|did)(?:n't| not) work yet\b
    \bwhat(?:'s| is| was) (?:broken|wrong with)\b|\bthe status\b
    \b(?:half|partly) done\b
    # German
    \bwo (?:waren|sind|war|bin|stand|stehen)\b.{0,40}\b(?:wir|ich|stehen|geblieben|dran)\b
    \bwie weit\b
    \b(?:stand|status) (?:der|des|von|bei)\b
    \bmach(?:en wir)? weiter\b
    \bweiter(?:machen)? mit\b
    \bworan\b.{0,30}\b(?:arbeite|gearbeitet|war)
    \bgerade\b.{0,20}\b(?:lauf|läuft|mach)
    # French
    \boù (?:en|j'en|nous)\b
    \bo[uù] (?:en )?(?:est|sont|étais|étions|suis)\b
    \bcontinue(?:r|z|ons)?\b
    \bsur quoi (?:je|on|nous)\b|\ben cours\b|\bl'état d
    # Spanish
    \b(?:en qué|dónde) (?:estaba|estábamos|estoy|estamos|quedamos|me quedé|nos quedamos|iba|íbamos)\b
    \bcómo va\b
    \bcontinu(?:a|ar|emos)\b
    \bsig(?:ue|amos|o) con\b|\ben curso\b
    # Chinese
    (?:做|写|进行|整理|改)到(?:哪|什么)|到哪(?:里|儿|了|一步)|进度|进展|继续|正在|刚才在
    # Japanese
    どこまで|続き|続けて|進捗|進み具合|何をして(?:い|た)|今(?:の)?状(?:態|況)|途中(?!で)
"""
# What is open: "what's next", "what do I still need".
_OPEN = r"""
    # English
    \bwhat(?:'s| is| comes)? next\b
    \bnext (?:step|task|thing)s?\b|\bto-?dos?\b
    \bstill\b.{0,30}\b(?:need|have to|has to|must|missing|open|to do|wait\w*|require|left|want|speak)\b
    \bstill\b.{0,30}\b(?:use|to)\b
    \b(?:left|remain(?:s|ing)?|unfinished|outstanding|pending|missing|open on|waiting for|wait for)\b
    \bneeds? to be\b|\b(?:has|have) to be\b|\bmust be (?:re)?d\w+|\bnot (?:yet|done)\b
    \byet\b
    \bwhat should (?:i|we)\b
    \bwhat (?:do|must) (?:i|we) (?:have to|need to|clean|prepare|buy)\b|\bis open\b
    \bstill open\b|\bshort\?
    \bdo (?:i|we) (?:still )?(?:need|have to)\b
    # German
    \bals nächstes\b|\bnächste[rn]? schritt|\bfehl(?:t|en)\b
    \b(?:noch|muss ich|müssen wir)\b.{0,40}\b(?:tun|machen|kaufen|offen|besorgen|erledigen|übrig|zu)\b
    \bsteht (?:noch )?an\b|\bzu tun\b|\boffen\b
    # French
    \bensuite\b|\bprochaine étape\b|\breste(?:-t-il|nt|)\b|\bà faire\b|\bmanque(?:nt)?\b
    \b(?:dois|devons|faut)\b.{0,20}\bencore\b
    \bencore\b.{0,20}\b(?:à|acheter|faire)
    # Spanish
    \bqué (?:sigue|falta|queda)\b|\bfaltan?\b
    \bqueda(?:n)? (?:por|pendiente)|\bpendientes?\b|\bpróximo paso\b
    \btodavía\b.{0,30}\b(?:tengo|hay|falta)
    # Chinese
    接下来|下一步|还(?:要|需|差|缺|没|有什么)|待办|剩下|没(?:做|完成)|该做
    # Japanese
    次(?:に|は|の(?:作業|ステップ))|残って|まだ|やること|未完|しなければ|べきこと
"""
# Trouble that may have happened before: "again", "last time", "fails with".
_TROUBLE = r"""
    # English
    \b(?:again|last time|any(?:thing)? (?:idea )?from before|have we (?:seen|had))\b
    \b(?:seen (?:that|this) before|happen(?:ed)? before|known (?:problem|issue|bug))\b
    \b(?:fail(?:s|ed|ing|ure)?|crash\w*|dies|died|hangs?|hung|freez\w+|froze|broken?|breaks|stuck)\b
    \b(?:error|exception|kill(?:s|ed)|refus\w+|denied|offline|timeouts?|times? out|out of memory)\b
    \b(?:blank|trouble|complain\w*|hurts?)\b
    \b(?:does(?:n't| not) (?:work|start|run|trust|balance|load|build|compile|respond|connect))\b
    \b(?:(?:stays?|turns?) (?:white|black|yellow)|cannot|can't|unable|locked|too large|bad gateway)\b
    \b(?:lose|lost|stale)\b
    \bwhat (?:was|were) the (?:trick|cause|reason|fix|solution|problem)\b
    \bwhat (?:helped|happened|went wrong|was wrong|did we do about)\b
    \bhow did (?:we|i) (?:solve|fix|repair|get around)\b|\bpast causes?\b|\bwhat was it\b
    \bwhat could be the (?:reason|cause)\b
    # German
    \b(?:wieder|schon mal|letztes mal|beim letzten mal|woran lag|was war der grund|was half)\b
    \b(?:fehler\w*|stürzt|abgestürzt|hängt|kaputt|klappt nicht|geht nicht|funktioniert nicht)\b
    \b(?:wird nichts?|fehlten|schlägt fehl|fehlgeschlagen)\b
    # French
    \b(?:encore (?:disparu|planté|échoué)|la dernière fois|de nouveau|échou\w+|plant[ée]\w*|erreur)\b
    \b(?:en panne|ne (?:marche|fonctionne) (?:pas|plus)|a sauté|refusé\w*)\b
    # Spanish
    \b(?:otra vez|de nuevo|la (?:otra|última) vez|fall(?:a|ó|aron)|error)\b
    \b(?:no (?:funciona|arranca|va)|se (?:cae|paró|bloquea)|se ven? rar\w+)\b
    # Chinese
    上次|又(?:没|不|收|出|失|坏|崩)|失败|报错|出错|崩溃|什么原因|怎么回事|连不上|没反应|打不开|坏了
    # Japanese
    また.{0,12}(?:落ち|止ま|出な|失敗|エラー)|前回|原因|失敗|エラー|落ち(?:た|る)|動かない|出ない|直し(?:た|方)
    止まった|壊れ
"""
# A reason: "why did we".
_WHY = r"""
    # English
    \bwhy\b|\bhow come\b
    \breasons? (?:for|why)\b|\bwhat made (?:us|me)\b
    # German
    \b(?:warum|wieso|weshalb)\b
    # French
    \bpourquoi\b
    # Spanish
    \bpor qué\b
    # Chinese
    为什么|为何
    # Japanese
    なぜ|どうして
"""
# What was true earlier: "before", "previously", "used to".
_PAST = r"""
    # English
    \bbefore\b(?! (?:i|we|you|they|it|he|she)\b)
    \b(?:previous|previously|originally|formerly|initially|at first|in the past|years? ago|back then)\b
    \b(?:used to|in the beginning|at the beginning|earlier|once|supposed to be|start(?:ed)? with|former)\b
    \blast (?:year|spring|summer|autumn|fall|winter|semester|season)\b
    # German
    \b(?:früher|vorher|zuvor|ursprünglich|davor|damals|ehemals|bisher|letztes jahr|am anfang|anfangs)\b
    \bvor (?:der|dem) (?:umstellung|wechsel)\b
    # French
    \b(?:avant|auparavant|précédemment|à l'origine|autrefois|jadis|l'année dernière|au début|jusqu'ici)\b
    # Spanish
    \b(?:antes|anteriormente|previamente|originalmente|al principio|el año pasado|antiguamente)\b
    # Chinese
    以前|之前|原来|当初|去年|过去|最初|本来|从前|曾经
    # Japanese
    以前|前は|昔|元々|もともと|去年|昨年|最初は|当初|かつて
"""
# A person: "who", "whom".
_WHO = r"""
    # English
    \b(?:who|whom|whose|who's)\b
    \bwhich (?:person|colleague)\b|\bcontact\b
    # German
    \b(?:wer|wen|wem|wessen)\b
    # French
    \b(?:qui|à qui)\b
    # Spanish
    \b(?:quién|quiénes)\b
    # Chinese
    谁
    # Japanese
    誰|どなた
"""
# A moment: "when", "until when".
_WHEN = r"""
    # English
    \b(?:when|what (?:time|date|day)|which day|due|deadline|how often|until when|by when)\b
    # German
    \b(?:wann|bis wann|an welchem tag|um wie viel uhr)\b
    # French
    \b(?:quand|à quelle (?:heure|date)|quel jour)\b
    # Spanish
    \b(?:cuándo|a qué hora|qué día)\b
    # Chinese
    什么时候|几点|哪天|何时|哪一天
    # Japanese
    いつ|何時|何日|締切
"""
# An amount: "how many", "how big".
_AMOUNT = r"""
    # English
    \bhow (?:many|much|big|large|long|fast|old|high|small|far)\b
    \b(?:cost|price|budget|limit|fee)s?\b|\bnumber of\b
    # German
    \b(?:wie viele?|wieviele?|wie (?:groß|lange|hoch|schnell)|kostet)\b
    # French
    \b(?:combien|quel(?:le)? (?:taille|prix|montant))\b
    # Spanish
    \b(?:cuánt[oa]s?|precio)\b
    # Chinese
    多少|几个|多大|多久|多长
    # Japanese
    いくら|いくつ|何人|どのくらい|どれくらい
"""
# A piece of work: "write …", "merge …", "can I add …".
_WORK = r"""
    # English
    ^(?:add|adjust|apply|assign|build|book|buy|calculate|cancel|change|check|choose|clean|commit)\b
    ^(?:compare|configure|convert|cook|copy|create|cut|delete|deploy|design|draft|draw|edit|extend)\b
    ^(?:fill|fix|format|generate|implement|import|increase|install|invite|log|make|merge|migrate)\b
    ^(?:move|open|order|organise|organize|paint|pick|plan|post|prepare|print|proofread|propose)\b
    ^(?:publish|push|put|raise|reboot|reduce|refactor|register|release|remove|rename|renew|replace)\b
    ^(?:reply|report|reserve|restart|review|rewrite|rotate|run|scale|schedule|send|set|shorten|sort)\b
    ^(?:start|stop|style|suggest|summarise|summarize|switch|take|test|translate|tweak|update|upgrade)\b
    ^(?:upload|write)\b
    ^(?:give|show) me\b
    \b(?:should|shall|may|can|could) (?:i|we)\b
    \b(?:do|would|how do|how would) i (?:like|prefer|want)\b
    \bexplain\b.{0,60}\bto me\b
    # German
    ^(?:bitte )?(?:schreib|erstell|mach|füg|leg|trag|plan|bereite|schick|bau|zeichne|ändere|lösch)\w*\b
    ^(?:bitte )?(?:such|stell|formulier|entwirf|prüf|buch|schlag)\w*\b
    \b(?:soll|darf|kann|sollen|dürfen|können) (?:ich|wir|man)\b
    # French
    ^(?:écris|rédige|ajoute|prépare|crée|fais|mets|envoie|propose|renouvelle|corrige|génère)\w*\b
    ^(?:planifie|supprime|modifie|imprime|dessine)\w*\b
    \b(?:puis-je|dois-je|peut-on|est-ce que je (?:peux|dois))\b
    # Spanish
    ^(?:escribe|añade|agrega|crea|prepara|haz|pon|envía|propón|sugiere|genera|corrige|llama|abre)\w*\b
    ^(?:planifica|borra|redacta|diseña|recomienda)\w*\b
    \b(?:puedo|debo|podemos|debería|pongo)\b
    # Chinese
    ^(?:请|帮我|帮忙)?(?:写|做|创建|生成|添加|加|改|设|画|安排|准备|推荐|发|起草|订|翻译|整理)
    ^(?:请|帮我)?给.{1,8}(?:写|推荐|做|发|准备|回复|买|订)
    帮我|一段|可以.{0,20}吗
    # Japanese
    (?:作って|書いて|直して|送って|考えて|選んで|調べて|決めて|ください|して)[。\s]*$
    てもいい
"""

INTENTS = {
    "state": _STATE,
    "open": _OPEN,
    "trouble": _TROUBLE,
    "why": _WHY,
    "past": _PAST,
    "who": _WHO,
    "when": _WHEN,
    "amount": _AMOUNT,
    "work": _WORK,
}

# The form of a question about the world, not about the user: "what is a …", "who invented …", "explain …".
GENERAL = r"""
    # English
    ^(?:what|who)(?:'s| is| are| was| were| does| do| did)\b
    ^who \w+(?:ed|ote|on|ew|ade|ang)\b
    ^how (?:do|does|did|is|are|can)\b
    ^how (?:many|much|far|long|tall|high|old|big|fast)\b
    ^(?:when|why|where) (?:did|was|were|is|are|do|does)\b
    ^which \w+ (?:is|are|has|have|was)\b
    ^what (?:year|country|city|language|animal|colou?r)\b
    ^(?:explain|define|translate|convert|describe|tell me about|recommend)\b
    ^(?:write|compose|tell)(?: me)? an? (?:\w+ )?(?:poem|haiku|joke|story|song|limerick|regex|recipe)\b
    ^give me an? (?:poem|joke|recipe)\b
    ^(?:is|are|does|do|can) (?:a|an|the )?\b
    ^(?:best|good|regex|sql|python|bash|code|command|solve|name|list|formula|recipe|synonym\w*)\b
    ^(?:meaning|capital|difference)\b
    # German
    ^(?:was|wer|warum|wo|wann) (?:ist|sind|war|waren|hat|haben|bedeutet|heißt)\b
    ^wie (?:funktioniert|hoch|weit|groß|alt|viele?|lange|kocht|macht man|geht|heißt)\b
    ^(?:erklär\w*|übersetze?|nenne)\b
    # French
    ^(?:quelle?s?|qui|que|qu'est-ce qu[ei']|pourquoi) (?:est|sont|a|était|la|le|les)\b
    ^(?:combien|comment)\b
    ^(?:explique|traduis|raconte)\w*\b
    # Spanish
    ^(?:qué|quién|cuál|cuáles|por qué) (?:es|son|fue|el|la|significa|\w+ó)\b
    ^(?:cuánt\w+|cómo)\b
    ^(?:explica|traduce|recomiéndame|cuéntame)\w*\b
    # Chinese
    (?:是什么|多高|多远|有几|有多少|谁发明|首都|翻译|怎么)|^(?:什么是|用\w+怎么|解释|把)
    # Japanese
    とは
    (?:高さ|速さ|直径|首都|意味|人口|歴史)は|(?:一つ|ひとつ)作って|翻訳|説明して
"""
# Words by which a question shows that it is about the user's own things.
PERSONAL = r"""
    # English
    \b(?:my|our|ours|mine|we|us|we've|i'm|i've|ourselves)\b
    \b(?:did|do|was|am|have|had|must|should|shall|will) i\b(?<!how do i)|^(?:can|may) i\b
    \bi (?:was|am|have|did|had|use|wrote|need|want|must|stop\w*|got|started|finished)\b
    \b(?:still|again|last time|yet)\b|\bto me\b|\btonight\b|\btomorrow\b
    # German
    \b(?:wir|uns|unser\w*|mein\w*|mir)\b
    \b(?:noch|wieder|schon mal|letztes mal)\b
    \b(?:habe|muss|kann|soll|darf) ich\b
    # French
    \b(?:mon|ma|mes|notre|nos|nous|j'ai|j'en|je)\b
    \bon (?:a|est|fait|doit|peut|avait|utilis\w+)\b|-t-on\b
    \b(?:encore|la dernière fois)\b
    # Spanish
    \b(?:mi|mis|nuestr[oa]s?|nos|tenemos|tengo|estaba|estábamos|llevamos|llevábamos|teníamos)\b
    \b(?:todavía|otra vez|aún)\b
    # Chinese
    我(?!国)|咱|上次|还(?!是)|又
    # Japanese
    私|僕|うち|また|前回|まだ
"""

# A change away from something; what is no longer so stands beside it.
AWAY = r"""
    # English
    \b(?:from|instead of|rather than|no longer|not|replac\w+|dropped|formerly|away from|in favou?r of)\b
    \b(?:off|left|archived|sold|cancel\w+|retired|deleted|removed|shut down|(?:switched|turned) off)\b
    # German
    \b(?:statt|anstatt|anstelle|nicht mehr|weg von|von|ersetzt|früher|abgelöst|abgeschaltet|gekündigt)\b
    # French
    \b(?:au lieu d[eu']|à la place d[eu']|plus avec|n'est plus|remplac\w+|vendue?|ancien\w*|résilié\w*)\b
    # Spanish
    \b(?:en lugar de|en vez de|ya no|reemplaz\w+|sustitu\w+|antes|anterior)\b
    # Chinese
    不再|取代|代替|取消|而不是|改
    # Japanese
    ではなく|の代わり|取り消|廃止|やめ|変更
"""
# Any sign that something is so since recently.
CHANGES = r"""
    # English
    \b(?:now|moved?|switch\w*|chang\w*|migrat\w*|replac\w*|new|since|no longer|instead of|became|as of)\b
    \b(?:from now on|dropped|archived|deleted|removed|retired|shut down|(?:switched|turned) off)\b
    # German
    \b(?:jetzt|nun|seit|ab sofort|ab jetzt|umgestellt|umgezogen|gewechselt|statt|neu\w*|nicht mehr)\b
    \b(?:verlegt|verschoben|geändert|ersetzt|abgelöst|abgeschaltet|gekündigt)\b
    # French
    \b(?:maintenant|désormais|depuis|remplac\w*|nouve\w+|plus avec|déplac\w*|chang\w*|reporté\w*)\b
    # Spanish
    \b(?:ahora|desde|nuev[oa]s?|ya no|cambi\w*|mud\w*|en lugar de|en vez de|anterior)\b
    # Chinese
    现在|改|换|变更|不再|新
    # Japanese
    変更|変わ|から今|新し|移(?:した|った|動|行)
"""


def joined(table: str) -> re.Pattern[str]:
    """One pattern for a whole table."""
    lines = [line.strip() for line in table.splitlines()]
    return re.compile("|".join(line for line in lines if line and not line.startswith("#")), re.IGNORECASE)
