import { labelKeyOf } from '../exchange/column-name.ts'
import type { ReadColumn } from '../exchange/row.ts'
import { fields } from './configuration.ts'
import { element, headRow } from './element.ts'
import { grouped } from './figure-text.ts'
import { shown } from './shown-text.ts'

const LABEL = 'label.'
/** Values of a choice that are not fields: still to be chosen, a label of its own, and left out. */
const [OPEN, ONE_LABEL, LEFT_OUT] = ['', 'label', 'out']
/** A page can show so many; what becomes of the others is chosen for all of them. */
const COLUMNS_SHOWN_MAX = 200

const choices = [
  ...fields.map(({ name, heading }) => [name, heading] as const),
  ['labels', 'Labels'],
  [ONE_LABEL, 'A label'],
  [LEFT_OUT, 'Left out'],
] as const

interface ColumnRow {
  readonly dom: HTMLElement
  update(column: ReadColumn): void
}

/** What becomes of each column of CSV: as the server says, until a person chooses otherwise. */
export class ImportColumns {
  readonly dom: HTMLElement
  readonly #changed: () => void
  readonly #extra: HTMLSelectElement
  readonly #body = element('tbody')
  readonly #more = element('p')
  /** By column: the field, `label.KEY`, or nothing for left out. */
  readonly #chosen = new Map<string, string>()
  #columns: readonly ReadColumn[] = []
  #rows: readonly ColumnRow[] = []

  /** @param changed Called after each change by the person. */
  constructor(changed: () => void) {
    this.#changed = changed
    this.#extra = element(
      'select',
      { id: 'import-extra', change: changed },
      element('option', { value: '' }, 'Say it for each'),
      element('option', { value: 'labels' }, 'Become labels'),
      element('option', { value: 'ignore' }, 'Are left out'),
    )
    this.dom = element(
      'fieldset',
      { class: 'plain', hidden: true },
      element('legend', {}, 'Columns'),
      element(
        'div',
        { class: 'format' },
        element('label', { for: 'import-extra' }, 'Columns without a field'),
        this.#extra,
      ),
      element(
        'div',
        { class: 'scrolled' },
        element(
          'table',
          { class: 'columns' },
          element('caption', { class: 'unseen' }, 'What becomes of each column'),
          headRow('Column', 'Becomes'),
          this.#body,
        ),
      ),
      this.#more,
    )
  }

  /** What is chosen, as the API takes it. */
  get parameters(): readonly (readonly [name: string, value: string])[] {
    const { value } = this.#extra
    const mapped = [...this.#chosen].map(([column, field]) => ['map', `${field}:${column}`] as const)
    return [...(value === '' ? [] : [['extra', value] as const]), ...mapped]
  }

  /** Whether the person has to choose before anything can be imported. */
  get isOpen(): boolean {
    return !this.dom.hidden && this.#columns.some(({ becomes }) => becomes === undefined)
  }

  focus(): void {
    this.#extra.focus()
  }

  /** For a file with another header: nothing is chosen. */
  reset(): void {
    this.#chosen.clear()
    this.#extra.value = ''
    this.update([])
  }

  /** Shows what the server read; rows stay, and so does the focus, while the columns have the same names. */
  update(columns: readonly ReadColumn[]): void {
    const listed = columns.slice(0, COLUMNS_SHOWN_MAX)
    const isSame =
      columns.length === this.#columns.length &&
      columns.every(({ column }, at) => column === this.#columns[at]?.column)
    this.#columns = columns
    this.dom.hidden = columns.length === 0
    if (!isSame) {
      this.#rows = listed.map((column, at) => (column.secret ? secretRow(column) : this.#row(column, at)))
      this.#body.replaceChildren(...this.#rows.map(({ dom }) => dom))
      const more = columns.length - listed.length
      this.#more.textContent = more > 0 ? `and ${grouped(more)} more` : ''
    }
    for (const [at, column] of listed.entries()) this.#rows[at]?.update(column)
  }

  #row({ column }: ReadColumn, at: number): ColumnRow {
    const id = `import-column-${at}`
    const open = element('option', { value: OPEN, hidden: true }, 'Choose…')
    const select = element(
      'select',
      { 'aria-labelledby': id, change: () => choose() },
      open,
      ...choices.map(([value, title]) => element('option', { value }, title)),
    )
    const key = element('input', {
      ...{
        'aria-label': `Key of the label for ${column}`,
        value: labelKeyOf(column),
        change: () => choose(),
      },
      ...{ autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' },
    })
    const choose = () => {
      key.hidden = select.value !== ONE_LABEL
      const field = select.value === ONE_LABEL ? LABEL + key.value.trim() : select.value
      this.#choose(column, field === LEFT_OUT ? '' : field)
    }
    return {
      dom: element(
        'tr',
        {},
        element('th', { scope: 'row', id }, shown(column)),
        element('td', {}, element('div', { class: 'format' }, select, key)),
      ),
      update({ becomes }) {
        const isLabel = becomes?.startsWith(LABEL) ?? false
        if (isLabel) key.value = becomes?.slice(LABEL.length) ?? ''
        select.value = isLabel ? ONE_LABEL : becomes === null ? LEFT_OUT : (becomes ?? OPEN)
        key.hidden = !isLabel
      },
    }
  }

  /** A field has one column: the last that was chosen for it. */
  #choose(column: string, field: string) {
    if (field !== '')
      for (const [other, taken] of this.#chosen) if (taken === field) this.#chosen.delete(other)
    this.#chosen.set(column, field)
    this.#changed()
  }
}

function secretRow({ column }: ReadColumn): ColumnRow {
  return {
    dom: element(
      'tr',
      {},
      element('th', { scope: 'row' }, shown(column)),
      element('td', {}, 'Never taken: its name says a secret'),
    ),
    update() {},
  }
}
