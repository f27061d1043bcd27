import type { PageData } from '../../src/html/page-data.ts';

/** What the script of a report reads. */
export function pageDataIn(html: string): PageData {
  const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html) ?? [];
  const data: PageData = JSON.parse(json ?? '');
  return data;
}

/** The markup of one view. */
export function sectionOf(html: string, id: string): string {
  const from = html.indexOf(`<section id="${id}"`);
  return from < 0 ? '' : html.slice(from, html.indexOf('</section>', from));
}
