import { readHops } from '../exchange/hops.ts'
import type { App } from './app.ts'
import { type Configuration, fieldNames, findConfiguration, ofFields } from './configuration.ts'
import { copyButton, copyIcon } from './copy-button.ts'
import { usualLine } from './copy-lines.ts'
import { element, mark } from './element.ts'
import { labelLinks } from './label-links.ts'
import { shown } from './shown-text.ts'

/** A row of the list, for one record as long as it is shown. */
export class ListRow {
  readonly dom: HTMLTableRowElement
  /** Its first control: leads to the record. */
  readonly opener = element('a', { class: 'opener' })
  /** Says whether the record is selected. */
  readonly box: HTMLInputElement
  readonly #select: HTMLElement
  readonly #app: App
  readonly #cells = ofFields(({ name }) => element('td', { class: name }))
  readonly #labels = element('td', { class: 'labels' })
  #configuration: Configuration

  /** @param toggle Called when a person has used the box; with Shift for all rows from the last one to this one. */
  constructor(app: App, configuration: Configuration, toggle: (row: ListRow, isStretch: boolean) => void) {
    this.#app = app
    this.#configuration = configuration
    this.box = element('input', {
      type: 'checkbox',
      click: (event) => toggle(this, event instanceof MouseEvent && event.shiftKey),
    })
    this.#select = element('td', { class: 'select', hidden: true }, this.box)
    this.#cells.name.append(this.opener)
    const copy = copyButton(app, copyIcon(), () => this.#findLine(), 'the line to connect with')
    this.dom = element(
      'tr',
      {},
      this.#select,
      ...fieldNames.map((field) => this.#cells[field]),
      this.#labels,
      element('td', { class: 'actions' }, copy),
    )
    this.#fill()
  }

  get configuration(): Configuration {
    return this.#configuration
  }

  /** Shows whether it is selected, to people who can select it. */
  select(canBe: boolean, isSelected: boolean): void {
    this.#select.hidden = !canBe
    this.box.checked = isSelected
    this.dom.toggleAttribute('data-selected', isSelected)
  }

  /** Marks the row for a moment if the record differs. */
  update(configuration: Configuration): void {
    if (JSON.stringify(configuration) === JSON.stringify(this.#configuration)) return
    this.#configuration = configuration
    this.#fill()
    mark(this.dom, 'changed')
  }

  /** Makes the links lead from the present address. */
  updateLinks(): void {
    const app = this.#app
    const { name, labels = {} } = this.#configuration
    this.opener.href = app.linkTo({ record: name })
    // Each leads to the records that have the label, too.
    const filters = (label: readonly [string, string]) => [...app.address.filters, label]
    this.#labels.replaceChildren(
      ...labelLinks(labels, (label) => app.linkTo({ filters: filters(label), page: 0 })),
    )
  }

  /** @throws {Error} with the reason if the record has no such line. */
  async #findLine(): Promise<string> {
    const record = this.#configuration
    const hops = await readHops(record, (name) => findConfiguration(this.#app.api, name))
    const { text, fault } = usualLine(record, (name) => hops.get(name))
    if (fault !== undefined) throw new Error(`the record ${fault}`)
    return text
  }

  #fill() {
    this.box.setAttribute('aria-label', `Select ${this.#configuration.name}`)
    for (const field of fieldNames) {
      const cell = field === 'name' ? this.opener : this.#cells[field]
      cell.replaceChildren(shown(String(this.#configuration[field] ?? '')))
    }
    this.updateLinks()
  }
}
