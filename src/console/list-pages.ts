import { PAGE_RECORDS } from './address.ts'
import type { App } from './app.ts'
import { element } from './element.ts'
import { grouped } from './figure-text.ts'

/** Links to the other pages of a list. */
export class ListPages {
  readonly dom = element('nav', { class: 'pages', 'aria-label': 'Pages' })
  readonly #app: App

  constructor(app: App) {
    this.#app = app
  }

  /** @param page From 0. @param total Records on all pages. */
  update(page: number, total: number): void {
    const last = lastPageOf(total)
    this.dom.hidden = last === 0
    this.dom.replaceChildren(
      this.#link('First', 0, page > 0),
      this.#link('Previous', page - 1, page > 0),
      element('span', {}, `Page ${grouped(page + 1)} of ${grouped(last + 1)}`),
      this.#link('Next', page + 1, page < last),
      this.#link('Last', last, page < last),
    )
  }

  #link(label: string, page: number, isThere: boolean): HTMLAnchorElement {
    if (isThere) return element('a', { href: this.#app.linkTo({ page }) }, label)
    return element('a', { role: 'link', 'aria-disabled': 'true', tabindex: -1 }, label)
  }
}

/** The number of the last page, from 0; also 0 for an empty list. */
export function lastPageOf(total: number): number {
  return Math.max(0, Math.ceil(total / PAGE_RECORDS) - 1)
}
