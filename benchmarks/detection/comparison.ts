import { packedCells, packedHistories } from './labelled.ts';
import { type OurTimes, ourTimes } from './our-times.ts';
import { ourAlarms, ourNightAlarms, ourVerdicts } from './ours.ts';
import { peerAlarms, peerNightAlarms, peersPython, peerVerdicts } from './peers.ts';
import { type HistoryScore, scoreHistories, scoreNights } from './score.ts';
import { type CellScore, scoreCells } from './score-cells.ts';
import { simulateHistories } from './simulate-histories.ts';
import { simulateMatrices } from './simulate-matrices.ts';

export interface ComparisonOptions {
  /** Of simulated sets that nobody tuned on; null for the packed ones. */
  readonly seed: number | null;
  readonly peers: boolean;
  /** Asks the peers every night too: minutes. */
  readonly peerNights: boolean;
}

export interface DetectorRow {
  readonly name: string;
  readonly whole: HistoryScore;
  /** Null where it was not asked. */
  readonly nightly: HistoryScore | null;
  readonly msPerHistory: number;
}

export interface DeciderRow {
  readonly name: string;
  readonly score: CellScore;
  readonly msPerCell: number;
}

export interface Comparison {
  readonly detectors: readonly DetectorRow[];
  readonly deciders: readonly DeciderRow[];
  readonly times: OurTimes;
  /** Why there are no peers, when they were asked for. */
  readonly withoutPeers: string | null;
}

/** Our detectors, and the peers on the same records in the same minutes. */
export async function compareDetectors(options: ComparisonOptions): Promise<Comparison> {
  const { seed } = options;
  const histories = seed === null ? packedHistories('synthetic-dev') : simulateHistories(seed);
  const cells = seed === null ? packedCells() : simulateMatrices(seed);
  const python = options.peers ? await peersPython() : null;
  const times = await ourTimes(histories, cells);
  const ours: DetectorRow = {
    name: 'bench detect',
    whole: scoreHistories(histories, ourAlarms(histories)),
    nightly: scoreNights(histories, ourNightAlarms(histories)),
    msPerHistory: times.history,
  };
  const decider: DeciderRow = {
    name: 'bench detect --ab',
    score: scoreCells(cells, ourVerdicts(cells)),
    msPerCell: times.cell,
  };
  if (python === null) {
    const withoutPeers = options.peers ? 'not measured: needs python3 (apt-get install python3)' : null;
    return { detectors: [ours], deciders: [decider], times, withoutPeers };
  }
  const whole = await peerAlarms(python, histories);
  const nightly = options.peerNights ? await peerNightAlarms(python, histories) : null;
  const verdicts = await peerVerdicts(python, cells);
  const detectors = [...whole.answers].map(([name, answers]): DetectorRow => {
    const reported = nightly?.get(name) ?? null;
    return {
      name,
      whole: scoreHistories(histories, answers),
      nightly: reported === null ? null : scoreNights(histories, reported),
      msPerHistory: whole.timesMs.get(name) ?? Number.NaN,
    };
  });
  const deciders = [...verdicts.answers].map(([name, answers]): DeciderRow => ({
    name,
    score: scoreCells(cells, answers),
    msPerCell: verdicts.timesMs.get(name) ?? Number.NaN,
  }));
  return { detectors: [ours, ...detectors], deciders: [decider, ...deciders], times, withoutPeers: null };
}
