import { type OnnxFacts, opName, shapeText } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import type { InspectOutput } from './output.ts';
import { renderTable } from '../../terminal/table.ts';
import { wrapWords } from '../../terminal/text-width.ts';

export function inspectText(facts: InspectOutput, look: Look): string[] {
  const { style, columns } = look;
  const version = facts.opsets.find(({ domain }) => domain === '')?.version;
  const head = [
    facts.file,
    formatBytes(facts.fileBytes),
    `opset ${version ?? 'unknown'}`,
    `IR ${facts.irVersion}`,
    facts.producer,
  ];
  const { shapes, trtexecFlag } = facts.suggested;
  const suggestion = [
    `in a matrix:   shapes: ${shapes}`,
    trtexecFlag === null
      ? 'with trtexec:  no --shapes: it takes none for a model without dynamic dimensions'
      : `with trtexec:  ${trtexecFlag}`,
  ];
  return [
    style.strong(head.filter(Boolean).map(printable).join(' · ')),
    '',
    ...tensorTable(facts, look),
    '',
    ...factLines(facts).flatMap(([name, text]) => {
      const label = `${name.padEnd(13)} `;
      const [first = '', ...more] = wrapWords(printable(text), columns - label.length);
      return [`${label}${first}`, ...more.map((line) => ' '.repeat(label.length) + line)];
    }),
    '',
    // Whole, however long: they are there to be copied.
    ...suggestion.map((line) => style.accent(printable(line))),
    ...facts.warnings.flatMap((warning, index) => {
      const [first = '', ...more] = wrapWords(printable(warning), columns - 2);
      const lines = [`! ${first}`, ...more.map((line) => `  ${line}`)];
      return [...(index === 0 ? [''] : []), ...lines.map(style.warn)];
    }),
  ];
}

const LISTED_TENSORS = 500;

function tensorTable({ inputs, outputs }: OnnxFacts, look: Look): string[] {
  const rows = [
    ...inputs.map((tensor) => ({ role: 'input', tensor })),
    ...outputs.map((tensor) => ({ role: 'output', tensor })),
  ];
  const more = rows.length - LISTED_TENSORS;
  const table = renderTable<(typeof rows)[number]>(
    [
      { header: '', text: ({ role }) => role },
      { header: 'name', text: ({ tensor }) => printable(tensor.name), minWidth: 8 },
      { header: 'type', text: ({ tensor }) => tensor.elementType },
      { header: 'shape', text: ({ tensor }) => printable(shapeText(tensor.shape)), minWidth: 8 },
    ],
    rows.slice(0, LISTED_TENSORS),
    look,
  );
  return more > 0 ? [...table, `and ${more} more; --json has all`] : table;
}

function factLines(facts: OnnxFacts): [string, string][] {
  const { nodes, nestedNodes, initializers, inlineBytes, externalBytes } = facts;
  const quantized = facts.quantizedTypes.map((entry) => `${entry.elementType} ${entry.nodes}`);
  const lines: [string, string][] = [
    ['nodes', nestedNodes === 0 ? String(nodes) : `${nodes}, and ${nestedNodes} in control flow and functions`],
    ['operators', operatorsText(facts)],
    [
      'initializers',
      `${initializers}; weights of ${formatBytes(inlineBytes)} in the file, ${formatBytes(externalBytes)} in others`,
    ],
    [
      'weights',
      facts.weights
        .map((of) => `${of.elementType} ${formatBytes(of.bytes)} in ${count(of.tensors, 'tensor')}`)
        .join(' · '),
    ],
    [
      'quantized',
      quantized.length === 0
        ? 'no'
        : `${facts.quantizeNodes} quantize and ${facts.dequantizeNodes} dequantize: ${quantized.join(' · ')}`,
    ],
    [
      'other opsets',
      facts.opsets
        .filter(({ domain }) => domain !== '')
        .map(({ domain, version }) => `${domain} ${version}`)
        .join(' · '),
    ],
    [
      'data files',
      facts.externalFiles.map((file) => `${file.location} (${count(file.tensors, 'tensor')})`).join(' · '),
    ],
  ];
  return lines.filter(([, text]) => text !== '');
}

const LISTED_OPS = 40;

function operatorsText({ ops }: OnnxFacts): string {
  const listed = ops
    .slice(0, LISTED_OPS)
    .map(({ domain, opType, count: times }) => `${opName(domain, opType)}×${times}`);
  const more = ops.length - LISTED_OPS;
  return [...listed, ...(more > 0 ? [`and ${more} more kinds`] : [])].join(' · ');
}
