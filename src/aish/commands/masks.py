"""The command that takes a mask back."""

from aish.commands.shell import COMMANDS, Shell
from aish.conversation.recorder import RecentMask
from aish.intake.commands import Arguments
from aish.values.errors import BadUsage
from aish.values.replies import Reply
from aish.values.text import one_line

_GONE = "the text is in no file, and this process does not have it any more; say it again if you need it"


@COMMANDS.add("unmask", argument="[N]")
async def unmask(shell: Shell, arguments: Arguments) -> Reply:
    """Keep a text after all that was masked by mistake.

    When aish masks something before it saves a turn, it says so with a number. `:unmask 2` shows what was masked under
    number 2 and asks; after a yes, the journal of this conversation has it as it was said. `:unmask` alone lists what
    can be taken back: the last 20 masks since aish was started or the conversation was opened. The original is in
    memory only. Other files, such as the history of typed lines, keep the mask.
    """
    masks = shell.session.recorder.masks
    wanted = arguments.text.strip()
    if not wanted:
        return _listed(list(masks.values()))
    if not wanted.isdecimal():
        raise BadUsage("usage: :unmask N, with the number of the notice; :unmask lists them")
    mask = masks.get(int(wanted))
    if mask is None:
        return Reply(f"there is no mask with number {wanted}: {_GONE}", data={"unmasked": False}, found=False)
    question = f"{_shown(mask)}\nsave it unmasked?"
    if not await shell.person.confirm(question):
        return Reply("it stays masked", data={"unmasked": False}, found=False)
    if not shell.session.recorder.unmask(mask.number):
        said = f"the mask is not in the journal any more, so nothing was changed ({mask.part.mask})"
        return Reply(said, data={"unmasked": False}, found=False)
    return Reply(
        "saved as it was said; other files, such as the history of typed lines, keep the mask", data={"unmasked": True}
    )


def _listed(masks: list[RecentMask]) -> Reply:
    if not masks:
        return Reply(
            f"nothing was masked in this conversation since aish was started; if it was before, {_GONE}", found=False
        )
    return Reply("\n".join(map(_shown, masks)), data=[{"number": one.number, "kind": one.part.kind} for one in masks])


def _shown(mask: RecentMask) -> str:
    return f"{mask.number}  {mask.part.kind} in turn {mask.turn}: {one_line(mask.part.original, 100)}"
