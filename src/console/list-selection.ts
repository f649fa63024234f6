import type { Address } from './address.ts'
import type { App } from './app.ts'
import type { Configuration } from './configuration.ts'
import { button, element, setText } from './element.ts'
import { openExportDialog } from './export-run.ts'
import { grouped } from './figure-text.ts'
import type { ListRow } from './list-row.ts'
import { type ManyAction, openManyDialog } from './many-dialog.ts'
import { createChangeForm, createLabelForm } from './many-forms.ts'
import { SELECTED_MAX, Selection } from './selection.ts'

/** The page of the list that is shown. */
interface ShownPage {
  readonly address: Address
  readonly rows: readonly ListRow[]
  /** Records on all pages. */
  readonly total: number
}

/** Selects records of the list, and offers what can be done to those that are selected. */
export class ListSelection {
  readonly bar: HTMLElement
  /** Stands over the boxes of the rows. */
  readonly heading: HTMLTableCellElement
  readonly #app: App
  readonly #selection = new Selection()
  readonly #page = element('input', {
    type: 'checkbox',
    'aria-label': 'Select all on this page',
    click: () => this.#set(this.#shown?.rows ?? [], this.#page.checked),
  })
  readonly #all = button('', () => this.#selectAll())
  readonly #count = element('span', { class: 'count', 'aria-live': 'polite' })
  readonly #actions: HTMLElement
  #shown: ShownPage | undefined
  /** Id of the row whose box was used last: a stretch begins there. */
  #from: number | undefined

  constructor(app: App) {
    this.#app = app
    this.heading = element('th', { scope: 'col', class: 'select' }, this.#page)
    this.#actions = element(
      'span',
      { class: 'bar', role: 'group', 'aria-label': 'Selected records' },
      button('Change', () =>
        this.#open({ word: 'Change', asks: 'This changes', done: 'Changed', form: createChangeForm() }),
      ),
      button('Label', () => {
        const keys = app.listed.flatMap(({ labels = {} }) => Object.keys(labels))
        this.#open({ word: 'Label', asks: 'This labels', done: 'Changed', form: createLabelForm(keys) })
      }),
      button('Export', () => openExportDialog(app, this.#selection.target, this.#size)),
      button('Delete', () => this.#open({ word: 'Delete', asks: 'This deletes', done: 'Deleted' }), {
        class: 'danger',
      }),
      button('Select none', () => this.#clear(), { class: 'quiet' }),
    )
    this.bar = element('div', { class: 'bar selected' }, this.#all, this.#count, this.#actions)
    app.live.listen(({ kind, configuration }) => {
      if (kind === 'removed' && this.#selection.forget(configuration.id)) this.#update()
    })
  }

  /** Takes over what the list shows. */
  show(page: ShownPage): void {
    this.#shown = page
    this.#selection.showSearch(page.address)
    this.#update()
  }

  /** An account that may only read selects nothing. */
  takeSession(): void {
    if (!this.#app.session.mayWrite) this.#selection.clear()
    this.#update()
  }

  /**
   * Takes over what a person did with the box of a row.
   *
   * @param isStretch Whether all rows from the last one to this one get the same.
   */
  toggle(row: ListRow, isStretch: boolean): void {
    const { rows = [] } = this.#shown ?? {}
    const from = rows.findIndex(({ configuration }) => configuration.id === this.#from)
    const to = rows.indexOf(row)
    this.#from = row.configuration.id
    const stretch = isStretch && from !== -1 ? rows.slice(Math.min(from, to), Math.max(from, to) + 1) : [row]
    this.#set(stretch, row.box.checked)
  }

  /** How many records are selected. */
  get #size() {
    return this.#selection.search === undefined ? this.#selection.size : (this.#shown?.total ?? 0)
  }

  #set(rows: readonly ListRow[], isSelected: boolean) {
    const shown = idsOf(this.#shown?.rows ?? [])
    if (!this.#selection.set(idsOf(rows), isSelected, shown))
      this.#app.notices.say(`At most ${grouped(SELECTED_MAX)} records can be selected one by one.`)
    this.#update()
  }

  #selectAll() {
    if (this.#shown !== undefined) this.#selection.selectAll(this.#shown.address)
    this.#update()
  }

  #clear() {
    this.#selection.clear()
    this.#update()
    this.#all.focus()
  }

  #open(action: ManyAction) {
    const selection = this.#selection
    const isAll = selection.search !== undefined
    openManyDialog(this.#app, action, {
      search: selection.target,
      count: this.#size,
      counted: (records) => {
        if (!isAll) selection.keepOnly(new Set(records.map(({ id }) => id)))
        this.#update()
      },
      done: () => {
        // The search may keep others now.
        if (isAll || action.form === undefined) this.#clear()
      },
    })
  }

  #update() {
    const { rows = [], total = 0 } = this.#shown ?? {}
    const { mayWrite } = this.#app.session
    const count = this.#size
    this.bar.hidden = !mayWrite || (total === 0 && count === 0)
    setText(this.#all, `Select all ${grouped(total)}`)
    this.#all.hidden = total === 0
    setText(this.#count, count === 0 ? '' : `${grouped(count)} selected`)
    this.#actions.hidden = count === 0
    this.heading.hidden = !mayWrite
    const selected = rows.filter(({ configuration }) => this.#selection.has(configuration.id))
    this.#page.checked = rows.length > 0 && selected.length === rows.length
    this.#page.indeterminate = selected.length > 0 && selected.length < rows.length
    for (const row of rows) row.select(mayWrite, selected.includes(row))
  }
}

function idsOf(rows: readonly { readonly configuration: Configuration }[]): number[] {
  return rows.map(({ configuration }) => configuration.id)
}
