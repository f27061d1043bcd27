import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { temporaryFolder } from './bench.ts';
import { lockHolder } from '../../src/process/lock.ts';
import { H200_REPORT, type StubSmi, stubSmi } from './nvidia-smi.ts';

export const GPU_TRTEXEC = join(import.meta.dirname, 'gpu-trtexec.mjs');

export interface Span {
  readonly pid: number;
  readonly gpu: string;
  readonly role: 'build' | 'timed';
  readonly startMs: number;
  readonly endMs: number;
}

/** A machine with so many GPUs, of which only nvidia-smi and trtexec are there. */
export class GpuMachine {
  readonly folder: string;
  readonly uuids: readonly string[];
  private readonly smi: Readonly<Record<string, string>>;

  constructor(gpus: number, behaviour: StubSmi & { readonly report?: string } = {}) {
    this.folder = temporaryFolder();
    this.uuids = Array.from({ length: gpus }, (_, index) => uuidOf(index));
    const report = join(this.folder, 'report.xml');
    writeFileSync(report, reportOf(this.uuids));
    mkdirSync(join(this.folder, 'bin'));
    this.smi = stubSmi({ report, ...behaviour }, join(this.folder, 'bin')).env;
  }

  get env(): Record<string, string> {
    return { ...this.smi, BENCH_LOCK_DIR: join(this.folder, 'locks'), STUB_SPANS: join(this.folder, 'spans.jsonl') };
  }

  /** From now on its first GPU is in MIG mode. */
  divide(): void {
    const path = join(this.folder, 'report.xml');
    const report = readFileSync(path, 'utf8');
    writeFileSync(path, report.replace('<current_mig>Disabled</current_mig>', '<current_mig>Enabled</current_mig>'));
  }

  /** Whether some process has one of its GPUs. */
  get isLocked(): boolean {
    const folder = join(this.folder, 'locks');
    return (
      existsSync(folder) &&
      readdirSync(folder).some((name) => name.startsWith('gpu-') && lockHolder(join(folder, name)) !== null)
    );
  }

  /** What trtexec ran when and where, in the order of the ends. */
  get spans(): Span[] {
    const path = join(this.folder, 'spans.jsonl');
    if (!existsSync(path)) return [];
    return readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line): Span => JSON.parse(line));
  }

  /** Pairs of processes that were on one GPU at the same time. */
  get overlaps(): [Span, Span][] {
    const spans = this.spans.toSorted((a, b) => a.startMs - b.startMs);
    return spans.flatMap((first, place) =>
      spans
        .slice(place + 1)
        .filter(({ gpu, startMs }) => gpu === first.gpu && startMs < first.endMs)
        .map((second): [Span, Span] => [first, second]),
    );
  }
}

const uuidOf = (index: number): string => `GPU-${String(index).padStart(8, '0')}-0000-4000-8000-000000000000`;

function reportOf(uuids: readonly string[]): string {
  const xml = readFileSync(H200_REPORT, 'utf8');
  const from = xml.indexOf('<gpu id=');
  const to = xml.indexOf('</gpu>') + '</gpu>'.length;
  const gpu = xml.slice(from, to);
  const all = uuids.map((uuid, index) =>
    gpu
      .replace(/<uuid>[^<]*<\/uuid>/, `<uuid>${uuid}</uuid>`)
      .replaceAll('00000000:00:06.0', `00000000:0${index}:00.0`),
  );
  return xml.slice(0, from) + all.join('\n') + xml.slice(to);
}
