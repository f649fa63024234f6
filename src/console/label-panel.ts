import type { Address } from './address.ts'
import { explain, isAborted } from './api.ts'
import type { App } from './app.ts'
import { button, type Child, element } from './element.ts'
import { grouped } from './figure-text.ts'
import { choose, type Facet, facetPaths, facetsOf, type LabelsAnswer } from './label-facets.ts'
import { shown } from './shown-text.ts'

/** Shows the labels of the records in the list, with boxes that keep only the records with some of them. */
export class LabelPanel {
  readonly button: HTMLButtonElement
  readonly panel = element('div', { class: 'facets', id: 'label-filter', hidden: true })
  readonly #app: App
  #address: Address | undefined
  /** The search and the tag of the list for which it was read last. */
  #state = ''
  #reading: AbortController | undefined

  constructor(app: App) {
    this.#app = app
    this.button = button('Labels', () => this.#toggle(), {
      'aria-expanded': 'false',
      'aria-controls': this.panel.id,
    })
  }

  /** Takes over what the list shows. @param tag Of the list. */
  update(address: Address, tag: string): void {
    this.#address = address
    const state = JSON.stringify([[...facetPaths(address)], tag])
    if (state === this.#state || this.panel.hidden) return
    this.#state = state
    void this.#read(address)
  }

  #toggle() {
    const isOpen = this.panel.hidden
    this.panel.hidden = !isOpen
    this.button.setAttribute('aria-expanded', String(isOpen))
    this.#state = ''
    if (isOpen && this.#address !== undefined) void this.#read(this.#address)
  }

  async #read(address: Address) {
    this.#reading?.abort()
    const reading = new AbortController()
    this.#reading = reading
    try {
      const counts = [...facetPaths(address)].map(async ([key, path]) => {
        const { text } = await this.#app.api.call(path, { signal: reading.signal })
        return [key, JSON.parse(text) as LabelsAnswer] as const
      })
      const read = new Map(await Promise.all(counts))
      if (!reading.signal.aborted) this.#show(facetsOf(address, read), read.get(undefined)?.more ?? 0)
    } catch (error) {
      if (isAborted(error)) return
      this.#state = ''
      this.panel.replaceChildren(element('p', { class: 'fault', role: 'alert' }, explain(error)))
    }
  }

  /** @param more Keys that are not listed. */
  #show(facets: readonly Facet[], more: number) {
    const { activeElement } = document
    const focused = this.panel.contains(activeElement) ? activeElement?.getAttribute('value') : undefined
    const { scrollTop } = this.panel
    const groups = facets.map((facet) => this.#groupOf(facet))
    this.panel.replaceChildren(
      ...(groups.length === 0 ? [element('p', {}, 'None of these records has a label.')] : groups),
      moreOf(more, 'keys'),
    )
    this.panel.scrollTop = scrollTop
    const boxes = [...this.panel.querySelectorAll('input')]
    if (typeof focused === 'string')
      boxes.find(({ value }) => value === focused)?.focus({ preventScroll: true })
  }

  #groupOf({ key, values, more }: Facet): HTMLElement {
    const choices = values.map(({ value, count, isChosen }) => {
      const box = element('input', {
        type: 'checkbox',
        value: `${key}=${value}`,
        change: () => this.#choose(box),
      })
      box.checked = isChosen
      const text: Child = value === '' ? element('i', {}, 'empty') : shown(value)
      return element(
        'label',
        { class: 'choice' },
        box,
        text,
        ' ',
        element('small', {}, count !== undefined && grouped(count)),
      )
    })
    return element('fieldset', {}, element('legend', {}, key), ...choices, moreOf(more, 'values'))
  }

  #choose({ value, checked }: HTMLInputElement) {
    const { filters } = this.#app.address
    this.#app.go({ filters: choose(filters, value, checked), page: 0 })
  }
}

function moreOf(count: number, what: string): HTMLElement {
  return element('p', { class: 'faint', hidden: count === 0 }, `${grouped(count)} more ${what}`)
}
