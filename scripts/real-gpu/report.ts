/** What came out of one question to the machine; `isOk` is null where there was no time or nothing to ask. */
export interface Check {
  readonly part: string;
  readonly name: string;
  readonly isOk: boolean | null;
  readonly figure: string;
}

/** A call of bench: its arguments in one line, and seconds. */
export interface Call {
  readonly line: string;
  readonly seconds: number;
}

/** How long a part took, in seconds, and its calls of bench (some at one time with others). */
export interface PartTime {
  readonly part: string;
  readonly plannedS: number;
  readonly tookS: number;
  readonly calls: readonly Call[];
}

/** The report of a visit as Markdown: each check, then what each part took. */
export function reportText(
  title: string,
  facts: ReadonlyMap<string, string>,
  checks: readonly Check[],
  times: readonly PartTime[],
  tookS: number,
): string {
  const counted = (isOk: boolean | null): number => checks.filter((check) => check.isOk === isOk).length;
  return [
    `# Visit: ${title}`,
    '',
    ...[...facts].map(([name, value]) => `- ${name}: ${value}`),
    `- ${counted(true)} ok, ${counted(false)} not ok, ${counted(null)} not run; ${tookS.toFixed(0)} s`,
    '',
    '|  | part | check | figure |',
    '| --- | --- | --- | --- |',
    ...checks.map(({ part, name, isOk, figure }) => row([mark(isOk), part, name, figure])),
    '',
    '| part | planned | took | calls of bench | longest call |',
    '| --- | ---: | ---: | ---: | --- |',
    ...times.map(timeRow),
    '',
  ].join('\n');
}

function timeRow({ part, plannedS, tookS, calls }: PartTime): string {
  const sumS = calls.reduce((sum, { seconds }) => sum + seconds, 0);
  const longest = calls.toSorted((a, b) => b.seconds - a.seconds)[0];
  return row([
    part,
    `${plannedS} s`,
    `${tookS.toFixed(1)} s`,
    `${calls.length}: ${sumS.toFixed(1)} s`,
    longest === undefined ? '' : `${longest.seconds.toFixed(1)} s: ${longest.line.slice(0, 80)}`,
  ]);
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

export function mark(isOk: boolean | null): string {
  if (isOk === null) return 'not run';
  return isOk ? 'ok' : 'not ok';
}
