import { compareTexts } from '../../text/compare-texts.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { ENVIRONMENT_FIELDS } from '../../judge/compare/differences.ts';
import { judgeFleet, LEAST_TWINS, type MachineStanding } from '../../judge/fleet.ts';
import { metricOf } from '../../records/metric.ts';
import { metricNamed } from '../../selection/by-name.ts';
import { type Fleet, type FleetMachine, type MachineValue, readFleet } from '../../selection/fleet.ts';
import { median } from '../../statistics/median.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { cellLabel, inLabelOrder } from '../../text/cell-label.ts';
import type { MachinesOptions } from './command.ts';
import { machinesText } from './machines-text.ts';
import type { MachinesOutput } from './output.ts';

const DAY_S = 86_400;
const DEFAULT_DAYS = 30;

export function listMachines(options: MachinesOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, (store) => {
    const days = options.since === undefined ? DEFAULT_DAYS : options.since / DAY_S;
    const fleet = readFleet(store.db, options.filter, metricNamed(store.db, options.metric), days);
    const known = new Map((fleet?.values ?? []).map(({ cell }) => [cell.key, cell]));
    return printResult(io, options, machinesOf(fleet), (output, look) =>
      machinesText(output, options.cells === true ? known : null, options.filter !== undefined, look),
    );
  });
}

function machinesOf(fleet: Fleet | null): MachinesOutput {
  if (fleet === null) return { schemaVersion: 1, provenance: null, headlines: [], machines: [], cells: [] };
  const standings = new Map(judgeFleet(fleet.values).map((standing) => [standing.machine, standing]));
  const machines = fleet.machines
    .map((machine) => machineOf(machine, standings.get(machine.name), fleet.machines))
    .toSorted(
      (a, b) =>
        compareTexts(a.gpuName, b.gpuName) ||
        (b.changePercent ?? 0) - (a.changePercent ?? 0) ||
        compareTexts(a.name, b.name),
    );
  return {
    schemaVersion: 1,
    provenance: fleet.provenance,
    headlines: machines.flatMap((machine) => headlineOf(machine)),
    machines,
    cells: cellsByGpu(fleet.values),
  };
}

type ListedMachine = MachinesOutput['machines'][number];

const NO_STANDING: Omit<MachineStanding, 'machine'> = {
  twins: 0,
  cells: 0,
  slowerCells: 0,
  changePercent: null,
  standing: null,
};

function machineOf(
  { environment, gpuName, lastAt, measured, name, others, sweeps }: FleetMachine,
  standing: MachineStanding | undefined,
  all: readonly FleetMachine[],
): ListedMachine {
  const { driver, gpuUuid, host, tensorrt } = environment;
  const { cells, changePercent, slowerCells, standing: how, twins } = standing ?? NO_STANDING;
  const rest = all.filter((other) => other.gpuName === gpuName && other.name !== name);
  return {
    name,
    host,
    gpuName,
    gpuUuid,
    driver,
    tensorrt,
    sweeps,
    lastAt,
    measured,
    others,
    twins,
    cells,
    slowerCells,
    changePercent,
    standing: how,
    differences: differencesFrom(environment, rest),
  };
}

/** Every machine has its own. */
const OWN: readonly string[] = ['host', 'gpuUuid', 'numaNode'];

/** `power limit 600 W, its twins 700 W`: where more than half of the twins agree on something else. */
function differencesFrom(own: FleetMachine['environment'], twins: readonly FleetMachine[]): string[] {
  if (twins.length < LEAST_TWINS) return [];
  return ENVIRONMENT_FIELDS.filter(([field]) => !OWN.includes(field)).flatMap(([field, name, unit]) => {
    const groups = Map.groupBy(twins, ({ environment }) => environment[field]);
    const [usual] = [...groups].find(([, having]) => having.length > twins.length / 2) ?? [];
    const value = own[field];
    if (usual === undefined || usual === null || value === null || value === usual) return [];
    return [`${name} ${value}${unit}, its twins ${usual}${unit}`];
  });
}

/** `node17 is 4.0 % slower than its 9 twins in 60 of 72 cells (NVIDIA H200): power limit 600 W, its twins 700 W` */
function headlineOf(machine: ListedMachine): string[] {
  const { cells, changePercent, differences, gpuName, name, slowerCells, standing, twins } = machine;
  if (changePercent === null || (standing !== 'slower' && standing !== 'faster')) return [];
  const having = standing === 'slower' ? slowerCells : cells - slowerCells;
  const size = formatPercent(Math.abs(changePercent), false);
  const why = differences.length === 0 ? '' : `; ${differences.join('; ')}`;
  return [
    `${name} is ${size} ${standing} than its ${count(twins, 'twin')} in ${having} of ${count(cells, 'cell')} (${gpuName})${why}`,
  ];
}

function cellsByGpu(values: readonly MachineValue[]): MachinesOutput['cells'] {
  const byKey = Map.groupBy(values, ({ cellKey }) => cellKey);
  const cells = inLabelOrder([...byKey.values()].flatMap(([first]) => first?.cell ?? []));
  return cells.flatMap((cell) => {
    const own = byKey.get(cell.key) ?? [];
    const [first] = own;
    if (first === undefined) return [];
    const gpus = [...Map.groupBy(own, ({ gpuName }) => gpuName)].map(([gpuName, of]) => {
      const numbers = of.map(({ value }) => value);
      return {
        gpuName,
        machines: of.length,
        value: median(numbers) ?? 0,
        least: Math.min(...numbers),
        most: Math.max(...numbers),
        tensorrt: [...new Set(of.flatMap(({ tensorrt }) => tensorrt ?? []))].toSorted(),
      };
    });
    const { metric } = first;
    return [
      {
        key: cell.key,
        label: cellLabel(cell),
        metric,
        unit: metricOf(metric).unit,
        gpus: gpus.toSorted((a, b) => compareTexts(a.gpuName, b.gpuName)),
      },
    ];
  });
}
