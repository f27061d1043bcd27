/**
 * Does `bench choose --search` find what the whole product finds, and with how many runs? A simulation with made-up
 * numbers from a seed: `node benchmarks/latency-search.ts [CASES] [SEED]`.
 *
 * A case is one axis of 6 to 16 batches or streams, five runs of each in the whole product, and a limit between the
 * lowest latency and the highest, or just outside. Latency is a floor and a power of the batch; in a tenth of the cases a
 * batch in the middle is 10 to 40 % slower than it should be. Runs differ by 0.2 to 3 % (median latencies: 0.1 to
 * 1.5 % were recorded; p99 more), every fortieth run by 5 to 20 % more. The answer of the product is the highest batch
 * whose median of five runs is within the limit: of the very runs that the search may use (same), and of others of the
 * same cells (again), which is how well the product agrees with itself.
 */
import { judgePoints, type SearchPoint, searchStep } from '../src/judge/latency-search.ts';
import { seededRandom } from '../src/matrix/plan/order.ts';
import { median } from '../src/statistics/order-statistics.ts';

const REPEATS = 5;
const ERROR = 0.05;

interface SimulatedCase {
  readonly limitMs: number;
  readonly batches: readonly number[];
  /** Of each batch, the runs of two products. */
  readonly runs: readonly (readonly number[])[];
  readonly others: readonly (readonly number[])[];
}

function simulate(random: () => number): SimulatedCase {
  const normal = (): number => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
  const points = 6 + Math.floor(random() * 11);
  const isDense = random() < 0.5;
  const batches = Array.from({ length: points }, (_, place) => (isDense ? 4 * (place + 1) : 2 ** place));
  const floor = 0.1 + random();
  const [slope, power] = [0.02 + 0.2 * random(), 0.7 + 0.35 * random()];
  const bump = random() < 0.1 ? Math.floor(random() * points) : -1;
  const level = batches.map(
    (batch, place) => (floor + slope * batch ** power) * (place === bump ? 1.1 + 0.3 * random() : 1),
  );
  const [least = 1, most = 1] = [Math.min(...level) / 1.1, Math.max(...level) * 1.1];
  const limitMs = least * (most / least) ** random();
  const sigma = 0.002 * 15 ** random();
  const runsOf = (): number[][] =>
    level.map((ms) =>
      Array.from(
        { length: REPEATS },
        () => ms * Math.exp(sigma * normal()) * (random() < 1 / 40 ? 1.05 + 0.15 * random() : 1),
      ),
    );
  return { limitMs, batches, runs: runsOf(), others: runsOf() };
}

function highest({ batches, limitMs }: SimulatedCase, runs: readonly (readonly number[])[]): number | null {
  return batches.findLast((_, place) => (median(runs[place] ?? []) ?? Infinity) <= limitMs) ?? null;
}

export function search({ batches, limitMs, runs }: SimulatedCase) {
  const made = batches.map(() => 0);
  for (;;) {
    const points = batches.map((at, place): SearchPoint => {
      const values = (runs[place] ?? []).slice(0, made[place]);
      return { cellKey: String(place), at, values, past: [], kind: '', isSpent: values.length === REPEATS };
    });
    const [judged = []] = judgePoints([points], { ms: limitMs, error: ERROR });
    const { next, best, isMonotone } = searchStep(judged);
    if (next === null) return { answer: best?.at ?? null, runs: made.reduce((a, b) => a + b, 0), isMonotone };
    const place = batches.indexOf(next.at);
    made[place] = (made[place] ?? 0) + 1;
  }
}

/** Shares of the cases, and of the runs of all products. */
export function searchCases(cases: number, seed: number) {
  const random = seededRandom(seed);
  const tally = { same: 0, again: 0, productAgain: 0, runs: 0, product: 0, told: 0 };
  for (let at = 0; at < cases; at += 1) {
    const simulated = simulate(random);
    const { answer, runs, isMonotone } = search(simulated);
    const [product, again] = [highest(simulated, simulated.runs), highest(simulated, simulated.others)];
    tally.same += Number(answer === product);
    tally.again += Number(answer === again);
    tally.productAgain += Number(product === again);
    tally.runs += runs;
    tally.product += simulated.batches.length * REPEATS;
    tally.told += Number(!isMonotone);
  }
  return tally;
}

function percent(part: number, of: number): string {
  return `${((100 * part) / of).toFixed(1)} %`;
}

if (import.meta.main) {
  const [cases = 100, seed = 1] = process.argv.slice(2).map(Number);
  const { same, again, productAgain, runs, product, told } = searchCases(cases, seed);
  process.stdout.write(
    `same answer as the product: ${percent(same, cases)} of ${cases} cases
same answer as another product of these cells: ${percent(again, cases)}; the product itself: ${percent(productAgain, cases)}
runs: ${runs} of ${product}, ${percent(runs, product)}; latencies that fall were told in ${told} cases
`,
  );
}
