import type { App } from './app.ts'
import { type Configuration, fieldNames, type Labels, ofFields } from './configuration.ts'
import { copyButton, copyIcon } from './copy-button.ts'
import { sshLine } from './copy-lines.ts'
import { button, element } from './element.ts'
import { shown } from './shown-text.ts'

/** How long a row shows that it has changed. */
const MARKED_MS = 4_000

/** A row of the list, for one record as long as it is shown. */
export class RecordRow {
  readonly dom: HTMLTableRowElement
  /** Its first control: opens the record. */
  readonly opener: HTMLButtonElement
  readonly #app: App
  readonly #cells = ofFields(({ name }) => element('td', { class: name }))
  readonly #labels = element('td', { class: 'labels' })
  #configuration: Configuration

  constructor(app: App, configuration: Configuration, open: (configuration: Configuration) => void) {
    this.#app = app
    this.#configuration = configuration
    this.opener = button('', () => open(this.#configuration), { class: 'opener' })
    this.#cells.name.append(this.opener)
    const copy = copyButton(app, copyIcon(), () => sshLine(this.#configuration), 'the ssh line')
    this.dom = element(
      'tr',
      {},
      ...fieldNames.map((field) => this.#cells[field]),
      this.#labels,
      element('td', { class: 'actions' }, copy),
    )
    this.#fill()
  }

  get configuration(): Configuration {
    return this.#configuration
  }

  /** Marks the row for a moment if the record differs. */
  update(configuration: Configuration): void {
    if (JSON.stringify(configuration) === JSON.stringify(this.#configuration)) return
    this.#configuration = configuration
    this.#fill()
    this.mark('changed')
  }

  /** Has the links lead from the present address. */
  updateLinks(): void {
    this.#labels.replaceChildren(...labelLinks(this.#app, this.#configuration.labels ?? {}))
  }

  mark(how: 'changed' | 'added' | 'gone'): void {
    this.dom.dataset.mark = how
    setTimeout(() => delete this.dom.dataset.mark, MARKED_MS)
  }

  #fill() {
    for (const field of fieldNames) {
      const cell = field === 'name' ? this.opener : this.#cells[field]
      cell.replaceChildren(shown(String(this.#configuration[field] ?? '')))
    }
    this.updateLinks()
  }
}

/** Each leads to the records that have the label, too. */
function labelLinks(app: App, labels: Labels): HTMLElement[] {
  return Object.entries(labels).map(([key, value]) => {
    const filters = [...app.address.filters, ['label', `${key}=${value}`] as const]
    return element(
      'a',
      { class: 'label', href: app.linkTo({ filters, page: 0 }), title: 'Show only records with this label' },
      key,
      value !== '' && '=',
      value !== '' && shown(value),
    )
  })
}
