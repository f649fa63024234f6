import type { Address } from './address.ts'
import { explain, Refusal } from './api.ts'
import type { App } from './app.ts'
import { button, element } from './element.ts'

/** What stands in place of the rows of a list, or below them: that there are none, or why they cannot be read. */
export class ListState {
  readonly dom = element('div', { class: 'state' })
  readonly #app: App
  readonly #actions: { add(): void; refresh(): void }

  constructor(app: App, actions: { add(): void; refresh(): void }) {
    this.#app = app
    this.#actions = actions
  }

  /** For a list that was read. */
  show(address: Address, isEmpty: boolean): void {
    this.dom.replaceChildren(...(isEmpty ? this.#nothing(address) : []))
  }

  /** An error stays until the next answer, with the button that may have the focus. */
  showReading(): void {
    if (this.dom.querySelector('.fault') === null)
      this.dom.replaceChildren(element('p', {}, 'Reading the records…'))
  }

  showError(error: unknown): void {
    const isBadQuery = error instanceof Refusal && error.status === 400
    const text = isBadQuery ? queryFaults(error) : explain(error)
    // Otherwise each try would be read aloud.
    if (this.dom.querySelector('.fault')?.textContent === text) return
    this.dom.replaceChildren(
      element('p', { class: 'fault', role: 'alert' }, text),
      isBadQuery ? this.#allRecords() : button('Try again', this.#actions.refresh),
    )
  }

  #nothing({ q, filters }: Address): Node[] {
    if (q !== '' || filters.length > 0) return [element('p', {}, 'No matching records'), this.#allRecords()]
    const { mayWrite } = this.#app.session
    const text = mayWrite ? 'Add the first one, or import a file.' : 'Somebody who may write can add them.'
    const nodes = [element('h2', {}, 'No records yet'), element('p', {}, text)]
    if (!mayWrite) return nodes
    return [
      ...nodes,
      button('Add a record', this.#actions.add, { class: 'primary' }),
      this.#link('Import a file', { view: 'exchange' }),
    ]
  }

  #allRecords(): HTMLAnchorElement {
    return this.#link('Show all records', { q: '', filters: [], page: 0 })
  }

  #link(label: string, change: Partial<Address>): HTMLAnchorElement {
    return element('a', { href: this.#app.linkTo(change) }, label)
  }
}

/** What is wrong with a search: somebody may have typed it into the address. */
function queryFaults({ message, faults }: Refusal): string {
  const texts = faults.map(({ field, detail }) => `${field} ${detail}`)
  return texts.length === 0 ? `${message}.` : `${message}: ${texts.join('; ')}.`
}
