import type { CaptureStep, ProfileOutput } from './output.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { type KernelsReport, kernelsText } from '../layers/index.ts';
import { envText, shellLine } from '../../text/shell-quote.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

/** @param kernels null when nothing was captured, or the export is unreadable */
export function captureText(report: ProfileOutput, kernels: KernelsReport | null, look: Look): string[] {
  const { cell, dryRun, engine, files, label, notes, runId, steps, tensorrt } = report;
  const { columns, style } = look;
  const shown = notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn));
  if (!dryRun) {
    const again = cell === null ? '' : `; see it again with \`bench layers ${cell.slice(0, 8)} --kernels\``;
    return [
      ...(kernels === null ? [] : [...kernelsText(kernels, look), '']),
      ...shown,
      ...files.map(fileLine),
      ...(runId === null ? [] : [style.dim(`attached to run ${runId.slice(0, 8)}${again}`)]),
    ];
  }
  const title = label === null ? 'capture of a command' : `capture of ${label}, TensorRT ${tensorrt}`;
  return [
    ...wrapHanging(printable(title), columns, 2).map(style.strong),
    ...shown,
    ...(engine === null ? [] : [`engine: there, ${printable(engine)}`]),
    ...steps.flatMap((step) => ['', style.accent(WORDS[step.kind]), stepLine(step)]),
  ];
}

const WORDS: Readonly<Record<CaptureStep['kind'], string>> = {
  build: 'build',
  capture: 'capture',
  export: 'export, to be read',
};

function fileLine({ path, bytes, attached }: ProfileOutput['files'][number]): string {
  return `${printable(path)} (${formatBytes(bytes)})${attached ? '' : ', not attached'}`;
}

/** On one line: it is copied. */
function stepLine({ variables, argv }: CaptureStep): string {
  return `${envText(variables)}${tracedLine(argv)}`;
}

/** A list of what is traced with a dash in it is in quotes, as in TensorRT-LLM's own documentation. */
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
