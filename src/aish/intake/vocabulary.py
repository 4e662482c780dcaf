"""Word lists of English and other languages, and counts of what the words of a typed line look like.

Pure: tables and small rules.
"""

import itertools
import re
from collections.abc import Callable, Sequence

from aish.values.named_tuple import NamedTuple


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


# Function words of a sentence. They are rarely file names and never operands.
SENTENCE = word_set("""
    about actually again already although always am an and any anymore anyone anything are aren't asks be because been
    being between breaks broke but can can't cannot cant comes complains could crashes creates did didn't didnt does
    doesn't doesnt don't dont every everything exits failed fails forever gave gets gives goes got had hangs has have
    he her here his how however hows i i'm if ignores im instead into is isn't isnt it it's its just keeps kept looks
    may maybe me means might must my needs never not nothing of opens or our overwrote please pls plz prints really
    returns said says seems shall she should shows so some somehow someone something starts still stopped stops stuck
    sucks takes tells than thanks that the their them then there these they this those though throws told too took u
    ur versus very vs wants was we went were what whats when where wheres whether which while who whom whos whose
    why will with without won't wont worked works would ya yet you your
""")
# Function words that are also names, operands or keywords: `make all`, `nmcli radio wifi on`, `at now`.
WEAK = word_set("""
    a in on at to for from by as do up out off no all now after before over under only also both next last la de en es
    se con co del dir het kan ma mi ne non os sur us ve
""")
# Function words when they come right after a program: `export to pdf`.
LINKS = word_set("to in for from by as out on off a")
# Function words of other languages that are not names of programs or common files.
FOREIGN = word_set("""
    alle alles apa archivo archivos arquivo arquivos auf aus avec bagaimana befehl bei beim bestand bestanden bir
    bitte bonjour bu c'est carpeta cartella ces cette che ciao comando come commande comment como cosa cual cuando
    cuál cómo danke dans das datei dateien della dem den der des deze dich diese diesen dieser dieses dime directorio
    dit dlaczego donde dossier dove du dónde een ein eine einem einen el elle erreur erro errore ese eso essa esse est
    esta estas este esto estos está están eu existe faire fait faço fehler fichero ficheros fichier fichiers
    fonctionne funciona funktioniert funziona für gdzie geht gli gracias grazie hace hallo hay hoe hola hur hvordan
    hvorfor ich ihr ik ikke il ils ini inte isso ist isto itu için j'ai ja jag jak je jest jij kann kannst kein keine
    kenapa können las le les lo los macht mein meine meinen merci mes meu mich mijn minha mir mis mit moi mon montre
    mostra mostrar mostre muestra nach nasıl neden nee nein nella nerede nicht nie niet nous não obrigado och oder
    onde ordner oui où para pas pasta perché pero peut peux por porque porquê posso pour pourquoi puede puedo qu'est
    quand quando que quel quelle questa questo qui quiero quoi qué saya sie sin sind sono sont são sí tak tengo todas
    todos tous toutes tu tutte tutti um uma un una und une uno vad varför você vom vous waar waarom warum was wat
    welche welcher welches werden wie wieso wir wird wo wordt yang zeig zeige zijn zum zur über в все где для зачем и
    или как когда мне можно мой моя на не нужно покажи почему привет спасибо чем что эта это этот
""")
# Parts of words in scripts without spaces, or with inflected endings.
FOREIGN_PIECES = tuple(
    "什么 怎么 如何 为什么 吗 呢 请 帮我 无法 不能 的 是 怎样 哪 显示 列出 了 怎麼 請 "
    "です ます ください とは の を が は 어떻게 나요 무엇 해줘 왜 ？ 。 ！ كيف ما لماذا".split()
)

# Everyday English, and the nouns and verbs of computing.
CONTENT = word_set("""
    able above absolute account across add address advice ahead alias alive allowed along alternative another
    answer anybody app application argument around array art article ask async asynchronous asyncio audio author
    await background backup bad balance bandwidth bar base basics battery become beer begin
    beginner behind below beside best better big bigger biggest binary birthday bit black block blue bluetooth
    board body book bool boolean boot border boss bottom bound boundary box bracket branch brb break brew
    bridge broadcast broken browser buffer bug bugs build bundle button buy bye byte cable cache calendar
    call callback camera cancel car carriage case cat cause certificate chain change chapter character chart chat
    check checksum cheers child children choose chrome chunk circle city class clean clear click client clipboard
    clock close closure cloud cluster code coffee colleague collection collisions color colour column combine come
    comma command comment commit common community compact company compare comparison compatible compile complete
    component comprehension compress compression computer concept concurrency condition config configuration
    configure confirm conflict connect connection cons console constant constraint container content context
    continue contrast control convert cookie cool copy core corner correctly corrupt cost count counter country
    course coverage crash create credential cross crypt currency current cursor curve custom customer cut cycle damn
    dark dash dashboard data database date day days dead deadline deadlock debug decimal declaration decode
    decorator decrease deep default definition delay delete delimiter denied dependencies dependency deploy
    deployment describe design destination detached detail device diagram dialog dictionary diff difference
    different difficult digit dinner direct directories directory disable disconnect disk display distance
    distribution divide doctor document documentation dog domain door double down download draft drag drive driver
    drop dump duplicate duration dynamic easy edge edit editor effect efficient eh element else email empty
    enable encode encrypt end endpoint engine enter enum env environment equal equivalent erase error escape essay
    estimate evaluate event everybody everywhere exact example exceeded exception exclude execute exhausted exit
    expand expert expired explain explicit explorer exponential export expose expression extension external extract
    fact fail failure false family fancy fast faster fault favorite feature feed fetch few field figure file
    filename filesystem fill filter final find fine fingerprint finish firefox firewall first fish fit five fix flag
    flow folder follow font food force foreach foreground foreign forget fork form format forward four
    fraction frame framework free frequency friend front frozen full function funny game garbage gateway generate
    generic get gigabytes give global good goodbye gotcha grab grammar graph graphics great green grid group growth
    guess guide half handle handler hang happen hard hardware hash hate head header headless heap height hello
    help hey hi hibernate hidden hide high highlight hint history hmm holiday home homework hook hope horizontal
    host hostname hour house huh icon idea identical identity idk idle ignore illegal image import improve include
    increase indent indentation index infinite info information inheritance init inner input insert inside inspect
    install installation instance instruction integer integration interactive interface intermediate internal
    internet interpreter interval interview introduction invalid inverse isolation issue item iterate iterator
    itself jar job jobs join joke jump keep kernel key keyboard keys kids kill kilobytes kind kitchen know label
    lambda language laptop large larger largest latency later latest law layer layout lazy leak learn least leave
    left length less lesson let letter level lib libraries library license life lifetime light lightweight like
    limit line linear liner link linker linter list listen listener literal live load loader local locate location
    lock log login logs lol long look lookup loop loss lost loud love low lower lowercase lunch machine macro magic
    mail mailbox main make makefile malware man manage manager manual many margin market mask master match math
    matrix matter maximum mean measure media megabytes memory menu merge message metadata method metric middle
    migrate migration milk minimal minimize minimum minute mirror mistake mixed mobile mode model module money
    monitor month more most mount mouse move movie much music mutable mutex myself nah name namespace
    native near need negative neither nested network new newline news nice night nobody noise nope notation
    note notebook notice notification np null number numeric object office offline offset ok okay old oldest omg one
    online oops open operation operator opposite optimize option optional order origin original orphan other
    otherwise output outside overflow overhead override overwrite own owner ownership package packet page pain pairs
    panel paper paragraph parallel param parameter parent parentheses parse parser part partial partition party pass
    passphrase password paste patch path pattern pause peace peer people per percent percentage performance
    permanent permission person phone photo physical physics pick picture pid piece pipe pipeline pixel pizza place
    placeholder plain plan platform play plot plugin pod pods poem point pointer policy poll pool
    popular port position positive possible power practice precision prefer prefix presentation preserve pretty
    prevent previous price primary prime principle print printer priority private privilege problem process producer
    product production profile program project promise prompt proper property pros protocol prove provider proxy
    pseudo public pull purpose push put quality query question queue quick quiet quit quota quote race radio rain
    random range rank rate raw reached read readable readme ready real reason rebase reboot receive recent recipe
    recommend record recover recovery recursion recursive red redirect reduce refactor reference refresh refuse
    register registry regression rejected related relative release reliable reload remember remind remote remove
    rename repair repeat replace replica repo report repository representation request require reserved reset resize
    resolution resolve resource response responsive rest restart restore restrict result retry return reusable
    reverse revert review revision rewrite right road robust role rollback room root rotate rotation route router
    routine rows rule run runtime safe sales same sample sandbox sandwich save say scale scan scanner schedule
    scheduler schema school science scope score screen script scroll sdk search second secret section secure
    security see segment select self semantic send sense sensitive sentence separate separator sequence sequential
    serial serialize server service session set setup several shadow shape share shebang shell shift shop short
    shortcut shorten show shrink shut side signal signature signed silent similar simple simplify simply simulate
    since single site size skill skip sky slash sleep slice slots slow slower small smaller smart snippet
    socket software solution solve song soon sorry sort sound source space spam spawn speaker special specific
    speech speed split spreadsheet squash sry stable stack standalone standard stands start startup stash state
    statement static statistics status stay stderr stdin stdout step stock stop storage store story strange strategy
    stream strict strip structure stuff style subdirectories subdirectory subject submodule subnet suffix suggest
    suite sum summarise summarize summer sup support sure suspend swap swarm switch symbol symbolic symlink sync
    synchronous synonym syntax system tab table tabs tag tail take talk tarball target task tax tea teach team tell
    template temporary terminal test text thank theory thesis think third thorough thread three through throughput
    throw thx ticket time timeout timer timestamp timezone tiny title today toggle token tomorrow tool top topic
    total touch toward trace track traffic train transaction transfer transform translate transparent traverse tree
    trick trigger trim trouble true truncate try tune tunnel tuple turn tutorial tweak twice two ty type typo
    undefined undo unexpected uninstall union unique unit universal unknown unlock unpack unreachable unsigned until
    untracked unused update upgrade upload upon upper uppercase upstream usage usb use user username utility
    vacation valid validate validation value variable vector vendor verbose verify version vertical via video view
    violation virtual virus visible visit visual voice volume vpn vulnerabilities vulnerability wait wake waldo walk
    wallpaper want war warn wat watch water way weather web website week weight weird welcome wget wheel white
    whitespace whole wide widget width wifi wildcard window winter wireless wish within wizard wonder word work
    worker workflow workspace world worse worst worth wow wrap wrapper write wrong wtf yea yeah year yellow yep yes
    yesterday yo young yourself zero zip zombie zone zoom
""")
# Technical names: words of a request, but not its first word.
TECHNICAL = word_set("""
    apache api ascii aws bash cpu cron css csv debian dns docker emacs excel gb gif git github gitlab go gpu html http
    https ip java javascript jpeg jpg json kafka kb kotlin kubernetes latex linux mac markdown mb mp3 mp4 mysql nginx
    node pdf perl php png podman postgres python ram redis regex ruby rust sql ssh svg systemd tcp txt typescript
    ubuntu udp unicode unix url utf8 vim windows xml yaml zsh
""")

# English words that start a sentence. Followed only by words, they are never run.
STARTERS = word_set("""
    are at break can case continue do done else false for from function help how if import in install is last less let
    more nice no please return say select then time true until wait what when where which while who why write yes
""")
# Words at the end of a remark about a program: `tar tutorial`, `git merge conflict`.
ABOUT = word_set("""
    example examples tutorial tutorials explained cheatsheet syntax documentation alternative alternatives meaning
    conflict conflicts error errors problem problems issue issues slow broken wrong missing timeout help difference
    differences basics options command commands message forbidden mismatch twice questions question failure failures
    permission permissions usage performance
""")
# Those of them that are hardly ever operands of a program.
REMARKS = word_set("""
    alternative alternatives basics broken cheatsheet difference differences documentation example examples explained
    meaning slow syntax tutorial tutorials twice wrong
""")
CONTRASTS = word_set("vs vs. versus")
# Words of questions and requests, which are hardly ever operands.
ASKING = word_set("""
    am are aren't can can't could did didn't do does doesn't don't explained how i'm is isn't me my please should the
    this what what's when where which who why with without won't would you your
""")
AMOUNTS = word_set("two three all both every each multiple several many only specific latest unused certain")


# Inside a list of plain words they make it a sentence: `zfs create a new filesystem`, `gh list items in a project`.
JOINTS = word_set(
    "a an all and another any as at between by each every for from in into of on or per some that to using"
)
ARTICLES = word_set("a an the another some any every")


def is_sentence(words: Sequence[str], clues: "Clues", *, needs_article: bool = False) -> bool:
    """Are these operands words of a sentence, held together by articles or prepositions?"""
    plain = [word.lower() for word in words]
    article = any(word in ARTICLES and after.isalpha() and len(after) > 1 for word, after in itertools.pairwise(plain))
    if clues.flags or clues.total < 3:
        return False
    if article or needs_article:
        return article and clues.wordy > 2 * clues.shell
    return not clues.hard and clues.wordy + clues.numbers >= clues.total - 1 and not JOINTS.isdisjoint(plain[1:-1])


class Clues(NamedTuple):
    """Counts of what the words after the first look like."""

    total: int
    flags: int
    shell: int  # paths, patterns, variables, existing files, quoted strings
    numbers: int
    sentence: int  # words found only in sentences
    asking: int  # those of them that are words of questions and requests
    weak: int  # words often found in sentences
    english: int
    marks: int  # words that end in a comma, colon or exclamation mark

    @property
    def hard(self) -> int:
        """Evidence against a sentence."""
        return self.flags + self.shell

    @property
    def wordy(self) -> int:
        """Words of a natural language."""
        return self.sentence + self.weak + self.english

    @property
    def prose(self) -> bool:
        """Do the sentence words outweigh the shell-like words?"""
        talk = 4 * self.sentence + 2 * self.weak + self.english + 4 * self.marks + (self.sentence > 1)
        return bool(self.sentence or self.marks) and talk > 4 * self.hard + self.numbers


MAX_WORDS = 30  # words to look at; more would not change the result


def clues_in(words: Sequence[str], exists: Callable[[str], bool] | None = None) -> Clues:
    """Count the clues in these words."""
    found = dict.fromkeys(Clues._fields, 0)
    some = words[:MAX_WORDS]
    for place, word in enumerate(some):
        core = word.rstrip(",.;:!?…")
        lonely = len(core) == 1 and core.islower() and len("".join(some[place + 1 : place + 2])) < 2  # `touch a b`
        if word.strip("!.:") == "" and (word != "!" or place + 1 < len(some)):  # `a b ...`, `test ::`, `source ! sink`
            continue
        if lonely or (word.isupper() and word.isalpha() and len(word) > 3):
            continue
        look = _look(word, core)
        if look != "sentence" and exists and exists(word):
            look = "shell"
        if look == "mark":
            found["marks"] += word[-1] != "?" or place < len(words) - 1
            look = _language(core)
        if look:
            found[look] += 1
        found["asking"] += core.lower() in ASKING
    return Clues(**found | {"total": len(some)})


def _look(word: str, core: str) -> str:
    """Return the name of the clue that a word is; `mark` for a word with sentence punctuation."""
    if re.match(r"-{1,2}[A-Za-z0-9]|-\?$|\+[A-Za-z%]|[ugoa]*[-+=][rwxst]+$", word):
        return "flags"
    if word[0] in "'\"" or word in ("!!", "!$", "{}", ".", "..") or word.endswith(".?"):
        return "shell"
    if re.fullmatch(r"[%+-]?\d+([.,:]\d+)*[A-Za-z%]{0,2}", core):
        return "numbers"
    if word in ("=", "=>", "==", "{", "->"):  # source code
        return "mark"
    if core != word and (core.isalpha() or not core) and len(core) != 1:
        return "mark"
    return _language(core) or ("shell" if is_shell(word) else "")


def _language(word: str) -> str:
    if is_sentence_word(word):
        return "sentence"
    if word.lower() in WEAK:
        return "weak"
    return "english" if is_english(word) else ""


def is_shell(word: str) -> bool:
    """Is this a path, pattern, variable, assignment, address or file name, which are rare in sentences?"""
    if re.fullmatch(r"[A-Za-z]+/[A-Za-z]+", word):  # and/or, read/write
        return False
    return word in ("-", "--") or bool(re.search(r"[/$*=@%~^{}\\\[\]_]|\w[.:]\w|^[.]\w|\?.|^[a-z]+\d+[a-z]+\d", word))


def is_sentence_word(word: str) -> bool:
    """Is this word found only in sentences, in English or another language?"""
    low = word.lower()
    if low in SENTENCE or low in FOREIGN:
        return True
    if word.isascii():
        return "'" in low and bool(re.search(r"[a-z]'(t|s|re|ve|ll|d|m)$", low))
    return any(piece in word for piece in FOREIGN_PIECES)


def is_trouble(word: str) -> bool:
    """Does this word end a remark about a program, as in `git merge conflict` or `mkdir permission denied`?"""
    return word in ABOUT or (word.endswith("ed") and is_english(word))


def is_slip(word: str, other: str) -> bool:
    """Is `word` a typo of `other`: one letter added, missing or different, or two neighbours swapped?"""
    if word == other or abs(len(word) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    a, b = word[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[1::-1] == b[:2] and a[2:] == b[2:])


def is_everyday(word: str) -> bool:
    """Can this word start a request?"""
    return word in CONTENT or word in SENTENCE or word in WEAK


def is_english(word: str) -> bool:
    """Is this an everyday English word, or an inflected form of one?"""
    low = word.lower()
    if low in CONTENT or low in SENTENCE or low in WEAK or low in TECHNICAL:
        return True
    if len(low) < 5 or not low.isalpha():
        return low.endswith("s") and low[:-1] in CONTENT
    if low.endswith(
        (
            "tion",
            "tions",
            "ment",
            "ments",
            "ness",
            "able",
            "ible",
            "ously",
            "ally",
            "ively",
            "ings",
            "ing",
            "ful",
            "ity",
            "ance",
            "ence",
        )
    ):
        return True
    stems = [low[: -len(end)] for end in ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "est") if low.endswith(end)]
    return any(
        stem in CONTENT or f"{stem}e" in CONTENT or (stem[-1:] == stem[-2:-1] and stem[:-1] in CONTENT)
        for stem in stems
    )
