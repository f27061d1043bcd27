import { isRecord } from '../../text/unknown-values.ts';
import { MATRIX_DEFAULTS } from '../../matrix/schema/defaults.ts';
import type { Look } from '../../terminal/look.ts';
import { definitions, paragraph } from './topic-pages.ts';

const EXAMPLE = [
  'models:',
  '  vit:',
  '    onnx: models/vit.onnx',
  '    shapes: { input: [batch, 3, 224, 224] }   # a word is an axis',
  'axes:',
  '  precision: [fp32, fp16]',
  '  batch: [1, 8, 32]',
  'build: { opt: { batch: 8 } }',
];

/** All that may stand in a matrix, from the schema itself. */
export function matrixPage(schema: object, look: Look): string[] {
  const top = new Set(Object.keys(propertiesOf(schema)));
  return [
    ...paragraph(
      `A matrix is a YAML file: models, axes, how engines are built, how cells are measured. Each combination of axis values is a cell, and each cell is measured \`repeats\` times (default: ${MATRIX_DEFAULTS.repeats}).`,
      look,
    ),
    '',
    ...EXAMPLE.map((line) => `    ${line}`),
    '',
    ...definitions(keys(schema, '', top), look),
    '',
    ...paragraph(
      '`bench init` writes one, `bench plan` shows what it means, and `bench schema matrix` prints the schema for editors.',
      look,
    ),
  ];
}

/**
 * Dotted names of what is described, down to what stands under a name that a person chooses.
 * @param top what stands at the top of the file is told there, also where a model may have its own
 */
function keys(schema: unknown, path: string, top: ReadonlySet<string>): [string, string][] {
  const own = Object.entries(propertiesOf(schema)).flatMap(([name, inner]): [string, string][] => {
    const here = path === '' ? name : `${path}.${name}`;
    const isTold = path !== '' && top.has(name);
    return [[here, descriptionOf(inner)], ...(isTold ? [] : keys(inner, here, top))];
  });
  const named = isRecord(schema) ? schema['additionalProperties'] : null;
  const isModel = Object.keys(propertiesOf(named)).length > 0;
  return [...own, ...(isModel ? keys(named, `${path}.NAME`, top) : [])];
}

function propertiesOf(schema: unknown): Readonly<Record<string, unknown>> {
  const properties = isRecord(schema) ? schema['properties'] : null;
  return isRecord(properties) ? properties : {};
}

/** Of a list: what its entries are. */
function descriptionOf(schema: unknown): string {
  if (!isRecord(schema)) return '';
  const text = schema['description'];
  return typeof text === 'string' ? text : descriptionOf(schema['items']);
}
