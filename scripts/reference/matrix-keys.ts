import { elementOf, isSchema, optionsOf, type Schema, valueText } from './value-text.ts';

interface Section {
  readonly title: string;
  readonly schema: Schema;
}

const TOP = 'The file';

const HEAD = `# Every key of a matrix

This page lists the keys of a matrix file, by the schema that bench checks and that editors complete from
([matrix.schema.json](../../matrices/matrix.schema.json)). [The matrix file](matrix.md) explains them with examples.

A *shape* is \`[batch, 3, 224, 224]\` or \`8x3x224x224\`; a name in it refers to the axis of that name. In \`models.NAME\`, NAME is any name.

This page is written by \`node scripts/reference.ts\` from strings in \`src/\`.
`;

/** Markdown with a list for each object of the schema; the same keys under another name are listed once. */
export function matrixReference(schema: Schema): string {
  const sections = sectionsOf(schema);
  const titles = new Map(sections.map((section) => [identity(section.schema), section.title]));
  const linkTo = (target: Schema): string => {
    const title = titles.get(identity(target)) ?? '';
    return `[${title}](#${title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-')})`;
  };
  return `${[HEAD, ...sections.map((section) => sectionText(section, linkTo))].join('\n')}`;
}

/** Each object with keys of its own, in the order in which a reader meets them; short ones stand where they are used. */
function sectionsOf(schema: Schema): Section[] {
  const sections: Section[] = [];
  const seen = new Set<string>();
  const waiting: { readonly part: Schema; readonly title: string }[] = [{ part: schema, title: TOP }];
  for (const { part, title } of waiting) {
    for (const option of optionsOf(part)) {
      const entries = Object.entries(option.properties ?? {});
      const isShort = entries.length === 1 && option.additionalProperties === false;
      if (entries.length > 0 && !isShort && !seen.has(identity(option))) {
        seen.add(identity(option));
        sections.push({ title: `${title}${kindOf(option)}`, schema: option });
        for (const [key, value] of entries) {
          if (isSchema(value)) {
            waiting.push({ part: value, title: title === TOP ? key : `${title}.${key}` });
          }
        }
      }
      const element = elementOf(option);
      if (entries.length > 0 || Object.keys(element).length === 0) continue;
      waiting.push({ part: element, title: option.type === 'array' ? title : `${title}.NAME` });
    }
  }
  return sections;
}

/** Of several objects that may stand in one place their kind tells them apart. */
function kindOf({ properties }: Schema): string {
  const kind = properties?.['kind'];
  return isSchema(kind) && kind.const !== undefined ? ` of kind ${String(kind.const)}` : '';
}

/** Two objects with the same keys are described once, whatever is said of them. */
function identity({ properties, additionalProperties }: Schema): string {
  return JSON.stringify([properties, additionalProperties]);
}

function sectionText({ title, schema }: Section, linkTo: (schema: Schema) => string): string {
  const required = new Set(schema.required);
  const keys = Object.entries(schema.properties ?? {}).map(([key, value]) => {
    const part = isSchema(value) ? value : {};
    const { text, preset } = described(part);
    const notes = [...(required.has(key) ? ['needed'] : []), ...(preset === '' ? [] : [`default: ${preset}`])];
    const takes = `${valueText(part, linkTo)}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`;
    return `- \`${key}\`: ${takes}${text === '' ? '' : `. ${text}`}`;
  });
  const open = isSchema(schema.additionalProperties)
    ? [`- any other key: ${valueText(schema.additionalProperties, linkTo)}`]
    : [];
  const { text, preset } = described(schema);
  const about = text === '' ? [] : [`${text}.${preset === '' ? '' : ` Default: ${preset}.`}`, ''];
  return [`## ${title}`, '', ...about, ...keys, ...open, ''].join('\n');
}

/** Descriptions end with their default, if there is one. */
function described({ description = '' }: Schema): { text: string; preset: string } {
  const [text = '', preset = ''] = description.split(/(?:^|\. )Default: /);
  return { text, preset };
}
