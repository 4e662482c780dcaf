"""Which of two memos replaces the other, and which of them both hold."""

from datetime import UTC, datetime, timedelta

import pytest

from aish.memory.recall.contradictions import Contradictions
from aish.values.recall import Memo, NoteLayer

TODAY = datetime(2026, 5, 1, tzinfo=UTC)

REPLACED = [  # the newer one first
    ("The API is deployed on Fly.io since March.", "The API is deployed on Heroku."),
    ("Deployment target is Debian 13.", "Deployment target is Ubuntu 20.04."),
    ("CI moved to Forgejo Actions.", "CI is Jenkins on host build1."),
    ("CI runs on GitHub Actions, Jenkins is switched off.", "CI runs on Jenkins."),
    ("We use uv for dependencies, poetry.lock was deleted.", "Dependencies are managed with poetry."),
    ("Dependencies are managed with uv.", "Dependencies are managed with poetry."),
    ("Default branch is main.", "Default branch is master."),
    ("Dentist is Dr. Moreau, appointment on 4 May at 9:00.", "Dentist is Dr. Lang."),
    ("Rent is 980 euros since January.", "Rent is 910 euros a month."),
    ("The team meets on Tuesdays at 10.", "The team meets on Mondays at 9."),
    ("Standup is at 9:45 now.", "Standup is at 9:15."),
    ("Wi-Fi password changed, it is on the fridge.", "Wi-Fi password is on the router."),
    ("Release date moved to 12 June.", "Release date is 30 May."),
    ("Logging goes to Loki, Elasticsearch was shut down.", "Logs go to Elasticsearch."),
    ("Authentication switched from Auth0 to Keycloak.", "Auth0 handles the authentication."),
    ("The car is a Skoda Enyaq now.", "The car is an old Golf."),
    ("Max goes to school at 8:15 since summer.", "Max goes to school at 7:45."),
    ("The product owner is Lena, Marcus left.", "The product owner is Marcus."),
    ("Replaced Webpack with Vite.", "Bundler is Webpack 5."),
    ("Frontend is built with Vite instead of Webpack.", "Frontend is built with Webpack."),
    ("Model for summaries is qwen3, llama was too slow.", "Model for summaries is llama 3."),
    ("Schema version is 14.", "Schema version is 12."),
    ("Supported Python versions: 3.11 to 3.14.", "Supported Python versions: 3.8 to 3.11."),
    ("Wedding date: 6 September, castle Ehrenfels.", "Wedding date: 23 August."),
    ("Die Datenbank liegt jetzt auf server-b.", "Die Datenbank liegt auf server-a."),
    ("Der Zahnarzttermin ist am 4. Mai um 9 Uhr.", "Der Zahnarzttermin ist am 28. April."),
    ("Der Kurs wurde auf Donnerstag verlegt.", "Der Kurs ist am Montag um 18 Uhr."),
    ("Miete beträgt 980 Euro seit Januar.", "Miete beträgt 910 Euro."),
    ("La réunion est le mardi à 10 h.", "La réunion est le lundi à 9 h."),
    ("Le serveur est chez Hetzner depuis mai.", "Le serveur est chez Scaleway."),
    ("La reunión es los martes a las diez.", "La reunión es los lunes."),
    ("El servidor está en Hetzner.", "El servidor está en una Raspberry del despacho."),
    ("数据库换成PostgreSQL了。", "数据库用的是MySQL。"),
    ("服务器在杭州，新的IP是10.0.3.2。", "服务器在上海。"),
    ("会议改到周四下午三点。", "会议在周二上午十点。"),
    ("データベースはPostgreSQLに移行した。", "データベースはMySQL。"),
    ("会議は木曜日の10時に変更。", "会議は火曜日の9時。"),
    ("Notes are kept in Obsidian now.", "Notes are kept in Notion."),
    ("Phone contract is with Congstar, 15 euros.", "Phone contract is with O2, 25 euros."),
    ("Branch naming: feat/<ticket>-<slug>.", "Branch naming: <user>/<slug>."),
    ("Payment provider is Mollie.", "Payment provider is Stripe, key in the vault."),
    ("Sprint length is two weeks.", "Sprint length is three weeks."),
    ("Line length 100, formatter is ruff.", "Line length 88, formatter is black."),
    ("The robot uses ROS 2 Jazzy.", "The robot uses ROS 1 Noetic."),
    ("Doctor appointment was moved to Friday 14:00.", "Doctor appointment is on Wednesday at 11:00."),
    ("Heating runs on a heat pump since autumn.", "Heating runs on oil, tank holds 2000 litres."),
    ("Papers are written in Typst.", "Papers are written in LaTeX with Overleaf."),
    ("Team lead is Soraya.", "Team lead is Henrik, on leave until May."),
    ("Password manager changed from LastPass to Bitwarden.", "Passwords are stored in LastPass."),
    ("Cat food is brand Applaws, the vet advised it.", "Cat food is brand Felix."),
    ("Queue is NATS JetStream; RabbitMQ was retired.", "Queue is RabbitMQ on mq1."),
    ("Minimum Node version: 22.", "Minimum Node version: 18."),
    ("Book club meets at Ana's place on 3 March.", "Book club meets at the library on 24 February."),
    ("Das Frontend nutzt Svelte.", "Das Frontend nutzt Angular 12."),
    ("Le prof de piano est M. Girard depuis la rentrée.", "Le prof de piano est Mme Petit."),
    ("El coche está asegurado con Mutua.", "El coche está asegurado con Allianz."),
    ("El dentista es la doctora Peña, el anterior se jubiló.", "El dentista es el doctor Soto."),
    ("测试环境换到了k8s集群。", "测试环境在一台虚拟机上。"),
    ("小明的英语课改成周日上午。", "小明的英语课在周五晚上。"),
    ("本番サーバーは東京リージョンに移した。", "本番サーバーは大阪リージョン。"),
    ("歯医者の予約は20日の15時になった。", "歯医者の予約は18日の10時。"),
    ("Grafana is at metrics.example.net.", "Grafana is at stats.example.net."),
    ("ORM: SQLAlchemy 2, Peewee removed.", "ORM: Peewee."),
    ("Target audience: teachers.", "Target audience: students."),
    ("We ship on Thursdays.", "We ship on Mondays."),
    ("I am vegan since January.", "I am vegetarian."),
    ("My bike is a Canyon Grizl.", "My bike is a steel Koga from 1998."),
]
BOTH_HOLD = [
    ("Best run of the tiny model: `elm-3`, 0.71.", "Best run so far: `oak-9`, 0.88."),
    ("Staging runs on PostgreSQL 16.", "Production runs on PostgreSQL 17."),
    ("Anna prefers tea.", "Anna works at the library."),
    ("Anna is allergic to nuts.", "Anna is our neighbour."),
    ("The backup of the mail server runs at 4:00.", "The backup runs at 2:30."),
    ("Server web1 has 8 GB of memory.", "Server web2 has 16 GB of memory."),
    ("The staging cluster has three nodes.", "The production cluster has nine nodes."),
    ("Dentist appointment of Tom is on 4 May.", "Dentist appointment of Mia is on 2 May."),
    ("Issue 41 is about slow startup.", "Issue 38 is about broken links."),
    ("Tests are in tests/unit.", "Tests are slow on Windows."),
    ("The API has 40 endpoints.", "The API is versioned by header."),
    ("Summer concert is on 28 June.", "Christmas concert is on 14 December."),
    ("Der Keller ist feucht.", "Der Dachboden ist trocken."),
    ("Le contrat du gaz est chez Engie.", "Le contrat d'internet est chez Free."),
    ("El médico de Ana es el doctor Ruiz.", "El médico de Luis es la doctora Vega."),
    ("猫粮在阳台。", "狗粮在厨房。"),
    ("妹は肉が苦手。", "弟は魚が苦手。"),
    ("The mobile app uses npm.", "The monorepo uses yarn."),
    ("Lena likes short mails.", "Lena is on parental leave until May."),
    ("Port 8080 is used by the proxy.", "Port 5432 is used by the database."),
    ("Invoices go to finance@example.org.", "Invoices have ten digits."),
    ("The dashboard of the sales team is in Metabase.", "The dashboard is in Grafana."),
    ("The tablet runs Android 14.", "The phone runs Android 12."),
    ("Mia's swimming class is on Fridays.", "Mia's piano class is on Tuesdays."),
    ("Certificates of the test domain expire in May.", "Certificates expire in September."),
    ("The garage key is with Tom.", "The cellar key is with Eva."),
    ("Team lead of the mobile team is Ivo.", "Team lead is Soraya."),
    ("Deadline of the poster is 3 May.", "Deadline of the paper is 20 April."),
    ("The cluster has a maintenance window on Sunday.", "The cluster is in Frankfurt."),
    ("Python is the language of the backend.", "Python files have type hints."),
    ("Das Passwort für das Gast-WLAN ist sonne22.", "Das Passwort für den Drucker steht im Ordner."),
    ("La voiture de Paul est rouge.", "La voiture de Marie est au garage."),
    ("测试服务器在北京。", "生产服务器在上海。"),
    ("本番サーバーは東京。", "検証サーバーは大阪。"),
    ("Commit messages are in English.", "Commit messages start with a ticket number."),
    ("Lisa changed jobs.", "Lisa has a dog."),
]


def memo(key: str, text: str, days: float | None, kind: str = "fact", layer: NoteLayer = "memory") -> Memo:
    return Memo(key, layer, kind, text, None if days is None else TODAY - timedelta(days=days))


def replaced(*memos: Memo) -> dict[str, str]:
    """Which memo is replaced by which, by their keys."""
    return {memos[old].key: memos[new].key for old, new in Contradictions().find(memos).items()}


@pytest.mark.parametrize(("newer", "older"), REPLACED)
def test_a_newer_statement_about_the_same_thing_replaces_the_older_one(newer: str, older: str) -> None:
    """Only one of a contradiction may be brought to a turn. The order in the notes does not matter."""
    new, old = memo("new", newer, 10), memo("old", older, 200)

    assert replaced(new, old) == replaced(old, new) == {"old": "new"}


@pytest.mark.parametrize(("one", "other"), BOTH_HOLD)
def test_statements_about_different_things_both_hold(one: str, other: str) -> None:
    """A near miss that hides a true memo is worse than a contradiction that is shown."""
    assert replaced(memo("one", one, 10), memo("other", other, 200)) == {}
    assert replaced(memo("one", one, 200), memo("other", other, 10)) == {}


def test_the_newest_of_three_replaces_both_others() -> None:
    """Otherwise the second one would be shown beside the third."""
    texts = ["Standup is at 9:00.", "Standup is at 9:30.", "Standup is at 9:45."]
    memos = [memo(str(at), text, days) for at, (text, days) in enumerate(zip(texts, (300, 200, 100), strict=True))]

    assert replaced(*memos) == {"0": "2", "1": "2"}


def test_a_stale_lower_layer_never_replaces_a_fresher_upper_one() -> None:
    """History is the past; working state is the present."""
    history = memo("history", "Standup is at 9:00.", 30, layer="history")
    session = memo("session", "Standup is at 9:45.", 1, kind="state", layer="session")

    assert replaced(history, session) == {"history": "session"}


@pytest.mark.parametrize("days", [5.0, None])
def test_of_two_equally_old_statements_the_upper_layer_holds(days: float | None) -> None:
    """Notes without a date are common in files that people write."""
    upper = memo("upper", "Standup is at 9:45.", days, layer="session")
    lower = memo("lower", "Standup is at 9:00.", days, layer="history")

    assert replaced(upper, lower) == replaced(lower, upper) == {"lower": "upper"}


@pytest.mark.parametrize("kind", ["command", "error", "todo", "file"])
def test_what_happened_is_not_replaced(kind: str) -> None:
    """Two errors of one program are two errors."""
    one, other = memo("one", "Build is slow on Windows.", 1, kind), memo("other", "Build is red on Linux.", 9, kind)

    assert replaced(one, other) == {}


def test_a_second_search_after_a_change_finds_the_same_as_a_first() -> None:
    """Compared pairs are kept; that must not show."""
    old, new, newest = (memo(str(at), f"Standup is at 9:{at}0.", 100 - at) for at in range(3))
    kept = Contradictions()
    kept.find([old, new])

    assert kept.find([newest, old]) == Contradictions().find([newest, old]) == {1: 0}
    assert kept.find([new]) == {}
