/**
 * Our detectors beside others on the same labelled data: how often right, how often wrong, how fast.
 *
 *     node benchmarks/detection/compare.ts                     ours, on the packed sets
 *     node benchmarks/detection/compare.ts --seed 7 --peers    on sets made anew, with the peers in Python
 */
import { parseArgs } from 'node:util';

import { compareDetectors } from './comparison.ts';
import { comparisonLines } from './comparison-table.ts';

const USAGE = `usage: node benchmarks/detection/compare.ts [--seed N] [--peers] [--peer-nights] [--json]

  --seed N       sets made anew from this seed instead of the packed ones
  --peers        other detectors too, in Python with packages from its index
  --peer-nights  the same, and asks them every night with only the past: some minutes
  --json         one JSON object
`;

/** @returns what to print, and the exit code */
export async function compare(args: readonly string[]): Promise<{ text: string; code: 0 | 2 }> {
  const { values: options } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      peers: { type: 'boolean', default: false },
      'peer-nights': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (options.help) return { text: USAGE, code: 0 };
  const seed = options.seed === undefined ? null : Number(options.seed);
  if (seed !== null && !(Number.isInteger(seed) && seed >= 0)) {
    return { text: `--seed ${options.seed}: must be a whole number\n`, code: 2 };
  }
  const peerNights = options['peer-nights'];
  const comparison = await compareDetectors({ seed, peers: options.peers || peerNights, peerNights });
  const text = options.json
    ? JSON.stringify({ schemaVersion: 1, seed, ...comparison }, null, 1)
    : comparisonLines(comparison).join('\n');
  return { text: `${text}\n`, code: 0 };
}

if (process.argv[1] === import.meta.filename) {
  const { text, code } = await compare(process.argv.slice(2));
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exitCode = code;
}
