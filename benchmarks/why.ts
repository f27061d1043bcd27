// How often `bench why` names the right cause first, on cases made from real recordings: node benchmarks/why.ts [SEED...]
import { processIo } from '../src/cli/io.ts';
import { scoreCases } from '../test/support/why/score.ts';

const seeds = process.argv.slice(2).map(Number);
const io = processIo();
for (const seed of seeds.length > 0 ? seeds : [1]) {
  const scored = await scoreCases(seed, io);
  const right = scored.filter(({ isRight }) => isRight).length;
  io.out(`seed ${seed}: ${right} of ${scored.length} right (${((right / scored.length) * 100).toFixed(1)} %)\n`);
  for (const { name, said, isRight } of scored) if (!isRight) io.out(`  ${name}: said ${said}\n`);
}
