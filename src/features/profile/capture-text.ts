import type { CaptureStep } from './capture.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { capturedJson, type KernelsReport, kernelsText } from '../layers/index.ts';
import { envText, shellLine } from '../../text/shell-quote.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

export interface CapturedFile {
  readonly path: string;
  readonly bytes: number;
  readonly isAttached: boolean;
}

export interface CaptureReport {
  /** Null for a command that is no cell. */
  readonly cell: { readonly key: string; readonly label: string; readonly tensorrt: string } | null;
  /** Version of Nsight Systems; null when it was not asked. */
  readonly nsys: string | null;
  /** The engine that is there already. */
  readonly engine: string | null;
  readonly steps: readonly CaptureStep[];
  readonly notes: readonly string[];
  /** Null when nothing was run. */
  readonly done: {
    readonly files: readonly CapturedFile[];
    readonly runId: string | null;
    /** Null when the export could not be read. */
    readonly kernels: KernelsReport | null;
  } | null;
}

export function captureJson({ cell, nsys, engine, steps, notes, done }: CaptureReport) {
  return {
    schemaVersion: 1,
    dryRun: done === null,
    cell: cell?.key ?? null,
    label: cell?.label ?? null,
    tensorrt: cell?.tensorrt ?? null,
    nsysVersion: nsys,
    engine,
    steps,
    notes,
    files: done?.files.map(({ path, bytes, isAttached }) => ({ path, bytes, attached: isAttached })) ?? [],
    runId: done?.runId ?? null,
    kernels: done === null || done.kernels === null ? null : capturedJson(done.kernels),
  };
}

export function captureText(report: CaptureReport, look: Look): string[] {
  const { cell, done, notes } = report;
  const { columns, style } = look;
  const told = notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn));
  if (done !== null) {
    return [
      ...(done.kernels === null ? [] : [...kernelsText(done.kernels, look), '']),
      ...told,
      ...done.files.map(fileLine),
      ...(done.runId === null
        ? []
        : [
            style.dim(
              `attached to run ${done.runId.slice(0, 8)}${cell === null ? '' : `; see it again with \`bench layers ${cell.key.slice(0, 8)} --kernels\``}`,
            ),
          ]),
    ];
  }
  const title = cell === null ? 'capture of a command' : `capture of ${cell.label}, TensorRT ${cell.tensorrt}`;
  return [
    ...wrapHanging(printable(title), columns, 2).map(style.strong),
    ...told,
    ...(report.engine === null ? [] : [`engine: there, ${printable(report.engine)}`]),
    ...report.steps.flatMap((step) => ['', style.accent(WORDS[step.kind]), stepLine(step)]),
  ];
}

const WORDS: Readonly<Record<CaptureStep['kind'], string>> = {
  build: 'build',
  capture: 'capture',
  export: 'export, to be read',
};

function fileLine({ path, bytes, isAttached }: CapturedFile): string {
  return `${printable(path)} (${formatBytes(bytes)})${isAttached ? '' : ', not attached'}`;
}

/** On one line whatever the width: it is copied. */
function stepLine({ variables, argv }: CaptureStep): string {
  return `${envText(variables)}${tracedLine(argv)}`;
}

/** A list of what is traced with a dash in it stands in quotes, as in TensorRT-LLM's own documentation. */
function tracedLine(argv: readonly string[]): string {
  const at = argv.indexOf('-t') + 1;
  const traced = argv[at] ?? '';
  if (at === 0 || !/^[\w,-]*-[\w,-]*$/.test(traced)) return shellLine(argv);
  return [shellLine(argv.slice(0, at)), `'${traced}'`, shellLine(argv.slice(at + 1))].join(' ');
}

export function sizeWarning(path: string, bytes: number, mostBytes: number): string {
  return `${path} has ${formatBytes(bytes)}, more than --max-size ${formatBytes(mostBytes)}: it is neither read nor attached; fewer --iterations make it smaller`;
}

export function manyQueries(iterations: number): string {
  return `${count(iterations, 'query', 'queries')} make a large file: 50 show the same`;
}
