// What `bench check` passes to a program, as text. Copy this file together with the recipe that imports it.
import { text } from 'node:stream/consumers';

/** Reads the JSON of `bench check` from standard input. */
export async function readCheck() {
  return JSON.parse(await text(process.stdin));
}

/** What is new and slower: `{ subject, lines }`, each a single line of plain text. */
export function messageOf({ findings, series }) {
  const fresh = findings.filter(({ direction, state }) => state === 'new' && direction === 'slower');
  const names = [...new Set(fresh.map(({ matrix }) => matrix ?? 'trtbench'))].join(', ');
  const what = fresh.length === 1 ? '1 new finding' : `${fresh.length} new findings`;
  return {
    subject: plain(`bench: ${what} in ${names}`),
    lines: [...series.map(({ headline }) => headline), '', ...fresh.map(findingLine)].map(plain),
  };
}

function findingLine({ id, kind, group, labels, metrics, firstBad, commits, owner }) {
  const [first] = metrics;
  const cells =
    labels.length === 1 ? labels[0] : `${labels.length} cells${group.length > 0 ? ` (${group.join(' ')})` : ''}`;
  const size = kind === 'limit' ? `${first.after} ${first.unit}, limit ${first.before} ${first.unit}` : percent(first);
  return [
    `${id.slice(0, 8)} ${cells}: ${first.title} ${size}`,
    ...(firstBad?.commit ? [`since ${firstBad.commit.slice(0, 8)}`] : []),
    ...(commits.length > 0 ? [`${commits.length} commit${commits.length === 1 ? '' : 's'}`] : []),
    ...(owner === null ? [] : [`owner ${owner}`]),
  ].join(', ');
}

function percent({ changePercent }) {
  return `${changePercent > 0 ? '+' : ''}${changePercent.toFixed(1)} %`;
}

/** Names in it come from matrices and commits: no line ends, no control characters. */
function plain(line) {
  return line.replace(/\p{C}/gu, ' ').slice(0, 500);
}
