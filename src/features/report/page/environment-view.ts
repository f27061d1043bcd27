import { type Markup, markup, shortened } from '../../../html/markup.ts';
import { ENVIRONMENT_FIELDS } from '../../../judge/compare/differences.ts';
import type { Environment } from '../../../records/environment.ts';
import type { ReportData } from './report-data.ts';

/** What the numbers were measured on, and what changed in which sweep. */
export function environmentView({ environments, environmentChanges, sweeps, cells }: ReportData): Markup {
  const newest = environments.at(-1);
  const dateOf = (sweep: number): string => sweeps[sweep]?.startedAt?.slice(0, 10) ?? 'unknown';
  return markup`
<section id="environment" aria-labelledby="environment-title">
<h2 id="environment-title">Environment</h2>
${
  environmentChanges.length === 0
    ? markup`<p>Nothing that is known of the machine changed over these sweeps.</p>`
    : markup`<div class="wide" tabindex="0" role="region" aria-label="Changes of the environment"><table><caption>What changed</caption>
<thead><tr><th scope="col">date</th><th scope="col">sweep</th><th scope="col">change</th><th scope="col" class="number">cells</th></tr></thead>
<tbody>${environmentChanges.map(
        ({
          sweep,
          text,
          breaksLine,
          cells: number,
        }) => markup`<tr><th scope="row">${dateOf(sweep)}</th><td><code>${sweeps[sweep]?.sweepId.slice(0, 8) ?? ''}</code></td><td>${shortened(text, 600)}${breaksLine ? markup` <b>(another machine: no continuation)</b>` : null}</td><td class="number">${number} of ${cells.length}</td></tr>
`,
      )}</tbody></table></div>`
}
${
  newest === undefined
    ? markup`<p class="note">No run says what it was measured on.</p>`
    : markup`<div class="columns">${environments.map((environment, place) => environmentTable(environment, environments.length === 1 ? 'What is known of the machine' : `Machine ${place + 1} of ${environments.length}`))}</div>`
}
</section>`;
}

function environmentTable(environment: Environment, caption: string): Markup {
  const fields = ENVIRONMENT_FIELDS.filter(([field]) => environment[field] !== null);
  if (fields.length === 0) return markup`<p class="note">${caption}: nothing is known of it.</p>`;
  return markup`<table class="facts"><caption>${caption}</caption><tbody>${fields.map(
    ([
      field,
      name,
      unit,
    ]) => markup`<tr><th scope="row">${name}</th><td>${shortened(`${environment[field]}${unit}`)}</td></tr>
`,
  )}</tbody></table>`;
}
