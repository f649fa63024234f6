import { button, type Child, element } from './element.ts'

/** What the page says in a line: read aloud by screen readers, shown for a while. */
export class Notices {
  readonly dom: HTMLElement
  readonly #said = element('p')
  readonly #offered = element('p')
  #timer = 0

  constructor() {
    this.dom = element('div', { class: 'notices', role: 'status', 'aria-live': 'polite' })
    this.dom.append(this.#offered, this.#said)
  }

  /** Says that something has been done. */
  say(...nodes: readonly Child[]): void {
    this.#place()
    this.#said.replaceChildren(element('span', {}, ...nodes))
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#said.replaceChildren(), SHOWN_MS)
  }

  /**
   * Says something with a control in it; stays until it is withdrawn.
   *
   * @param closed Called when a person closes it.
   */
  offer(nodes: readonly Child[], closed: () => void): void {
    this.#place()
    const close = () => {
      closed()
      this.withdraw()
    }
    const cross = button('×', close, { class: 'quiet', 'aria-label': 'Close the notice' })
    this.#offered.replaceChildren(element('span', {}, ...nodes), cross)
  }

  withdraw(): void {
    this.#offered.replaceChildren()
  }

  /** All that is outside an open dialogue is neither seen nor read aloud. */
  #place() {
    const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
    if (this.dom.parentElement !== place) place.append(this.dom)
  }
}

const SHOWN_MS = 6_000
