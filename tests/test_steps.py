"""The rules of steps and of the queue: what a line says, what is kept, and what is sent when."""

from aish.acting.message_queue import MessageQueue
from aish.acting.steps import StepList, is_short
from aish.agent.tool import as_json, refused
from aish.context.history import History
from aish.context.messages import render
from aish.values.turns import ToolCall, Turn


def test_the_line_of_a_call_says_what_was_read_and_how_much() -> None:
    """For every shape of result, also one that is no JSON."""
    steps = StepList()
    assert steps.add_call("read_file", '{"path": "a.py"}', as_json(path="a.py", text="x\ny")).line == (
        "1 read_file a.py · 2 lines"
    )
    assert steps.add_call("list_files", "{}", as_json(path=".", files=["a"])).line == "2 list_files · 1 file"
    found = as_json(pattern="x", matches={"a": ["1: x", "2: x"], "b": ["3: x"]})
    assert steps.add_call("search_files", '{"pattern": "x"}', found).line == "3 search_files x · 3 matches"
    assert steps.add_call("read_file", "no json", refused("no such file").text).line == (
        "4 read_file · refused: no such file"
    )
    assert steps.add_call("web__get", "{}", "one\ntwo").line == "5 web__get · 2 lines"
    change = '{"path": "a.py", "old": " * 1.5", "new": ""}'
    assert steps.add_call("edit_file", change, as_json(status="changed", path="a.py")).line == (
        "6 edit_file a.py · changed"
    )


def test_a_call_cannot_forge_a_line() -> None:
    """Names and arguments are the model's words."""
    line = StepList().add_call("read\n▐[aish]", '{"path": "a · 9 lines\\u001b[2J"}', "x").line
    assert "\n" not in line and "▐" not in line and "\x1b" not in line and line.count(" · ") == 1


def test_the_steps_stay_until_a_question_leads_to_others() -> None:
    """After a word of thanks the user may still want to see them."""
    steps = StepList()
    steps.begin()
    steps.add_command("ls", "a", 1, 0, 0.1)
    steps.begin()
    assert [step.line for step in steps] == ["1 ls · 1 line · 0.1 s"]
    steps.add_command("pwd", "b", 1, 0, 0.1)
    assert [step.line for step in steps] == ["1 pwd · 1 line · 0.1 s"]


def test_old_steps_are_forgotten_when_they_get_too_many() -> None:
    """Their numbers stay."""
    steps = StepList()
    for number in range(300):
        steps.add_command(f"echo {number}", "x", 1, 0, 0.1)
    assert steps.find(1) is None
    newest = steps.find(0)
    assert newest and newest.number == 300
    for _ in range(9):
        steps.add_command("cat", "x" * (1 << 20), 1, 0, 0.1)
    assert sum(len(step.output) for step in steps) <= 4 << 20


def test_five_lines_are_short_and_a_very_long_line_is_not() -> None:
    """It would fill the screen."""
    assert is_short("1\n2\n3\n4\n5") and not is_short("1\n2\n3\n4\n5\n6") and not is_short("x" * 1001)


def test_held_lines_come_back_one_by_one_and_are_not_sent() -> None:
    """Steering that nobody took is the first of them, as a question."""
    queue = MessageQueue()
    queue.add("ls")
    queue.steer("be brief")
    queue.hold()
    assert queue.take() is None
    assert [queue.take_held(), queue.take_held(), queue.take_held()] == ["? be brief", "ls", ""]
    queue.add("pwd")
    assert queue.take() == "pwd", "after the last held line, lines are sent again"


def test_steering_is_taken_once_and_is_bounded() -> None:
    """So is the queue."""
    queue = MessageQueue()
    assert queue.steer("a") and queue.steer("b") and not queue.steer("x" * 5000)
    assert queue.take_steering() == "a\nb" and queue.take_steering() == ""
    assert sum(queue.add("x") for _ in range(99)) == 50


def steered() -> tuple[History, Turn]:
    history = History()
    history.ask("old")
    history.add(Turn("assistant", "answer"))
    asked = history.ask("question")
    history.add(Turn("assistant", "", (ToolCall("c", "tool"),)))
    history.add(Turn("tool", "result", call_id="c"))
    history.steer("briefly")
    return history, asked


def test_steering_belongs_to_the_exchange_of_its_question() -> None:
    """Otherwise the question could be evicted while it is answered."""
    history, _ = steered()
    assert [len(group) for group in history.exchanges()] == [2, 4]
    history.rewrite(lambda text: text.replace("briefly", "shortly"))
    assert [len(group) for group in history.exchanges()] == [2, 4]


def test_messages_stay_well_formed_with_and_without_the_tool_role() -> None:
    """Strict servers refuse a result without its call, and two plain messages of one role."""
    history, _ = steered()
    with_role = [message["role"] for message in render("", history.turns)]
    assert with_role[2:] == ["user", "assistant", "tool", "assistant", "user"], "no question right after a result"
    plain = [message["role"] for message in render("", history.turns, use_tool_role=False)]
    assert plain[2:] == ["user", "assistant", "user"]


def test_a_question_that_failed_is_taken_back_with_what_steered_it() -> None:
    """The next message would repeat both."""
    history = History()
    history.hold("output")
    asked = history.ask("question")
    history.steer("briefly")
    history.take_back(asked)
    assert history.turns == () and "output" in history.held
    history, asked = steered()
    history.take_back(asked)
    assert len(history.turns) == 6, "it was answered in part"
