import type * as z from 'zod';

/** A part of a JSON Schema, as zod writes it. */
export type Schema = z.core.JSONSchema.BaseSchema;

/** What may stand there, in words; `linkTo` names the section of an object with keys of its own. */
export function valueText(schema: Schema, linkTo: (schema: Schema) => string): string {
  if (isShape(schema)) return 'shape';
  const options = optionsOf(schema);
  if (options.length > 1) return unionText(options, linkTo);
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  if (schema.const !== undefined) return code(schema.const);
  switch (schema.type) {
    case 'boolean':
      return '`true` or `false`';
    case 'integer':
      return `whole number${boundsText(schema)}`;
    case 'number':
      return `number${boundsText(schema)}`;
    case 'array':
      return `list: ${valueText(elementOf(schema), linkTo)}`;
    case 'object':
      return objectText(schema, linkTo);
    default:
      return 'text';
  }
}

/** Unions inside of unions are one; so is a list of types. A shape stays a shape. */
export function optionsOf(schema: Schema): Schema[] {
  if (isShape(schema)) return [schema];
  const { type } = schema;
  if (Array.isArray(type)) return type.flatMap((each) => optionsOf({ ...schema, type: each }));
  const options = schema.anyOf ?? schema.oneOf;
  if (options === undefined) return [schema];
  return options.filter((option) => isSchema(option)).flatMap(optionsOf);
}

/** It is explained once, at the top of the page. */
function isShape({ description }: Schema): boolean {
  return description?.startsWith('Dimensions: ') === true;
}

export function isSchema(schema: Schema | boolean | undefined): schema is Schema {
  return typeof schema === 'object';
}

/** What a list consists of, or what any key of an open map may have. */
export function elementOf({ items, additionalProperties }: Schema): Schema {
  if (isSchema(additionalProperties)) return additionalProperties;
  return items === undefined || typeof items === 'boolean' || Array.isArray(items) ? {} : items;
}

function unionText(options: readonly Schema[], linkTo: (schema: Schema) => string): string {
  const single = options.filter(({ type }) => type !== 'array');
  const singleTexts = single.map((option) => valueText(option, linkTo));
  const texts = [...new Set(singleTexts)].filter((text) => text !== '`true` or `false`');
  const isSwitch = texts.length < new Set(singleTexts).size;
  const lists = options
    .filter(({ type }) => type === 'array')
    .map((list) => {
      const text = valueText(list, linkTo).replace(/^list: /, '');
      const isOfThese = optionsOf(elementOf(list)).every((element) => singleTexts.includes(valueText(element, linkTo)));
      return isOfThese ? 'a list of these' : `a list: ${text}`;
    });
  const all = [...texts, ...(isSwitch && !texts.includes('`on`, `off`') ? ['`true`, `false`'] : [])];
  return [all.join(', '), ...new Set(lists)].filter((text) => text !== '').join('; or ');
}

function objectText(schema: Schema, linkTo: (schema: Schema) => string): string {
  const keys = Object.keys(schema.properties ?? {});
  if (keys.length === 1 && schema.additionalProperties === false) return `\`{${keys[0]}: …}\``;
  if (keys.length > 0) return linkTo(schema);
  const { propertyNames } = schema;
  const names = isSchema(propertyNames) ? propertyNames.enum : undefined;
  const value = valueText(elementOf(schema), linkTo);
  return names === undefined ? `map of names: ${value}` : `map of ${names.map(code).join(' ')}: ${value}`;
}

function boundsText({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const least = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum;
  if (exclusiveMinimum !== undefined) {
    return most === undefined ? ` above ${exclusiveMinimum}` : ` above ${exclusiveMinimum}, up to ${most}`;
  }
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  return least === undefined ? '' : ` from ${least}`;
}

function code(value: unknown): string {
  return `\`${String(value)}\``;
}
