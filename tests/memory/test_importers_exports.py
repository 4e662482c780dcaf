"""Exports of ChatGPT and claude.ai, as the services write them."""

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aish.memory.importers import read
from aish.memory.importers.files import MOST
from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedTurn, Skipped


def said(format: str, path: Path) -> list[ImportedTurn]:
    return [heard for heard in read(format, path) if isinstance(heard, ImportedTurn)]


def skipped(format: str, path: Path) -> list[str]:
    told = [heard for heard in read(format, path) if isinstance(heard, Skipped)]
    return [f"{one.times} × {one.why}" if one.times > 1 else one.why for one in told]


def node(id: str, parent: str | None, role: str = "user", *parts: Any, **more: Any) -> dict[str, Any]:
    """Return a node of ChatGPT's message tree, with the fields of its exports."""
    message = {
        "id": id,
        "author": {"role": role, "name": more.pop("author", None), "metadata": {}},
        "create_time": more.pop("at", 1_780_000_000.25),
        "update_time": None,
        "content": {"content_type": more.pop("kind", "text"), "parts": list(parts)} | more.pop("content", {}),
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
    }
    return {"id": id, "message": {**message, **more}, "parent": parent, "children": []}


def chat(*nodes: dict[str, Any], leaf: str, id: str = "c1", title: str | None = "Bread") -> dict[str, Any]:
    """Return a conversation of ChatGPT; the id and the leaf come after the messages, as in its files."""
    root: dict[str, Any] = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {"root": root} | {each["id"]: each for each in nodes}
    start = {"title": title, "create_time": 1_779_999_999.0, "update_time": 1_780_000_001.0, "mapping": mapping}
    return start | {
        "moderation_results": [],
        "current_node": leaf,
        "conversation_id": id,
        "is_archived": False,
        "id": id,
    }


def put(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.fixture
def bread() -> dict[str, Any]:
    return chat(
        node("n0", "root", "system", "", weight=0.0),
        node("n1", "n0", "user", "How long does sourdough rise?"),
        node("n2", "n1", "assistant", "Four hours."),
        node("n3", "n1", "assistant", "Overnight, in the fridge."),
        node("n4", "n3", "user", "Thanks"),
        leaf="n4",
    )


@pytest.mark.proves("N26")
def test_regenerated_answers_are_a_conversation_of_their_own(tmp_path: Path, bread: dict[str, Any]) -> None:
    """Nothing said is lost, and the branch that the user sees can be continued without it."""
    turns = said("chatgpt", put(tmp_path / "conversations.json", [bread]))

    assert [(turn.conversation, turn.title, turn.role, turn.text, turn.ref) for turn in turns] == [
        ("c1", "Bread", "user", "How long does sourdough rise?", "n1"),
        ("c1", "Bread", "assistant", "Overnight, in the fridge.", "n3"),
        ("c1", "Bread", "user", "Thanks", "n4"),
        ("c1/other answers", "Bread (other answers)", "assistant", "Four hours.", "n2"),
    ]
    assert {turn.branch_of for turn in turns[:3]} == {""} and turns[3].branch_of == "c1"
    assert turns[0].time == datetime.fromtimestamp(1_780_000_000.25, UTC)


def test_what_chatgpt_hides_is_not_taken(tmp_path: Path) -> None:
    """Above all the user's profile, which is in every conversation as if the user had said it. Thinking is marked."""
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        node("a", "root", "user", kind="user_editable_context", content={"user_profile": "I am Ada"}),
        node("b", "a", "user", "My name is Ada", metadata=hidden),
        node("c", "b", "system", "You are helpful", metadata={"is_user_system_message": True}),
        node("d", "c", "assistant", kind="thoughts", content={"thoughts": [{"summary": "hm", "content": "so"}]}),
        node("e", "d", "assistant", kind="reasoning_recap", content={"content": "Thought for 3 s"}),
        node("f", "e", "assistant", "", weight=1.0),
        node("g", "f", "assistant", "Hello Ada"),
    ]
    path = put(tmp_path / "conversations.json", [chat(*nodes, leaf="g")])

    assert [(turn.name, turn.text) for turn in said("chatgpt", path)] == [
        ("thinking", "[thinking] hm\nso"),
        ("", "Hello Ada"),
    ]
    assert skipped("chatgpt", path) == []


def test_pictures_sounds_code_and_tools_are_said_in_words(tmp_path: Path) -> None:
    """A turn with only a picture must be kept, or its answer makes no sense."""
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1", "width": 8}
    sound = {"content_type": "audio_transcription", "text": "what is this", "direction": "in"}
    nodes = [
        node("a", "root", "user", picture, "What is it?", kind="multimodal_text"),
        node("b", "a", "user", sound, {"content_type": "audio_asset_pointer"}, kind="multimodal_text"),
        node("c", "b", "assistant", kind="code", content={"text": "1 + 1", "language": "python"}, recipient="python"),
        node("d", "c", "tool", kind="execution_output", content={"text": "2"}, author="python"),
        node("e", "d", "assistant", {"content_type": "hologram"}, "Two.", kind="multimodal_text"),
    ]
    path = put(tmp_path / "conversations.json", [chat(*nodes, leaf="e")])

    assert [(turn.role, turn.name, turn.text) for turn in said("chatgpt", path)] == [
        ("user", "", "[image]\nWhat is it?"),
        ("user", "", "what is this\n[audio]"),
        ("assistant", "", "[python] 1 + 1"),
        ("tool", "python", "2"),
        ("assistant", "", "Two."),
    ]
    assert skipped("chatgpt", path) == ["a part with unknown type 'hologram'"]


@pytest.mark.proves("N26")
def test_what_a_tool_of_chatgpt_gave_counts_whatever_its_weight(tmp_path: Path) -> None:
    """Results of the canvas and generated pictures have no weight; a picture may be named beside a text only."""
    photo = {"attachments": [{"name": "loaf.jpg", "mime_type": "image/jpeg"}]}
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
    nodes = [
        node("a", "root", "user", "Too dark?", metadata=photo),
        node("b", "a", "tool", "The update failed.", author="canmore.update_textdoc", weight=0.0),
        node("c", "b", "tool", picture, kind="multimodal_text", author="painter", weight=0.0),
    ]
    path = put(tmp_path / "conversations.json", [chat(*nodes, leaf="c")])

    assert [(turn.role, turn.name, turn.text) for turn in said("chatgpt", path)] == [
        ("user", "", "Too dark?\n[image]"),
        ("tool", "canmore.update_textdoc", "The update failed."),
        ("tool", "painter", "[image]"),
    ]


def test_what_the_pages_of_chatgpt_draw_into_a_text_is_taken_out(tmp_path: Path) -> None:
    """Sources and cards are between invisible characters and are removed; names and links keep their text."""
    name = '\ue200entity\ue202["company","Mill & Co","bakers"]\ue201'
    cite = "\ue200cite\ue202turn0search0\ue202turn1news2\ue201"
    link = "\ue200url\ue202their page\ue202https://mill.example\ue201"
    pictures = '\ue200image_group\ue202{"query":["bread"]}\ue201'
    nodes = [
        node("a", "root", "user", "Who bakes?"),
        node("b", "a", "assistant", f"Ask {name} {cite}. See {link}.\n\n{pictures}"),
        node("c", "b", "assistant", cite),
    ]
    path = put(tmp_path / "conversations.json", [chat(*nodes, leaf="c")])

    assert [turn.text for turn in said("chatgpt", path)] == ["Who bakes?", "Ask Mill & Co. See their page."]


@pytest.mark.proves("N26")
def test_what_tools_of_chatgpt_gave_is_there_whatever_its_form(tmp_path: Path) -> None:
    """This covers connector output, opened pages, search results, and names of attached files."""
    files = [{"name": "flour.pdf", "mime_type": "application/pdf"}, {"name": "a.png", "mime_type": "image/png"}]
    state = {"title": "Mills", "url": "https://mill.example"}
    nodes = [
        node("a", "root", "user", "Read this", metadata={"attachments": files}),
        node("b", "a", "tool", kind="citable_code_output", content={"output_str": "a mail"}, author="api_tool"),
        node("c", "b", "tool", kind="computer_output", content={"state": state}, author="computer.do"),
        node("d", "c", "tool", kind="sonic_webpage", content={"title": "Rye", "snippet": "rises"}, author="web.run"),
        node("e", "d", "tool", kind="system_error", content={"name": "Timeout", "text": "too slow"}, author="web"),
    ]
    path = put(tmp_path / "conversations.json", [chat(*nodes, leaf="e")])

    assert [(turn.role, turn.name, turn.text) for turn in said("chatgpt", path)] == [
        ("user", "", "Read this\n[flour.pdf]\n[image]"),
        ("tool", "api_tool", "a mail"),
        ("tool", "computer.do", "Mills\nhttps://mill.example"),
        ("tool", "web.run", "Rye\nrises"),
        ("tool", "web", "too slow"),
    ]


def test_an_unknown_kind_is_told_once_with_a_count(tmp_path: Path) -> None:
    """A new version of the service must not fill the screen."""
    nodes = [node(f"n{n}", f"n{n - 1}" if n else "root", "oracle", "?") for n in range(50)]
    path = put(tmp_path / "conversations.json", [chat(*nodes, node("z", "n49", "user", "hi"), leaf="z")])

    assert skipped("chatgpt", path) == ["50 × a message with unknown role 'oracle'"]


def test_a_conversation_without_a_usable_leaf_ends_in_its_last_message(tmp_path: Path, bread: dict[str, Any]) -> None:
    """Some exports name a leaf that does not exist."""
    for leaf in (None, "gone", 7, ["n4"]):
        path = put(tmp_path / "conversations.json", [bread | {"current_node": leaf}])
        assert [turn.ref for turn in said("chatgpt", path) if not turn.branch_of] == ["n1", "n3", "n4"]


def test_messages_that_answer_each_other_in_a_ring_come_once(tmp_path: Path) -> None:
    """Otherwise the walk to the root would never end."""
    ring = chat(node("a", "b", "user", "hen"), node("b", "a", "user", "egg"), leaf="b")

    assert [turn.text for turn in said("chatgpt", put(tmp_path / "conversations.json", [ring]))] == ["hen", "egg"]


def test_the_zip_with_split_files_is_read_in_their_order(tmp_path: Path, bread: dict[str, Any]) -> None:
    """Large exports have conversations-000.json and so on, next to other files."""
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations-001.json", json.dumps([bread | {"conversation_id": "second"}]))
        file.writestr("conversations-000.json", json.dumps([bread | {"conversation_id": "first"}]))
        file.writestr("shared_conversations.json", json.dumps([bread | {"conversation_id": "shared"}]))
        file.writestr("../../conversations.json", json.dumps([bread | {"conversation_id": "outside"}]))

    turns = said("chatgpt", archive)

    assert list(dict.fromkeys(turn.conversation for turn in turns if not turn.branch_of)) == [
        "outside",
        "first",
        "second",
    ]
    assert list(tmp_path.parent.glob("conversations*")) == list(tmp_path.glob("conversations*")) == []


def test_a_directory_is_read_like_the_zip_it_came_in(tmp_path: Path, bread: dict[str, Any]) -> None:
    """Many users unpack an export first."""
    put(tmp_path / "conversations-000.json", [bread | {"conversation_id": "first"}])
    put(tmp_path / "conversations-001.json", {"conversations": [bread | {"conversation_id": "second"}]})
    put(tmp_path / "user.json", {"id": "u"})

    turns = said("chatgpt", tmp_path)

    assert list(dict.fromkeys(turn.conversation for turn in turns if not turn.branch_of)) == ["first", "second"]


def test_a_single_conversation_is_read_without_a_list_around_it(tmp_path: Path, bread: dict[str, Any]) -> None:
    """Browser extensions export a single conversation this way."""
    assert len(said("chatgpt", put(tmp_path / "bread.json", bread))) == 4


def letter(uuid: str, sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    """Return a message of claude.ai."""
    stamp = "2026-08-01T10:00:00.500000Z"
    base = {"uuid": uuid, "text": "", "content": list(blocks), "sender": sender, "created_at": stamp}
    return base | {"updated_at": stamp, "attachments": [], "files": []} | more


def block(text: str) -> dict[str, Any]:
    return {"start_timestamp": "2026-08-01T10:00:00Z", "type": "text", "text": text, "citations": []}


def talk(*messages: Any, uuid: str = "t1") -> dict[str, Any]:
    head = {"uuid": uuid, "name": "Garden", "summary": "", "created_at": "2026-08-01T09:00:00Z"}
    return head | {"account": {"uuid": "me"}, "chat_messages": list(messages)}


def test_messages_of_claude_are_read_by_their_blocks(tmp_path: Path) -> None:
    """Thinking is kept apart, and a tool result does not count as the model's words."""
    call = {"type": "tool_use", "name": "web_search", "input": {"query": "slugs"}}
    result = {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "beer traps"}]}
    path = put(
        tmp_path / "conversations.json",
        [
            talk(
                letter("m1", "human", block("Slugs?")),
                letter("m2", "assistant", {"type": "thinking", "thinking": "hm"}, call, result, block("Use beer.")),
            )
        ],
    )

    turns = said("claude", path)

    assert [(turn.role, turn.text, turn.ref) for turn in turns] == [
        ("user", "Slugs?", "m1"),
        ("assistant", "[thinking] hm", "m2/thinking"),
        ("assistant", '[web_search] {"query": "slugs"}', "m2"),
        ("tool", "beer traps", "m2/1"),
        ("assistant", "Use beer.", "m2/2"),
    ]
    assert {(turn.conversation, turn.title) for turn in turns} == {("t1", "Garden")}
    assert turns[0].time == datetime(2026, 8, 1, 10, 0, 0, 500000, UTC)
    assert skipped("claude", path) == []


@pytest.mark.proves("N26")
def test_what_a_search_of_claude_has_found_is_there(tmp_path: Path) -> None:
    """Search results and files that a tool made have their own block types."""
    page = {"type": "knowledge", "title": "Slugs", "url": "https://slug.example", "text": "They like beer."}
    files = [{"type": "local_resource", "name": "plan.md", "file_path": "/mnt/plan.md"}, {"type": "image_gallery"}]
    result = {"type": "tool_result", "name": "web_search", "content": [page, *files]}
    path = put(tmp_path / "conversations.json", [talk(letter("m1", "assistant", result))])

    assert [(turn.role, turn.text) for turn in said("claude", path)] == [
        ("tool", "Slugs\nhttps://slug.example\nThey like beer.\n[plan.md]\n[images]")
    ]
    assert skipped("claude", path) == []


def test_older_messages_and_pasted_texts_of_claude_are_taken(tmp_path: Path) -> None:
    """Older messages have `text` instead of blocks, and a long pasted text becomes an attachment."""
    pasted = [{"file_name": "paste.txt", "file_size": 9, "extracted_content": "the whole poem"}]
    older = letter("m1", "human", text="Hello")
    newer = letter("m2", "human", block("Read this"), attachments=pasted, files=[{"file_name": "cat.png"}])
    path = put(tmp_path / "conversations.json", [talk(older, newer)])

    assert [turn.text for turn in said("claude", path)] == [
        "Hello",
        "Read this",
        "[paste.txt]\nthe whole poem\n[cat.png]",
    ]


def test_edited_questions_of_claude_are_another_branch(tmp_path: Path) -> None:
    """Newer exports have all branches in one list, in which each message names the one before it."""
    messages = [
        letter("m1", "human", block("Do herons sing?"), parent_message_uuid="0"),
        letter("m2", "assistant", block("No."), parent_message_uuid="m1"),
        letter("m3", "human", block("Do owls sing?"), parent_message_uuid="0"),
        letter("m4", "assistant", block("They hoot."), parent_message_uuid="m3"),
    ]
    newest = said("claude", put(tmp_path / "conversations.json", [talk(*messages)]))
    first = said(
        "claude", put(tmp_path / "conversations.json", [talk(*messages) | {"current_leaf_message_uuid": "m2"}])
    )

    assert [(turn.ref, turn.branch_of) for turn in newest] == [("m3", ""), ("m4", ""), ("m1", "t1"), ("m2", "t1")]
    assert [(turn.ref, turn.branch_of) for turn in first] == [("m1", ""), ("m2", ""), ("m3", "t1"), ("m4", "t1")]


def test_a_message_that_cannot_be_read_does_not_part_a_conversation(tmp_path: Path, bread: dict[str, Any]) -> None:
    """Nobody knows what it answered; what was said before it is still the branch that the user sees."""
    damaged = '{"uuid": "m2", "text": nothing}'
    letters = [letter("m1", "human", block("Do owls sing?"), parent_message_uuid="0"), "DAMAGED"]
    letters.append(letter("m3", "human", block("Well?"), parent_message_uuid="m2"))
    path = tmp_path / "conversations.json"

    path.write_text(json.dumps([talk(*letters)]).replace('"DAMAGED"', damaged), encoding="utf-8")
    assert [(turn.ref, turn.branch_of) for turn in said("claude", path)] == [("m1", ""), ("m3", "")]
    bread["mapping"]["n3"] = "DAMAGED"
    path.write_text(json.dumps([bread]).replace('"DAMAGED"', damaged), encoding="utf-8")
    assert "n1" in [turn.ref for turn in said("chatgpt", path) if not turn.branch_of]


def test_conversations_one_after_another_are_all_read(tmp_path: Path, bread: dict[str, Any]) -> None:
    """Open WebUI sends its chats as JSON lines, and parts of exports are put together with `cat`."""
    path = tmp_path / "conversations.json"
    other = bread | {"conversation_id": "c2", "id": "c2"}
    path.write_text(f"{json.dumps(bread)}\n{json.dumps(other)}\n{json.dumps([bread])}", encoding="utf-8")

    assert [turn.conversation for turn in said("chatgpt", path) if not turn.branch_of] == ["c1"] * 3 + ["c2"] * 3 + [
        "c1"
    ] * 3


def test_the_id_of_a_conversation_may_stand_behind_its_messages(tmp_path: Path) -> None:
    """Tools that sort the fields put it there."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk(letter("m1", "human", block("hi")))], sort_keys=True), encoding="utf-8")

    assert [turn.conversation for turn in said("claude", path)] == ["t1"]


def test_a_file_that_breaks_off_gives_all_that_was_before(tmp_path: Path) -> None:
    """Downloads can be incomplete; half of a conversation is better than nothing."""
    whole = json.dumps([talk(letter("m1", "human", block("one")), letter("m2", "human", block("two")))])
    path = tmp_path / "conversations.json"
    path.write_text(whole[: whole.index("two")], encoding="utf-8")

    assert [turn.text for turn in said("claude", path)] == ["one"]
    assert "ends or is damaged at byte" in skipped("claude", path)[0]


def test_a_message_that_is_no_json_inside_does_not_end_the_file(tmp_path: Path) -> None:
    """One bad message in gigabytes must not cost the rest."""
    path = tmp_path / "conversations.json"
    whole = json.dumps([talk(letter("m1", "human", block("bad")), letter("m2", "human", block("good")))])
    path.write_text(whole.replace('"bad"', "b%d"), encoding="utf-8")

    assert [turn.text for turn in said("claude", path)] == ["good"]
    assert skipped("claude", path) == ["a message that is too long or damaged"]


def test_a_message_too_long_for_memory_is_left_out_and_said(tmp_path: Path) -> None:
    """It is not kept in memory, and the messages after it are read."""
    path = tmp_path / "conversations.json"
    long = "x\\n" * (MOST // 2)
    whole = json.dumps([talk(letter("m1", "human", block("LONG")), letter("m2", "human", block("short")))])
    path.write_text(whole.replace("LONG", long), encoding="utf-8")

    heard = list(read("claude", path))

    assert [turn.text for turn in heard if isinstance(turn, ImportedTurn)] == ["short"]
    assert [one.why for one in heard if isinstance(one, Skipped)] == ["a message that is too long or damaged"]


def test_a_damaged_zip_is_trouble_that_says_what_to_do(tmp_path: Path, bread: dict[str, Any]) -> None:
    """A zip file has its directory at the end, so an incomplete one cannot be read."""
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("conversations.json", json.dumps([bread]))
    archive.write_bytes(archive.read_bytes()[:-40])

    with pytest.raises(StoreTrouble, match="download it again"):
        said("chatgpt", archive)


def test_a_damaged_zip_among_others_is_skipped(tmp_path: Path) -> None:
    """claude.ai provides several files, each with its own link."""
    with zipfile.ZipFile(tmp_path / "conversations-001.zip", "w") as file:
        file.writestr("conversations.json", json.dumps([talk(letter("m1", "human", block("hi")))]))
    (tmp_path / "conversations-000.zip").write_bytes(b"PK\x03\x04 and no more")

    assert [turn.text for turn in said("claude", tmp_path)] == ["hi"]
    assert "download it again" in skipped("claude", tmp_path)[0]


def test_a_damaged_member_of_a_zip_is_skipped(tmp_path: Path, bread: dict[str, Any]) -> None:
    """The other members are still read."""
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("conversations-000.json", json.dumps([bread]))
        file.writestr("conversations-001.json", json.dumps([bread | {"conversation_id": "whole"}]))
    data = archive.read_bytes()
    archive.write_bytes(data.replace(b"Overnight", b"Undernite", 1))  # a wrong checksum, in the first member

    assert "whole" in {turn.conversation for turn in said("chatgpt", archive)}
    assert any("cannot be unpacked" in why for why in skipped("chatgpt", archive))
