"""`negzoo play`: a person negotiates in the terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from negzoo.cli.console import out
from negzoo.cli.parameters import ClockName, LineageName, Rounds, Seed, clock_of, lineage_of, side_of
from negzoo.cli.shown import save_figure, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from negzoo.cli.typed import Typed
    from negzoo.opponents import Accept, Games, Offer, PlayerView, Walk
    from negzoo.scenario import Scenario

LISTED = 10
AGREED = "=>"
HELP = """\
  OPTION, OPTION, ...  offer: an option per issue, by name, number or the
                       beginning of its name; e.g.  {by_name}
                       or by numbers alone:  {by_number}
  accept               take the offer on the table
  list 0.8             outcomes worth 0.8 to you or a little less
  options              the issues and their options again
  quit                 leave without agreement (so does Ctrl-D)
  help                 this"""


def play(
    domain: Annotated[str, typer.Argument(help="A shipped domain's name, or a path to a .toml file.")],
    opponent: Annotated[str, typer.Option("--opponent", help="Whom to negotiate with; `negzoo opponents` lists them.")],
    side: Annotated[int, typer.Option("--side", metavar="1|2", help="The profile that you hold.")] = 1,
    second: Annotated[bool, typer.Option("--second", help="Let the opponent open.")] = False,
    rounds: Rounds = 40,
    seed: Seed = 0,
    clock: ClockName = None,
    lineage: LineageName = "paper",
    plot: Annotated[Path | None, typer.Option(help="Afterwards, draw all offers into this file.")] = None,
) -> None:
    """Negotiate with an opponent yourself.

    You see what every offer is worth to you, and nothing of what the other side wants: that is revealed at the end.
    """
    from negzoo.opponents import play as negotiate
    from negzoo.opponents import resolve
    from negzoo.opponents.human import Human
    from negzoo.scenario import load

    scenario, mine, chosen = load(domain), side_of(side), lineage_of(lineage)
    across = resolve(opponent, chosen)
    person = Human(AtTheTable(scenario, mine, opponent).ask)
    players = (across, person) if second else (person, across)
    sides = (1 - mine, mine) if second else (mine, 1 - mine)
    time = clock_of(clock, chosen)
    games = negotiate(scenario, players[0], players[1], 1, seed, rounds, time, sides)
    _print_summary(games, sides.index(mine), opponent)
    if plot is not None:
        save_figure(_picture(games), plot)


class AtTheTable:
    """Asks a person for moves, and shows the person's own side of the negotiation alone."""

    def __init__(self, scenario: "Scenario", side: int, opponent: str) -> None:
        self.scenario, self.side, self.opponent = scenario, side, opponent
        self.utilities = scenario.utilities[side]
        self.greeted = False

    def ask(self, view: "PlayerView") -> "Offer | Accept | Walk":
        """The person's move: asks until there is one. At the end of the input, or Ctrl-C, the person leaves."""
        from negzoo.errors import MoveError
        from negzoo.opponents import Accept, Offer, Walk

        self._greet(view)
        self._show_round(view)
        while True:
            try:
                answer = self._read()
            except (EOFError, KeyboardInterrupt):
                out.print()
                return Walk()
            except MoveError as error:
                out.print(escape(str(error)))
                continue
            match answer:
                case Accept() if view.received is None:
                    out.print("There is no offer to accept yet: make one.")
                case Offer(outcome):
                    out.print(f"You offer what is worth {self.utilities[outcome]:.3f} to you.")
                    return answer
                case Accept() | Walk():
                    return answer
                case question:
                    self._explain(question)

    def _read(self) -> "Typed":
        from negzoo.cli.typed import understood

        line = input("> ")
        if not sys.stdin.isatty():
            out.print(escape(line))  # so that what was piped in can be followed
        return understood(line, self.scenario)

    def _greet(self, view: "PlayerView") -> None:
        if self.greeted:
            return
        self.greeted = True
        profile, other = self.scenario.profiles[self.side], self.scenario.profiles[1 - self.side]
        who = f"You are {profile.name}, {self.opponent} is {other.name}."
        out.print(f"[bold]{escape(self.scenario.name)}[/bold], {view.rounds} rounds. {escape(who)}")
        out.print(f"No agreement is worth {profile.reservation:g} to you. Type help to see what you can do.\n")
        self._show_options()

    def _show_options(self) -> None:
        """Issues and numbered options, with what each adds to the person's utility."""
        profile = self.scenario.profiles[self.side]
        shown = table("Issue and options", "Adds>")
        for position, issue in enumerate(self.scenario.issues):
            shown.add_row(f"[bold]{escape(issue.name)}[/bold]", "")
            parts = _parts(profile.weights[position], profile.evaluations[position])
            for number, (name, adds) in enumerate(zip(issue.options, parts, strict=True), 1):
                shown.add_row(f"  {number}  {escape(name)}", f"{adds:.3f}")
        out.print(shown)

    def _show_round(self, view: "PlayerView") -> None:
        left = view.rounds - view.round
        out.print(f"\n[bold]Round {view.round} of {view.rounds}[/bold], {f'{left} left' if left else 'the last'}")
        if view.received is not None:
            offer = escape(self.scenario.describe(view.received))
            out.print(f"{escape(self.opponent)} offers what is worth {view.received_utility:.3f} to you: {offer}")

    def _explain(self, question: "Typed") -> None:
        from negzoo.cli.typed import ListOffers, ShowOptions

        match question:
            case ListOffers(ceiling):
                self._list(ceiling)
            case ShowOptions():
                self._show_options()
            case _:
                picks = [issue.options[0].strip() for issue in self.scenario.issues]
                numbers = " ".join("1" for _ in picks)
                out.print(escape(HELP.format(by_name=", ".join(picks), by_number=numbers)))

    def _list(self, ceiling: float) -> None:
        affordable = [int(o) for o in (-self.utilities).argsort(kind="stable") if self.utilities[o] <= ceiling]
        if not affordable:
            out.print(f"Nothing is worth {ceiling:g} to you or less; the least is {self.utilities.min():.3f}.")
            return
        shown = table("Yours>", "Type", "Outcome")
        for outcome in affordable[:LISTED]:
            numbers = " ".join(str(option + 1) for option in self.scenario.options[outcome])
            shown.add_row(f"{self.utilities[outcome]:.3f}", numbers, escape(_options(self.scenario, outcome)))
        out.print(shown)


def _parts(weight: float, evaluations: "Sequence[float]") -> list[float]:
    """What each option of an issue adds to utility (eq. 1)."""
    from negzoo.scenario.domain import NEGLIGIBLE

    greatest = max(evaluations)
    return [weight * value / greatest if greatest >= NEGLIGIBLE else 0.0 for value in evaluations]


def _print_summary(games: "Games", person: int, opponent: str) -> None:
    """How it ended, and now that it has, what both sides could have had."""
    out.print(f"\n[bold]{_verdict(games, person, opponent)}[/bold]")
    scenario, mine = games.scenario, games.sides[person]
    agreement = int(games.negotiations.agreement[0])
    if agreement >= 0:
        earned, names = games.utilities[:, 0].tolist(), [profile.name for profile in scenario.profiles]
        you = f"You ({names[mine]}) got {earned[person]:.3f}"
        they = f"{opponent} ({names[1 - mine]}) got {earned[1 - person]:.3f}"
        out.print(escape(f"{you}, {they}: {_options(scenario, agreement)}"))
    out.print("\nThe Pareto frontier: what could not be better for one of you without being worse for the other.")
    out.print(_frontier_table(scenario, mine, agreement))
    if agreement >= 0:
        better = int((scenario.utilities > scenario.utilities[:, [agreement]]).all(axis=0).sum())
        out.print(f"{better} outcomes would have been better for both." if better else "None is better for both.")


def _verdict(games: "Games", person: int, opponent: str) -> str:
    from negzoo.engine import Ending

    step = int(games.negotiations.step[0])
    by_person = (step - 1) % 2 == person
    who = "You" if by_person else escape(opponent)
    match Ending(int(games.negotiations.ending[0])):
        case Ending.AGREEMENT:
            return f"Agreement in round {(step + 1) // 2}: {who} accepted."
        case Ending.WALKED:
            return f"No agreement: {who} left in round {(step + 1) // 2}."
        case Ending.DEADLINE:
            return "No agreement: the deadline has passed."
    return f"No agreement: {who} had no move to make in round {(step + 1) // 2}."


def _frontier_table(scenario: "Scenario", mine: int, agreement: int) -> Table:
    from negzoo.scenario import Geometry

    shown = table("", "You>", "They>", "Outcome")
    frontier = Geometry(scenario).frontier.tolist()
    for outcome in frontier if mine == 0 else reversed(frontier):
        own, other = scenario.utilities[[mine, 1 - mine], outcome]
        mark = AGREED if outcome == agreement else ""
        shown.add_row(mark, f"{own:.3f}", f"{other:.3f}", escape(_options(scenario, outcome)))
    return shown


def _options(scenario: "Scenario", outcome: int) -> str:
    """The options of an outcome, in the order of the issues."""
    picks = zip(scenario.issues, scenario.options[outcome], strict=True)
    return ", ".join(issue.options[option].strip() for issue, option in picks)


def _picture(games: "Games") -> "Figure":
    from negzoo.scenario.drawing import outcome_space  # matplotlib is slow to import

    moves, agreement = games.negotiations.history(0), int(games.negotiations.agreement[0])
    first, second = (
        [move for move in moves[games.sides.index(profile) :: 2].tolist() if move >= 0] for profile in (0, 1)
    )
    return outcome_space(games.scenario, (first, second), agreement if agreement >= 0 else None)
