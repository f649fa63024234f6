import { type Child, element } from './element.ts'

/** What the page says in a line: read aloud by screen readers, shown for a while. */
export class Notices {
  readonly dom = element('div', { class: 'notices', role: 'status', 'aria-live': 'polite' })
  #timer = 0

  /** Says that something has been done. */
  say(...nodes: readonly Child[]): void {
    // All that is outside an open dialogue is neither seen nor read aloud.
    const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
    if (this.dom.parentElement !== place) place.append(this.dom)
    this.dom.replaceChildren(element('span', {}, ...nodes))
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.dom.replaceChildren(), SHOWN_MS)
  }
}

const SHOWN_MS = 6_000
