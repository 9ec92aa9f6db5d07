# SPDX-License-Identifier: Apache-2.0
"""The record of a board, its log lines, its unit, the limits per person, and generated board names."""

from __future__ import annotations

import random
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from aboard.model.states import UnitState


class BoardKind(StrEnum):
    """Where a board lives."""

    SERVER = "server"  # in the server process
    PROCESS = "process"  # a stock tensorboard process behind the proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRecord:
    """A board as the catalog keeps it. `sources` are selections as a person would type them."""

    id: str  # a UUID
    name: str  # a pet name
    workspace: str
    sources: tuple[str, ...]
    created: datetime
    owner: str = ""
    kind: BoardKind = BoardKind.SERVER
    state: UnitState = UnitState.PENDING
    description: str = ""
    where: str = ""
    template: str = ""
    started: datetime | None = None
    last_used: datetime | None = None
    ended: datetime | None = None
    idle_timeout: timedelta | None = None
    max_runtime: timedelta | None = None
    exit_status: str = ""
    reason: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])  # arguments, executor, image …
    scope: tuple[str, ...] | None = None
    """Folded names of the workspaces that its maker could look into; None for all. No run of another is ever shown."""
    shown: tuple[str, ...] = ()
    """Folded names of the workspaces whose runs it has shown."""
    run_count: int | None = None
    """How many runs it showed when it was last looked at."""
    secret: str = field(default="", repr=False)
    """By which every server process understands the addresses of pictures that another gave out."""

    unit: str = ""
    """The unit of a board that is a process, as long as something may be left of it."""
    unit_host: str = ""
    """The machine whose servers look after that unit."""

    @property
    def expires(self) -> datetime | None:
        """When its longest time to run is over."""
        return self.started + self.max_runtime if self.started and self.max_runtime else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardLimits:
    """The most boards of one person that are not stopped; and of all people together."""

    server: int = 100
    process: int = 5
    total: int | None = None
    """Of both kinds and of everybody; None for no such limit."""

    def of(self, kind: BoardKind) -> int:
        """The most of this kind."""
        return self.server if kind is BoardKind.SERVER else self.process


class LineLevel(StrEnum):
    """How much a line matters, from little to much."""

    TRACE = "TRACE"
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"

    @property
    def and_above(self) -> tuple[LineLevel, ...]:
        """The level itself and those that matter more."""
        order = list(LineLevel)
        return tuple(order[order.index(self) :])


@dataclass(frozen=True, slots=True)
class BoardLine:
    """One line; `id` grows from line to line."""

    id: int
    at: datetime
    level: LineLevel
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardUnit:
    """Kept from before the unit is submitted until nothing is left of it; the board may be gone, or have another."""

    unit: str
    board_id: str
    host: str
    """The home folder whose servers look after it, with the name of its machine."""
    executor: str = ""
    """Empty as long as nothing was submitted."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """Of the executor when the unit was made: what the server has settled may be another thing now."""
    mirror: str = ""
    """The folder with the copies of the runs."""
    said: int = 0
    """How many bytes of its output are in the log of the board."""

    @property
    def machine(self) -> str:
        """The machine of its host."""
        return self.host.partition(":")[0]


_ADVERBS = """
    ably absently actively amply aptly boldly briefly brightly briskly calmly carefully cheerfully clearly cleverly
    closely daily dearly deeply deftly duly eagerly early easily evenly fairly finely firmly fondly freely freshly
    friendly fully gently gladly gracefully greatly happily highly humbly jointly jolly justly keenly kindly largely
    lately lightly loudly lovingly merrily mildly mostly neatly newly nicely nimbly nobly openly partly patiently
    plainly politely promptly properly proudly quickly quietly rapidly rarely readily really richly sharply shyly
    silently simply slowly smoothly snugly softly solidly steadily strongly surely swiftly tenderly thankfully
    tidily timely truly usually vastly vividly warmly weekly wholly widely wisely yearly
""".split()  # noqa: SIM905  a list of three hundred literals would be three hundred lines
_ADJECTIVES = """
    able agile alert amber ample apt azure balmy blithe blue bold brave breezy brief bright brisk broad calm candid
    careful cheery civil clean clear clever close coastal cool copper coral cosmic cozy crisp curious cute dainty
    daring dear deft eager early earnest easy elegant emerald even exact fair famous fancy fast fine firm fleet
    fluent fond frank free fresh frosty full gentle giant glad golden good grand great green handy happy hardy hazel
    honest humble ideal indigo ivory jolly joyful just keen kind large light lively lofty loyal lucid lucky lunar
    magic mellow merry mighty mild mint modest neat new nice nimble noble novel olive open orange patient peaceful
    plain pleasant plucky polar polite prime proud pure quick quiet rapid rare ready red regal rich robust rosy
    round royal sandy scarlet serene sharp shiny silent silver simple sincere sleek small smart smooth snowy snug
    social soft solar solid sonic spry stable starry steady stellar still strong sturdy subtle sunny super sure
    sweet swift tall tender tidal tidy tiny trim true trusty upbeat useful valid vast verdant vital vivid warm wise
    witty wonderful young zesty
""".split()  # noqa: SIM905  a list of three hundred literals would be three hundred lines
_NOUNS = """
    acorn albatross alder alpaca anchor antelope apple apricot aspen atlas aurora badger bamboo banjo barley basil
    bay beacon beaver beech bell birch bison bluebell bobcat brook buffalo butterfly cactus canyon cardinal caribou
    cedar cello cherry chestnut cicada citrus cliff cloud clover cobra comet compass condor coral cosmos cougar
    coyote crane cricket crocus cypress daisy dawn deer delta dolphin dove dragonfly dune eagle echo elk elm ember
    falcon feather fern finch firefly fjord flamingo flute forest fox frog galaxy garnet gazelle gecko geyser ginger
    giraffe glacier goose gopher grove gull harbor hare harp hawk hazel heron hickory hill horizon hornet ibex ibis
    iguana inlet iris island ivy jackal jade jaguar jasmine jay juniper kestrel kingfisher kite kiwi koala lagoon
    lake lantern larch lark laurel lava lavender lemon lemur leopard lichen lily lion llama lobster lotus lynx
    magnolia magpie mango mantis maple marble marlin marmot marten meadow melon meteor mink mole moon moose mountain
    nebula newt nightingale oak oasis ocean olive opal orca orchid oriole osprey otter owl oyster palm panda panther
    parrot peach peak pear pearl pebble pelican penguin pepper phoenix pine planet plum pond poplar poppy prairie
    puffin puma quail quartz quince rabbit raccoon rain raven reef reindeer ridge river robin rose ruby saffron sage
    salmon sapphire seal sequoia shell shore sky snow sparrow spruce squirrel star starling stork stream summit sun
    swallow swan tapir teal thistle thrush thunder tide tiger topaz tortoise toucan trout tulip tundra turtle valley
    violet walnut walrus waterfall wave weasel whale willow wind wolf wombat wren yak zebra
""".split()  # noqa: SIM905  a list of three hundred literals would be three hundred lines
_TRIES = 20


def pet_name(taken: Container[str] = (), *, chance: random.Random | None = None) -> str:
    """A name that is not among those `taken`; the last resort is a number at its end."""
    chance = chance or random.SystemRandom()
    names = ("-".join(map(chance.choice, (_ADVERBS, _ADJECTIVES, _NOUNS))) for _ in range(_TRIES))
    name = ""
    for name in names:
        if name not in taken:
            return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
