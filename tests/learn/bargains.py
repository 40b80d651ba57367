"""A bargain small enough to learn in a moment, and someone who does in it whatever can be done."""

from negzoo.envs import NegotiationSettings
from negzoo.learn.settings import PPOSettings
from negzoo.opponents.python import Accept, Answer, Offer, PlayerView, PythonOpponent, Walk
from negzoo.scenario import Issue, Profile, Scenario

TOY = Scenario(
    "toy",
    (Issue("price", ("low", "high")), Issue("delivery", ("now", "later", "never"))),
    (
        Profile("buyer", (0.6, 0.4), ((1.0, 0.25), (1.0, 0.5, 0.1))),
        Profile("seller", (0.7, 0.3), ((0.2, 1.0), (0.4, 0.9, 1.0))),
    ),
)
SHORT = NegotiationSettings(rounds=4)
TINY = PPOSettings(horizon=32, envs=2, epochs=2, minibatch=16)


class Erratic(PythonOpponent):
    """Offers, mostly; else it accepts, walks away, makes no move at all, or raises."""

    def respond(self, view: PlayerView) -> Answer:
        match int(view.rng.integers(12)):
            case 0 | 1 if view.received is not None:
                return Accept()
            case 2:
                return Walk()
            case 3:
                return None
            case 4:
                raise ArithmeticError("it cannot count")
        return Offer(int(view.rng.integers(view.utilities.size)))
