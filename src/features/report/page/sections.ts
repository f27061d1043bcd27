import { type HtmlColumn, type Markup, htmlTable, markup, shortened } from '../../../html/markup.ts';
import { ENVIRONMENT_FIELDS } from '../../../judge/compare/differences.ts';
import { metricOf } from '../../../records/metric.ts';
import { withCells } from '../../../terminal/cell-columns.ts';
import { formatNumber, formatPercent, overlapNote } from '../../../terminal/numbers.ts';
import { byNumber, cellLabel } from '../../../records/cell.ts';
import { choiceColumns, tallyText } from '../../choose/index.ts';
import { type PageModel, type Row, cellLink, factList, isChange } from './cell-rows.ts';

/** A heat map with models and precisions as rows and shapes and options as columns. Needs no script. */
export function matrixView({ rows, words }: PageModel): Markup {
  const placed = rows.map((cell) => {
    const [model = '', precision = '', shape = '', options = ''] = words.wordsOf(cell.report.cell);
    const [row, column] = [`${model} ${precision}`, `${shape} ${options}`].map((text) => text.trim());
    return { cell, row, column: column || 'value' };
  });
  const names = [...new Set(placed.map(({ column }) => column))].toSorted(byNumber);
  const lines = [...Map.groupBy(placed, ({ row }) => row)].toSorted(([a = ''], [b = '']) => byNumber(a, b));
  const columns: readonly HtmlColumn<(typeof lines)[number]>[] = [
    { header: 'model, precision', show: ([row = '']) => shortened(row, 64) },
    ...names.map((name): HtmlColumn<(typeof lines)[number]> => {
      const show = ([, own]: (typeof lines)[number]) =>
        own.flatMap(({ cell, column }) => (column === name ? square(cell) : []));
      return { header: shortened(name, 48), show };
    }),
  ];
  return markup`
<section id="matrix" aria-labelledby="matrix-title">
<h2 id="matrix-title">Matrix</h2>
${htmlTable('The newest value of each cell, and its change.', columns, lines)}
</section>`;
}

function square(row: Row): Markup {
  const { changePercent, now, report, verdict } = row;
  const { cell, metric } = report;
  const value = now === null ? 'no result' : `${formatNumber(now)} ${metricOf(metric).unit}`;
  const change = isChange(row) && changePercent !== null ? `${formatPercent(changePercent)} ${verdict ?? ''}` : '';
  return markup`<a href="#cell=${cell.key}" title="${shortened(cellLabel(cell), 300)}">${value}<b class="${verdict ?? ''}">${change}</b></a>`;
}

/** The same data as `bench choose`; null if no cell has a measurement. */
export function paretoView({ cells: all, names, pareto }: PageModel): Markup | null {
  if (pareto === null) return null;
  const cells = new Map(all.map(({ cell }) => [cell.key, cell]));
  const choices = withCells(pareto.workloads.flat(), cells);
  const columns: readonly HtmlColumn<(typeof choices)[number]>[] = [
    { header: 'cell', show: ({ key, label }) => cellLink(key, names.get(key) ?? label) },
    { header: 'optimal', show: ({ dominatedBy }) => (dominatedBy === null ? '*' : '') },
    ...choiceColumns(choices)
      .filter(({ text }) => choices.some((choice) => text(choice) !== ''))
      .map(({ header, text }) => ({ header, show: text, kind: 'number' })),
  ];
  const optimal = '* Pareto-optimal: no other is at least as good on every axis';
  const overlap = overlapNote(choices.map(({ streams }) => streams));
  const table = htmlTable(overlap === null ? optimal : `${optimal}. ${overlap}`, columns, choices);
  return markup`
<section id="pareto" aria-labelledby="pareto-title">
<h2 id="pareto-title">Precisions</h2>
${pareto.notes.map((note) => markup`<p class="note">${shortened(note, 400)}</p>`)}
${pareto.precisions.length === 0 ? null : markup`<ul>${pareto.precisions.map((tally) => markup`<li>${tallyText(tally)}</li>`)}</ul>`}
<div id="pareto-chart" class="script"></div>
<details class="behind"><summary>Show as table</summary>${table}</details>
</section>`;
}

/** The environment of the numbers, and its changes by sweep; null if unknown. */
export function environmentView({ environments, environmentChanges, sweeps, cells }: PageModel): Markup | null {
  const newest = environments.at(-1);
  const facts = ENVIRONMENT_FIELDS.flatMap(([field, name, unit]) => {
    const value = newest?.[field] ?? null;
    return value === null ? [] : [[name, markup`${shortened(`${value}${unit}`)}`] as const];
  });
  if (facts.length === 0 && environmentChanges.length === 0) return null;
  const columns: readonly HtmlColumn<PageModel['environmentChanges'][number]>[] = [
    { header: 'date', show: ({ sweep }) => sweeps[sweep]?.startedAt?.slice(0, 10) ?? 'unknown' },
    { header: 'sweep', show: ({ sweep }) => markup`<code>${sweeps[sweep]?.sweepId.slice(0, 8) ?? ''}</code>` },
    {
      header: 'change',
      show: ({ breaksLine, text }) =>
        markup`${shortened(text, 600)}${breaksLine ? markup` <b>(another machine: the history starts again)</b>` : null}`,
    },
    { header: 'cells', kind: 'number', show: (change) => `${change.cells} of ${cells.length}` },
  ];
  return markup`
<section id="environment" aria-labelledby="environment-title">
<h2 id="environment-title">Environment</h2>
${environmentChanges.length === 0 ? markup`<p>Nothing that is known of the machine changed over these sweeps.</p>` : htmlTable('What changed', columns, environmentChanges)}
${factList(facts)}
</section>`;
}
