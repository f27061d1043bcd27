"""How many steps a rule may report in their own sweep where a sweep is one run and single runs are accidents.

    python3 benchmarks/ceiling.py DIR[,DIR...]    folders with sweeps.jsonl and truth.jsonl of simulated matrices

The rule knows more than any judge: each cell's true level and noise, and the distributions of steps, excursions and
accidents that the data were drawn from. It weighs a sweep far off by their densities, and the kind of the cell by Bayes' rule
from its sweeps without an accident. By Neyman and Pearson no rule reports more steps and excursions at 5 false reports
in 1,000 sweeps of cells with accidents. Noise alone is never far off for it, so its figures are upper bounds.
"""
import json
import math
import sys

FALSE_SHARE = 0.005
ACCIDENT_CELLS, ACCIDENT_SHARE = 0.06, 0.08
EXCURSION_CELLS = 0.70
STEP_RATE = 2 / 3 * 2.5 / 24 / 38
EXCURSION_RATE = 2 / 3 * 0.075 / 38


def shrink(rel):
    """Size of a change, faster ones as the slower change that they undo, and the derivative."""
    return (rel, 1, True) if rel >= 0 else (1 / (1 + rel) - 1, 1 / (1 + rel) ** 2, False)


def step_density(rel):
    size, slope, slower = shrink(rel)
    density = (0.92 / (size * math.log(120)) if 0.005 <= size <= 0.6 else 0) + (0.04 if 1 <= size <= 3 else 0)
    return density * slope * (0.75 if slower else 0.25)


def accident_density(rel):
    size, slope, slower = shrink(rel)
    return slope * (0.85 if slower else 0.15) / 0.35 if 0.05 <= size <= 0.4 else 0


def excursion_density(rel):
    return 1 / 0.27 if 0.03 <= rel <= 0.3 else 0


def smeared(density, rel, unit):
    return sum(density(rel + k * unit * (1 + rel)) for k in (-1.5, -0.75, 0, 0.75, 1.5)) / 5


def odds(rel, unit, quiet, accidents):
    """Of a step or an excursion against an accident, after so many sweeps without one."""
    accident = ACCIDENT_CELLS * (1 - ACCIDENT_SHARE) ** quiet
    share = 1 if accidents else accident / (accident + 1 - ACCIDENT_CELLS)
    calm = (1 - share) * EXCURSION_CELLS / (1 - ACCIDENT_CELLS)
    real = STEP_RATE * smeared(step_density, rel, unit) + EXCURSION_RATE * calm * smeared(excursion_density, rel, unit)
    false = ACCIDENT_SHARE * share * smeared(accident_density, rel, unit)
    return real / false if false > 0 else math.inf


def events(sweeps, cell):
    """Steps, excursions and accidents of a cell with one run a sweep: kind, z, odds."""
    unit = math.sqrt(cell["sigma_sweep"] ** 2 + cell["sigma_night"] ** 2 + cell["sigma_run"] ** 2)
    steps = [event for event in cell["events"] if event["kind"] in ("step", "recovery")]
    excursions = {event["at"] for event in cell["events"] if event["kind"] == "excursion"}
    seen = [at for at, runs in enumerate(sweeps) if runs]
    begins = {next((at for at in seen if at >= step["at"]), None): step for step in steps}
    accidents = 0
    for before, at in enumerate(seen):
        log = math.log(sweeps[at][0])
        off = abs(log - cell["levels"][at])
        is_accident = cell["kind"] == "outlier" and off > max(0.03, 6 * unit)
        step = begins.get(at)
        rel = math.expm1(log - cell["base"][step["at"] - 1 if step else at])
        if before > 0 and (is_accident or step or at in excursions):
            kind = "accident" if is_accident else "step" if step else "excursion"
            change = cell["base"][at] - cell["base"][step["at"] - 1] if step else cell["levels"][at] - cell["base"][at]
            yield kind, abs(change) / unit, odds(rel, unit, before - accidents, accidents)
        accidents += is_accident


def main(folders):
    found, sweeps_with_accidents = [], 0
    for folder in folders:
        with open(f"{folder}/sweeps.jsonl") as seen, open(f"{folder}/truth.jsonl") as truth:
            for line, true_line in zip(seen, truth):
                sweeps, cell = json.loads(line)["sweeps"], json.loads(true_line)
                if cell["k"] > 1:
                    continue
                found += events(sweeps, cell)
                sweeps_with_accidents += (cell["kind"] == "outlier") * (len([1 for runs in sweeps if runs]) - 1)
    accidents = sorted((chance for kind, _, chance in found if kind == "accident"), reverse=True)
    least = accidents[int(FALSE_SHARE * sweeps_with_accidents)]
    for kind, low, high in ("step", 10, math.inf), ("step", 6, 10), ("step", 4, 6), ("excursion", 6, math.inf):
        told = [chance > least for found_kind, z, chance in found if found_kind == kind and low <= z < high]
        print(f"{kind:10} z {low} to {high}: {100 * sum(told) / max(1, len(told)):5.1f} % of {len(told)}")


if __name__ == "__main__":
    main(sys.argv[1].split(","))
