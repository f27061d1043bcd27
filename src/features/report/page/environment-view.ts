import { htmlTable, type Markup, markup, shortened } from '../../../html/markup.ts';
import { ENVIRONMENT_FIELDS } from '../../../judge/compare/differences.ts';
import type { EnvironmentChange, ReportData } from './report-data.ts';

/** What the numbers were measured on, and what changed in which sweep; null where nothing is known of it. */
export function environmentView({ environments, environmentChanges, sweeps, cells }: ReportData): Markup | null {
  const known = environments
    .map((environment) =>
      ENVIRONMENT_FIELDS.filter(([field]) => environment[field] !== null).map(([field, name, unit]) => ({
        name,
        text: `${environment[field]}${unit}`,
      })),
    )
    .filter(({ length }) => length > 0);
  if (known.length === 0 && environmentChanges.length === 0) return null;
  const columns = [
    { header: 'date', show: ({ sweep }: EnvironmentChange) => sweeps[sweep]?.startedAt?.slice(0, 10) ?? 'unknown' },
    {
      header: 'sweep',
      show: ({ sweep }: EnvironmentChange) => markup`<code>${sweeps[sweep]?.sweepId.slice(0, 8) ?? ''}</code>`,
    },
    {
      header: 'change',
      show: ({ breaksLine, text }: EnvironmentChange) =>
        markup`${shortened(text, 600)}${breaksLine ? markup` <b>(another machine: no continuation)</b>` : null}`,
    },
    { header: 'cells', kind: 'number', show: (change: EnvironmentChange) => `${change.cells} of ${cells.length}` },
  ];
  const tables = known.map((facts, place) => {
    const caption = known.length === 1 ? 'What is known of the machine' : `Machine ${place + 1} of ${known.length}`;
    return markup`<table class="facts"><caption>${caption}</caption><tbody>${facts.map(({ name, text }) => markup`<tr><th scope="row">${name}</th><td>${shortened(text)}</td></tr>\n`)}</tbody></table>`;
  });
  return markup`
<section id="environment" aria-labelledby="environment-title">
<h2 id="environment-title">Environment</h2>
${environmentChanges.length === 0 ? markup`<p>Nothing that is known of the machine changed over these sweeps.</p>` : htmlTable('What changed', columns, environmentChanges)}
<div class="columns">${tables}</div>
</section>`;
}
