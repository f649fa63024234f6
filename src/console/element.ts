/** Strings become text, never markup; undefined and false are left out. */
export type Child = Node | string | undefined | false

/** A function listens to the event of its name; true sets an empty attribute; undefined and false set none. */
export type Attributes = Record<string, string | number | boolean | undefined | ((event: Event) => void)>

const SVG = 'http://www.w3.org/2000/svg'
/** How long it shows that something has changed. */
const MARKED_MS = 4_000

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children)
}

export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS(SVG, tag), attributes, children)
}

/** A button that submits no form. */
export function button(
  label: string,
  onclick: (event: Event) => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  return element('button', { type: 'button', click: onclick, ...attributes }, label)
}

/** The head of a table: a heading for each column. */
export function headRow(...headings: readonly Child[]): HTMLTableSectionElement {
  const cells = headings.map((heading) => element('th', { scope: 'col' }, heading))
  return element('thead', {}, element('tr', {}, ...cells))
}

/** Leaves it alone if it says that already: a screen reader would read it again. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text
}

function fill<Of extends Element>(target: Of, attributes: Attributes, children: readonly Child[]): Of {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') target.addEventListener(name, value)
    else if (value !== undefined && value !== false)
      target.setAttribute(name, value === true ? '' : String(value))
  }
  target.append(...children.filter((child) => child !== undefined && child !== false))
  return target
}

/** Shows for a moment what has happened to a part of the page. */
export function mark(dom: HTMLElement, how: 'changed' | 'added' | 'gone'): void {
  dom.dataset.mark = how
  setTimeout(() => delete dom.dataset.mark, MARKED_MS)
}
