"""One arm of a plan: a configuration that might be run, and where its runs will be recorded."""

from dataclasses import dataclass

from .faults import described
from .study import Study
from .toml_table import Table
from .words import DYNAMIC, FIXED


@dataclass(frozen=True, slots=True)
class Arm:
    """One configuration; `scalar_ms` None keeps the inherited remote cost scalar, `against` None is a baseline.

    `recorded_as` is the suite and cell under which its runs will be recorded, in a file of their own: the cell's suite with
    `-planned` behind it unless the file says so. The records that the plan stands on are never added to.
    """

    name: str
    cell: str
    kind: str
    depth: int
    scalar_ms: float | None
    against: str | None
    stage: int
    recorded_as: str


def read_arm(table: Table, study: Study, cells: frozenset[str], known: frozenset[float]) -> Arm:
    """One [[arm]]; `known` are the remote scalars with an effect, `cells` those that the design prior speaks of."""
    policy = table.table("policy")
    kind = policy.one_of("kind", (DYNAMIC, FIXED))
    word = "depth" if kind == FIXED else "cap"
    depth = policy.take(word)
    if not isinstance(depth, int) or isinstance(depth, bool) or not 1 <= depth <= study.max_depth:
        found = "nothing" if depth is None else described(depth)
        policy.fault(
            word, found, f"1 to {study.max_depth} would do: what is deeper is UNSUPPORTED by the trained block"
        )
        depth = 1
    scalar = table.take("remote_scalar_ms")
    number = isinstance(scalar, int | float) and not isinstance(scalar, bool)
    if scalar is not None and not (number and scalar in known):
        table.fault("remote_scalar_ms", described(scalar), "a scalar with an effect in [design.remote_scalar] would do")
        scalar = None
    cell = table.text("cell")
    if cell and cell not in cells:
        table.fault("cell", "a cell that the study does not fit", "suite/cell of a primary suite with runs would do")
    recorded_as = table.text(
        "recorded_as", default="/".join([f"{cell.partition('/')[0]}-planned", cell.partition("/")[2]])
    )
    if recorded_as in cells or "/" not in recorded_as:
        table.fault("recorded_as", "no cell that is new", "a suite/cell without any record so far would do")
    arm = Arm(
        name=table.text("name"),
        cell=cell,
        kind=kind,
        depth=depth,
        scalar_ms=None if scalar is None else float(scalar),
        against=table.text("against") if "against" in table.values else None,
        stage=table.whole("stage", 1, 99, optional=True) or 1,
        recorded_as=recorded_as,
    )
    policy.nothing_else()
    table.nothing_else()
    return arm


def faults_across_arms(top: Table, arms: tuple[Arm, ...]) -> None:
    """Faults between arms: names, what stands against what, and records that could not be told apart."""
    by_name = {arm.name: arm for arm in arms}
    if len(by_name) != len(arms):
        top.fault("arm", "a name twice", "one name for each arm would do")
    if len({(arm.recorded_as, arm.kind, arm.depth) for arm in arms}) != len(arms):
        top.fault("arm", "two arms whose records look alike", "another recorded_as for one of them would do")
    if not any(arm.against is not None for arm in arms):
        top.fault("arm", "no arm that is held against another", 'against = "the baseline\'s name" would do')
    for place, arm in enumerate(arms, 1):
        if arm.against is None:
            continue
        other = by_name.get(arm.against)
        if other is None or other is arm:
            top.fault(f"arm[{place}].against", "no other arm's name", f"one of {len(arms) - 1} other names would do")
        elif other.cell != arm.cell:
            top.fault(f"arm[{place}].against", "an arm of another cell", "an arm of the same cell would do")
