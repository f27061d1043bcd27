type Child = Node | string | null;
type Attributes = Readonly<Record<string, string | number | null>>;

const SVG = 'http://www.w3.org/2000/svg';

/** An HTML element; strings become text nodes, never markup. */
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

export function note(text: string): HTMLElement {
  return element('p', { class: 'note' }, text);
}

/** A picture in which keys and the pointer move; `kind` and `label` are for those who do not see it. */
export function pictureStage(kind: string, label: string, ...children: readonly Child[]): HTMLElement {
  const role = { role: 'application', 'aria-roledescription': kind, 'aria-label': label };
  return element('div', { class: 'stage', tabindex: 0, ...role }, ...children);
}

/** A line of a picture, upright or level as its ends say. */
export function svgLine(name: string, [x1, y1]: Place, [x2, y2]: Place): SVGLineElement {
  return svg('line', { class: name, x1, x2, y1, y2 });
}

type Place = readonly [x: number, y: number];

export function axisText(text: string, [x, y]: Place, anchor: 'start' | 'middle' | 'end' = 'start'): SVGTextElement {
  return svg('text', { class: 'axis', x, y, 'text-anchor': anchor === 'start' ? null : anchor }, text);
}

export function colourKey(names: Iterable<readonly [name: string, kind: string | number]>) {
  const swatches = [...names].flatMap(([name, kind]) => [
    element('i', { class: `swatch kind-${kind}` }),
    element('span', {}, `${name} `),
  ]);
  return element('p', { class: 'key' }, ...swatches);
}

/** A choice of one of some things, and the picture of what was chosen; the first is drawn at once. */
export function pickedPicture(
  label: string,
  names: readonly string[],
  draw: (place: number) => Element | null,
): readonly [HTMLElement, HTMLElement] {
  const place = element('div');
  const show = (chosen: number): void => {
    const picture = draw(chosen);
    place.replaceChildren(...(picture === null ? [] : [picture]));
  };
  show(0);
  return [picker(label, names, 0, show), place];
}

export function textTable(
  caption: string,
  headers: readonly string[],
  rows: readonly (readonly (string | Node)[])[],
  numbersFrom: number,
): HTMLElement {
  const kind = (column: number): Attributes => (column >= numbersFrom ? { class: 'number' } : {});
  const heads = headers.map((header, column) => element('th', { scope: 'col', ...kind(column) }, header));
  const body = rows.map(([first = '', ...cells]) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, first),
      ...cells.map((cell, place) => element('td', kind(place + 1), cell)),
    ),
  );
  return element(
    'div',
    { class: 'wide', tabindex: 0, role: 'region', 'aria-label': caption },
    element(
      'table',
      {},
      element('caption', {}, caption),
      element('thead', {}, element('tr', {}, ...heads)),
      element('tbody', {}, ...body),
    ),
  );
}

/** The numbers of a picture, made when they are opened. */
export function showAsTable(make: () => readonly HTMLElement[]): HTMLElement {
  const details = element('details', { class: 'behind' }, element('summary', {}, 'Show as table'));
  details.addEventListener('toggle', () => {
    if (details.childElementCount === 1) details.append(...make());
  });
  return details;
}

/** A select control; `choose` gets the index. */
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
