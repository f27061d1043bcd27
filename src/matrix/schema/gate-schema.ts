import * as z from 'zod';

const filter = z.string().min(1).describe('Which cells, as in --filter. Default: all');
const metric = z
  .string()
  .min(1)
  .describe('A metric, also without its unit: p99, throughput, engine, sqnr. Default: all');

const percent = z
  .union([z.number().gt(0).max(100), z.string().regex(/^\d+(?:\.\d+)?\s*%$/, 'write a percentage such as 2%')])
  .describe('Such as 2%');

const minChange = z
  .strictObject({ metric: metric.optional(), filter: filter.optional(), percent })
  .describe('The last entry that fits a cell and metric holds');

const limitText = z.string().min(1).describe("Such as 'p99 <= 2 ms' or 'sqnr >= 25'");

const limit = z.strictObject({ limit: limitText, filter: filter.optional() }).describe('A limit of some cells');

const warning = z.strictObject({ metric: metric.optional(), filter: filter.optional() }).describe('Some cells');

const owner = z
  .strictObject({
    filter,
    owner: z
      .string()
      .regex(/^[^\p{C}]{1,100}$/u, 'write one line of at most 100 characters')
      .describe('Printed with each finding of these cells'),
  })
  .describe('The last entry that fits a cell holds');

export const gateSchema = z
  .strictObject({
    confirm: z
      .boolean()
      .describe('Measure slower cells in pairs with their last good engine at the end of a sweep. Default: false'),
    confirmBudget: z
      .string()
      .regex(/^\d+(?:\.\d+)?\s*(?:%|s|m|h)$/, 'write a share of the sweep such as 10%, or a time such as 20m')
      .describe('Time for these pairs: a share of the sweep (10%) or a time (20m). Default: 10%'),
    minChange: z
      .union([percent, z.array(minChange).min(1)])
      .describe('Smaller changes of a time, a throughput or a size are not reported. Default: what can be detected'),
    limits: z
      .array(z.union([limitText, limit]))
      .min(1)
      .describe('What a metric must keep, whatever it was before: reported until it holds'),
    warn: z
      .array(z.union([metric, warning]))
      .min(1)
      .describe('What only warns: findings of these metrics or cells; those of build-time always do'),
    against: z
      .string()
      .min(1)
      .describe('The baseline that cells are judged against, in place of what was last accepted'),
    renamedFrom: z.string().min(1).describe('The name that this matrix had before: its sweeps go on being its history'),
    owners: z.array(owner).min(1).describe('Who looks after which cells'),
    notify: z
      .union([
        z.array(z.string().min(1)).min(1).max(100),
        z.strictObject({ module: z.string().min(1).describe('A file of JavaScript, ./name.js, or an npm package') }),
      ])
      .describe(
        'A program and its arguments, started by `bench check` with its JSON when there is something new; or a module, whose default export is called with it',
      ),
  })
  .partial()
  .describe('What `bench check` reports of sweeps of this matrix');

export const enginesSchema = z
  .strictObject({
    keepLastGood: z.string().describe('Space for the last good engine of each cell, as 10GB. Default: 10GB'),
  })
  .partial()
  .describe('Engines that are kept to be measured again');
