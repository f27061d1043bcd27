import * as z from 'zod';

import { DIRECTIONS } from '../../records/metric.ts';
import { programSettings, runSetting, textSetting, timerSetting, warmUpRunsSetting } from '../started-program.ts';

const metric = z
  .strictObject({
    unit: z
      .string()
      .regex(/^[^\s:\p{C}]{1,20}$/u)
      .describe('Unit of the number, such as ms or tok/s; without a colon or a space'),
    better: z.enum(DIRECTIONS).describe('Which way is better'),
    path: textSetting('Where the number is in the JSON: a.b.c. Default: the name of the metric').optional(),
    pattern: textSetting('For output: text. A regular expression with one group around the number').optional(),
  })
  .describe('A number that the program prints');

export const DEFAULT_ESTIMATE_S = 10;

export const commandSettings = z
  .strictObject({
    kind: z.literal('command'),
    run: runSetting(
      'The program and its arguments; no shell reads them. {batch} is replaced by the value of an axis, {runFolder} by the folder of the run',
    ),
    output: z
      .enum(['json', 'jsonl', 'text'])
      .describe(
        'json: one JSON object, all of the output or its last line; jsonl: one object a line, of which the median counts; text: numbers found by pattern. Default: json, or text where a pattern is given',
      )
      .optional(),
    file: z
      .string()
      .regex(/^[\w.-]+$/)
      .describe(
        'Read this file of the folder of the run instead of standard output. The program finds the folder in $BENCH_RUN_FOLDER',
      )
      .optional(),
    metrics: z
      .record(z.string().regex(/^[A-Za-z][\w.-]{0,59}$/), metric)
      .refine((metrics) => Object.keys(metrics).length > 0, 'name at least one metric')
      .describe('What it measures, by name. The first one is what the cell is judged by'),
    timer: timerSetting.optional(),
    inFlight: z.number().min(1).describe('Queries under way at the same time, where it is known').optional(),
    warmUpRuns: warmUpRunsSetting,
    ...programSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('Any program that prints numbers');

export type CommandSettings = z.infer<typeof commandSettings>;
