type Child = Node | string | null;
type Attributes = Readonly<Record<string, string | number | null>>;

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element; texts become text, never markup. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled<Kind extends Element>(node: Kind, attributes: Attributes, children: readonly Child[]): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function byId(id: string): HTMLElement | null {
  return document.getElementById(id);
}

/** A table of texts; the first column names its row. */
export function textTable(
  caption: string,
  headers: readonly string[],
  rows: readonly (readonly (string | Node)[])[],
  numbersFrom: number,
): HTMLElement {
  const kind = (column: number): Attributes => (column >= numbersFrom ? { class: 'number' } : {});
  return element(
    'div',
    { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption },
    element(
      'table',
      {},
      element('caption', {}, caption),
      element(
        'thead',
        {},
        element('tr', {}, ...headers.map((header, column) => element('th', { scope: 'col', ...kind(column) }, header))),
      ),
      element(
        'tbody',
        {},
        ...rows.map((row) =>
          element(
            'tr',
            {},
            ...row.map((cell, column) =>
              column === 0 ? element('th', { scope: 'row' }, cell) : element('td', kind(column), cell),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A table that is made when somebody wants to see it. */
export function tableBehind(summary: string, make: () => HTMLElement): HTMLElement {
  const details = element('details', { class: 'behind' }, element('summary', {}, summary));
  details.addEventListener('toggle', () => {
    if (details.childElementCount === 1) details.append(make());
  });
  return details;
}

/** A choice of one of some things; `choose` gets its place. */
export function picker(
  label: string,
  names: readonly string[],
  chosen: number,
  choose: (place: number) => void,
): HTMLElement {
  const select = element(
    'select',
    {},
    ...names.map((name, place) => element('option', { value: place, selected: place === chosen ? '' : null }, name)),
  );
  select.addEventListener('change', () => choose(select.selectedIndex));
  return element('label', { class: 'picker' }, `${label} `, select);
}
