import { CHANGE_WORDS } from '../layers/index.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes, signedMs } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { shellLine } from '../../text/shell-quote.ts';
import type { Reduced, ReproBundle } from './output.ts';

export function bundleText({ bytes, file, files, leftOut, reduced }: ReproBundle, { columns }: Look): string[] {
  const lines = [
    `${printable(file)}: ${count(files.length, 'file')}, ${formatBytes(bytes)}; names of hosts, users and GPUs are masked`,
    ...leftOut.map(({ name, why }) => `left out: ${name}: ${why}`),
    ...(reduced === null ? [] : reducedLines(reduced)),
  ];
  if (reduced === null) return lines.flatMap((line) => wrapHanging(line, columns, 2));
  const folder = file.replace(/(?:\.zip)?$/, '-files');
  const commands = [
    ['unzip', file, '-d', folder],
    ...(['base', 'head'] as const).map((side) => ['bench', 'run', `${folder}/reduced/${side}.yaml`]),
    ['bench', 'layers', '--diff', 'latest~1', 'latest'],
  ];
  return [...lines.flatMap((line) => wrapHanging(line, columns, 2)), '', ...commands.map(shellLine)];
}

function reducedLines({ around, change, deltaMs, layer, matching, ...reduced }: Reduced): string[] {
  const { nodesAfter, nodesBefore, nodesOfLayer, notes } = reduced;
  const others = matching === 1 ? '' : `; of ${matching} layers that fit, the one that changed most`;
  return [
    `reduced to ${nodesAfter} of ${nodesBefore} ONNX nodes: ${nodesOfLayer} of ${printable(layer)} (${CHANGE_WORDS[change]}, ${signedMs(deltaMs)}${others}), ${nodesAfter - nodesOfLayer} around it (--around ${around})`,
    ...notes.map((note) => `note: ${printable(note)}`),
  ];
}

/** @param sections what `bench repro` prints of each side */
export function readmeText(
  { reduced }: Pick<ReproBundle, 'reduced'>,
  sections: readonly (readonly [side: string, lines: readonly string[]])[],
  {
    files,
    leftOut,
  }: { readonly files: readonly { readonly name: string }[]; readonly leftOut: ReproBundle['leftOut'] },
): string {
  const lines = [
    'Written by `bench repro --bundle`. It has what an allow-list knows. Names of hosts, users and GPUs are masked, and absolute paths replaced, each by the same word everywhere.',
    ...sections.flatMap(([side, text]) => ['', `== ${side}${side === 'base' ? ' (the good build)' : ''}`, ...text]),
    ...(reduced === null ? [] : ['', '== reduced model', ...reducedLines(reduced)]),
    ...(reduced === null
      ? []
      : (['base', 'head'] as const).flatMap((side) => ['', `as ${side}:`, printable(reduced.commands[side])])),
    '',
    '== files',
    ...files.map(({ name }) => name).toSorted(),
    ...(leftOut.length === 0 ? [] : ['', '== left out']),
    ...leftOut.map(({ name, why }) => `${name}: ${why}`),
  ];
  return `${lines.join('\n')}\n`;
}
