type Child = Node | string | null;
type Attributes = Readonly<Record<string, string | number | null>>;

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
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/** Adds attributes and children. `kind` is the number of a color. */
function filled<Kind extends HTMLElement | SVGElement>(
  node: Kind,
  { kind = null, ...attributes }: Attributes,
  children: readonly Child[],
): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) node.setAttribute(name, String(value));
  }
  if (kind !== null) {
    node.classList.add('kind');
    node.style.setProperty('--kind', String(kind));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function byId(id: string): HTMLElement | null {
  return document.getElementById(id);
}

export function button(name: string, label: string | null, act: () => void, attributes: Attributes = {}) {
  const made = element('button', { type: 'button', 'aria-label': label, ...attributes }, name);
  made.addEventListener('click', act);
  return made;
}

export function colorKey(names: Iterable<readonly [kind: number, name: string]>): HTMLElement {
  return element(
    'p',
    { class: 'key' },
    ...[...names].flatMap(([kind, name]) => [element('i', { kind }, '■ '), `${name} `]),
  );
}
