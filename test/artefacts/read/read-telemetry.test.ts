import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { readTelemetry } from '../../../src/artefacts/read/read-telemetry.ts';
import { runFilesOf } from '../../../src/artefacts/run-files.ts';
import { emptyManifest } from '../../../src/artefacts/run-manifest.ts';
import { silentRun } from '../../../src/trtexec/log/run-builder.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { importedStore } from '../../support/made-stores.ts';
import { jsonOf, OUTPUTS } from '../../support/outputs.ts';
import { SMI_FIXTURES } from '../../support/nvidia-smi.ts';
import { SUSTAINED } from '../../support/recordings.ts';
import { queryStore, firstId } from '../../support/store-dump.ts';

/** A copy of the 20 s run, with or without the file that nvidia-smi left beside it. */
function sustained(file: { name: string; content: string | Buffer } | null): string {
  const folder = join(temporaryFolder(), 'sustained');
  cpSync(SUSTAINED, folder, { recursive: true });
  rmSync(join(folder, 'nvidia-smi-loop.csv'));
  if (file !== null) writeFileSync(join(folder, file.name), file.content);
  return folder;
}

async function telemetryIn(folder: string) {
  const [run] = await readRunFolder(folder);
  return {
    telemetry: run?.telemetry,
    notes: run?.notes.filter((note) => /^(?:nvidia-smi\.|dmon|telemetry)/.test(note)),
  };
}

const loop = readFileSync(join(SUSTAINED, 'nvidia-smi-loop.csv'), 'utf8');

test('of GPUs that another harness used together its own speaks for the run', async () => {
  const uuids = ['GPU-00000000-0000-4000-8000-000000000000', 'GPU-00000001-0000-4000-8000-000000000000'];
  const sample = (uuid: string, second: number, mhz: number, watts: number): string =>
    `2026/11/21 02:00:0${second}.000, ${uuid}, ${mhz} MHz, ${watts} W, 99 %`;
  const lines = [0, 1, 2].flatMap((second) => [
    sample(uuids[0] ?? '', second, 1980, 610),
    sample(uuids[1] ?? '', second, 1755, 698),
  ]);
  const header = 'timestamp, uuid, clocks.current.sm [MHz], power.draw [W], utilization.gpu [%]';
  const files = runFilesOf('/run', new Map([['telemetry.csv', Buffer.from(`${[header, ...lines].join('\n')}\n`)]]));
  const manifest = { ...emptyManifest(), environment: { gpuUuid: uuids[1] ?? '' } };
  const { notes, telemetry } = await readTelemetry(files, manifest, silentRun());
  expect(telemetry).toMatchObject({ samples: 3, smClockMhz: 1755, powerW: 698 });
  expect(notes).toEqual([]);
});

describe('what somebody let nvidia-smi print beside a run', () => {
  test('is imported with it: 689.5 W of 700 W, held by the power cap all the time', async () => {
    const db = await importedStore(SUSTAINED);
    const columns = `samples, sm_clock_mhz, sm_clock_min_mhz, power_w, power_max_w, temperature_max_c,
      gpu_utilisation_percent, clock_reasons, host_load`;
    expect(queryStore<object>(db, `SELECT ${columns} FROM run_telemetry`).map((row) => Object.values(row))).toEqual([
      [81, 1815, 1650, 689.53, 692.74, 52, 100, '{"swPowerCap":1,"hwSlowdown":0}', null],
    ]);
    const run = firstId(db, 'SELECT run_id AS id FROM runs');
    const text = (await bench(['show', run, '--db', db])).stdout.replaceAll(/\s+/g, ' ');
    const clocks = 'watched 81 samples, SM 1815 MHz, at least 1650 MHz, memory 3201 MHz, 689.5 W, at most 692.7 W,';
    expect(text).toContain(`${clocks} up to 52 °C, GPU busy 100 % held by power cap 100 % of the time`);
  });

  test('gives the energy of a query and of an item: 689.53 W over 315.32 queries a second of 32 images', async () => {
    const db = await importedStore(SUSTAINED);
    const now = async (metric: string) =>
      (await jsonOf(OUTPUTS.trend, ['trend', '--metric', metric, '--db', db])).cells[0]?.now;
    expect(await now('energy')).toBeCloseTo((689.53 / 315.325) * 1000, 1);
    expect(await now('item-energy')).toBeCloseTo((689.53 / 315.325 / 32) * 1000, 2);
    const cells = async (filter: string) =>
      (await jsonOf(OUTPUTS.cells, ['ls', 'cells', '--filter', filter, '--db', db])).cells.length;
    expect([await cells('energy>2100 & energy<2200'), await cells('item-energy>100')]).toEqual([1, 0]);
  });

  test.each([
    ['nvidia-smi.csv.gz', gzipSync(loop)],
    ['nvidia-smi-1s.csv', loop],
  ])('may be called %s', async (name, content) => {
    expect((await telemetryIn(sustained({ name, content }))).telemetry).toMatchObject({ samples: 81, powerW: 689.53 });
  });

  test('may be of dmon', async () => {
    const name = 'dmon-pcu.txt';
    const content = readFileSync(join(SMI_FIXTURES, 'dmon-580.txt'));
    const { telemetry } = await telemetryIn(sustained({ name, content }));
    expect(telemetry).toMatchObject({ samples: 3, smClockMhz: 345, powerW: 78 });
  });

  test.each([
    ['of another GPU', 'uuid, power.draw [W]\nGPU-other, 5 W\n', 'has no samples of the GPU of this run'],
    ['something else', 'No devices were found\n', 'is damaged: no header'],
  ])('%s is a note', async (_, content, note) => {
    const read = await telemetryIn(sustained({ name: 'nvidia-smi.csv', content }));
    expect(read).toEqual({ telemetry: null, notes: [expect.stringContaining(`nvidia-smi.csv ${note}`)] });
  });
});

describe('dmon beside a log without a folder of its own', () => {
  const dmon = [
    '# gpu    pwr  gtemp     sm   pclk',
    '# Idx      W      C      %    MHz',
    '    0     78     36      0    345',
    '    0    611     58    100   1830',
    '    0    615     60    100   1815',
  ].join('\n');
  const log = brotliDecompressSync(readFileSync(join(SUSTAINED, 'stdout.log.br')));

  test.each([
    ['named by --telemetry', (folder: string) => [join(folder, 'run.log'), '--telemetry', join(folder, 'watch.log')]],
    ['in its folder, under any name', (folder: string) => [folder]],
  ])('%s is imported, kept and restored with it', async (_, paths) => {
    const [folder, place] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(join(folder, 'run.log'), log);
    writeFileSync(join(folder, 'watch.log'), dmon);
    const imported = await bench(['import', ...paths(folder), '--db', join(place, 'a.sqlite')]);
    expect([imported.code, imported.stderr]).toEqual([0, '']);
    await bench(['import', join(place, 'artefacts'), '--db', join(place, 'b.sqlite')]);
    for (const db of ['a.sqlite', 'b.sqlite']) {
      const columns = 'samples, sm_clock_min_mhz, power_w, temperature_max_c';
      const rows = queryStore<object>(join(place, db), `SELECT ${columns} FROM run_telemetry`);
      expect(rows.map((row) => Object.values(row))).toEqual([[2, 1815, 613, 60]]);
      expect((await bench(['db', 'verify', '--db', join(place, db)])).code).toBe(0);
    }
    const trend = await bench(['trend', '--metric', 'temperature', '--db', join(place, 'a.sqlite'), '--json']);
    expect(JSON.parse(trend.stdout).cells[0].now).toBe(60);
  });

  test.each([
    ['hello', 'is damaged: no header of `nvidia-smi --query-gpu` or `nvidia-smi dmon`'],
    [`${dmon}\n    1 5 30 0 300\n`, 'has no samples of the GPU of this run'],
  ])('of %o is refused before anything is stored', async (text, problem) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'run.log'), log);
    writeFileSync(join(folder, 'w.txt'), text);
    const args = ['import', join(folder, 'run.log'), '--telemetry', join(folder, 'w.txt')];
    const { code, stderr } = await bench([...args, '--db', join(folder, 'a.sqlite')]);
    expect([code, stderr]).toEqual([2, `bench: --telemetry w.txt: ${problem}\n`]);
    expect(existsSync(join(folder, 'a.sqlite'))).toBe(false);
  });
});
