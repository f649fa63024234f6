import { type Address, concerns, listPath, nextSort, PAGE_RECORDS } from './address.ts'
import { isAborted, retryAfterOf, tagIn } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { type Configuration, configurationsIn, fieldNames, ofFields } from './configuration.ts'
import { button, element, mark, setText } from './element.ts'
import { grouped } from './figure-text.ts'
import { LabelPanel } from './label-panel.ts'
import { ListFilters } from './list-filters.ts'
import { ListPages, lastPageOf } from './list-pages.ts'
import { ListRow } from './list-row.ts'
import { ListSelection } from './list-selection.ts'
import { ListState } from './list-state.ts'
import { SearchBox } from './search-box.ts'

/** How long nothing is said of a list that is on its way. */
const QUIET_MS = 300
/** Others' changes within this time are read together. */
const CHANGES_MS = 1_000
/** How long rows that go show that they go. */
const GONE_MS = 1_500

/** What a person can do with the list. */
export interface RecordActions {
  /** Called with the tag of the first list. */
  begin(tag: string): void
  add(): void
}

/** One page of the records, its order and its search. */
export class RecordList implements ViewPart {
  readonly dom: HTMLElement
  readonly search: SearchBox
  readonly #app: App
  readonly #actions: RecordActions
  readonly #rows = new Map<number, ListRow>()
  /** Ids of records that were deleted since the last answer. */
  readonly #removed = new Set<number>()
  /** The first id that was added since the page is shown. */
  #addedFrom = Infinity
  readonly #body = element('tbody')
  readonly #headings = ofFields(({ name, heading }) =>
    element('th', { scope: 'col', class: name }, element('a', { href: '' }, heading)),
  )
  readonly #table: HTMLTableElement
  readonly #count = element('p', { class: 'count', 'aria-live': 'polite' })
  readonly #export = element('a', { class: 'export' }, 'Export these')
  readonly #filters: ListFilters
  readonly #labels: LabelPanel
  readonly #selection: ListSelection
  readonly #state: ListState
  readonly #pages: ListPages
  readonly #add: HTMLButtonElement
  #address: Address | undefined
  #reading: AbortController | undefined
  #tag: string | undefined
  #total = 0
  /** The record that shall have the focus. */
  #wanted: number | undefined
  #retry = 0
  #soon = 0

  constructor(app: App, actions: RecordActions) {
    this.#app = app
    this.#actions = actions
    this.#filters = new ListFilters(app)
    this.#labels = new LabelPanel(app)
    this.#selection = new ListSelection(app)
    this.#state = new ListState(app, { add: actions.add, refresh: () => this.refresh() })
    this.#pages = new ListPages(app)
    this.search = new SearchBox((q, isTyping) => app.go({ q, page: 0 }, isTyping ? 'replace' : 'push'))
    this.#add = button('Add', actions.add, {
      class: 'primary',
      title: 'Add a record (n)',
      hidden: true,
    })
    this.#table = element(
      'table',
      { class: 'records' },
      element('caption', { class: 'unseen' }, 'Records'),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          this.#selection.heading,
          ...fieldNames.map((field) => this.#headings[field]),
          element('th', { scope: 'col', class: 'labels' }, 'Labels'),
          element('th', { scope: 'col', class: 'actions' }, element('span', { class: 'unseen' }, 'Copy')),
        ),
      ),
      this.#body,
    )
    app.live.listen((change) => {
      const { kind, configuration } = change
      if (kind === 'added') this.#addedFrom = Math.min(this.#addedFrom, configuration.id)
      if (kind === 'removed' && this.#rows.has(configuration.id)) this.#removed.add(configuration.id)
      if (this.#address !== undefined && concerns(this.#address, change)) this.refreshSoon()
    })
    document.addEventListener('visibilitychange', () => {
      if (document.hidden || this.#soon === 0) return
      clearTimeout(this.#soon)
      this.#soon = 0
      this.refresh()
    })
    this.dom = element(
      'section',
      { 'aria-label': 'Records' },
      element(
        'div',
        { class: 'bar' },
        this.search.dom,
        this.#labels.button,
        this.#count,
        this.#export,
        this.#add,
      ),
      this.#labels.panel,
      this.#filters.dom,
      this.#selection.bar,
      this.#table,
      this.#state.dom,
      this.#pages.dom,
    )
  }

  show(address: Address): void {
    const before = this.#address
    this.#address = address
    this.search.update(address.q)
    this.#showOrder(address)
    this.#export.hidden = address.q === '' && address.filters.length === 0
    this.#export.href = this.#app.linkTo({ view: 'exchange', page: 0 })
    this.#filters.update(address)
    for (const row of this.#rows.values()) row.updateLinks()
    if (before === undefined || listPath(before) !== listPath(address)) {
      this.#tag = undefined
      this.#addedFrom = Infinity
    }
    void this.#read(address, this.#tag)
  }

  takeSession(): void {
    this.#add.hidden = !this.#app.session.mayWrite
    this.#selection.takeSession()
    if (this.#address !== undefined && this.#tag !== undefined) this.#showState(this.#address)
  }

  refresh(): void {
    if (this.#address !== undefined) void this.#read(this.#address, this.#tag)
  }

  /** Reads again what is shown, at most once in CHANGES_MS, and not while nobody can see it. */
  refreshSoon(): void {
    if (this.#soon !== 0 || !this.dom.isConnected) return
    this.#soon = setTimeout(() => {
      if (document.hidden) return
      this.#soon = 0
      // Ever new changes must not drop the answer that is on its way.
      if (this.#reading === undefined) this.refresh()
      else this.refreshSoon()
    }, CHANGES_MS)
  }

  /** The records that it shows. */
  get records(): readonly Configuration[] {
    return Array.from(this.#rows.values(), ({ configuration }) => configuration)
  }

  /** Moves the focus to a record; or once the list is read, unless somebody has moved it by then. */
  focusRecord(id: number): void {
    this.#wanted = id
    this.#focusWanted()
  }

  /** Moves the focus by rows; begins at the first. */
  moveFocus(by: 1 | -1): boolean {
    const openers = [...this.#rows.values()].map(({ opener }) => opener)
    const present = openers.findIndex((opener) => opener.closest('tr')?.contains(document.activeElement))
    const next = openers[present === -1 ? 0 : Math.min(Math.max(present + by, 0), openers.length - 1)]
    next?.focus()
    return next !== undefined
  }

  /**
   * Selects the record whose row has the focus, or not any longer.
   *
   * @param isStretch Whether all rows from the last one to this one get the same.
   */
  toggleFocused(isStretch: boolean): boolean {
    const row = [...this.#rows.values()].find(({ dom }) => dom.contains(document.activeElement))
    if (row === undefined || !this.#app.session.mayWrite) return false
    row.box.dispatchEvent(new MouseEvent('click', { shiftKey: isStretch }))
    return true
  }

  readonly #toggle = (row: ListRow, isStretch: boolean) => this.#selection.toggle(row, isStretch)

  /** An answer that comes after the next question is dropped. */
  async #read(address: Address, tag: string | undefined): Promise<void> {
    this.#reading?.abort()
    clearTimeout(this.#retry)
    const reading = new AbortController()
    this.#reading = reading
    const late = setTimeout(() => this.#dim(true), QUIET_MS)
    try {
      const answer = await this.#app.api
        .call(listPath(address), {
          signal: reading.signal,
          expects: [304],
          headers: tag === undefined ? {} : { 'If-None-Match': tag },
        })
        .finally(() => {
          clearTimeout(late)
          if (this.#reading === reading) this.#dim(false)
        })
      if (answer.status === 304) return this.#state.show(address, this.#rows.size === 0)
      const isSamePage = this.#tag !== undefined
      const configurations = configurationsIn(answer.text)
      if (isSamePage && this.#markGone()) {
        await new Promise((resolve) => setTimeout(resolve, GONE_MS))
        if (reading.signal.aborted) return
      }
      this.#total = Number(answer.headers.get('X-Total-Count'))
      // Others have removed the page, or somebody has typed its number.
      const lastPage = lastPageOf(this.#total)
      if (address.page > lastPage) {
        if (this.dom.isConnected) this.#app.go({ page: lastPage }, 'replace')
        return
      }
      this.#tag = tagIn(answer)
      if (this.#tag !== '') this.#actions.begin(this.#tag)
      this.#fill(configurations, isSamePage)
      this.#showState(address)
    } catch (error) {
      if (!isAborted(error)) this.#fail(error)
    } finally {
      if (this.#reading === reading) this.#reading = undefined
    }
  }

  /** @returns Whether a row goes because its record was deleted; others only move to another page. */
  #markGone(): boolean {
    const gone = [...this.#rows].filter(([id]) => this.#removed.has(id))
    this.#removed.clear()
    for (const [, row] of gone) mark(row.dom, 'gone')
    return gone.length > 0
  }

  /** Rows keep their place in the page, so that a focus and what is read stay where they are. */
  #fill(configurations: readonly Configuration[], isSamePage: boolean) {
    const focused = document.activeElement
    const gone = new Map(this.#rows)
    this.#rows.clear()
    for (const configuration of configurations) {
      const known = gone.get(configuration.id)
      const row = known ?? new ListRow(this.#app, configuration, this.#toggle)
      // Others only moved here from another page.
      if (known === undefined && isSamePage && configuration.id >= this.#addedFrom) mark(row.dom, 'added')
      known?.update(configuration)
      gone.delete(configuration.id)
      this.#rows.set(configuration.id, row)
    }
    const lost = [...gone.values()].find(({ dom }) => dom.contains(focused))?.dom.sectionRowIndex
    for (const { dom } of gone.values()) dom.remove()
    let previous: Element | null = null
    for (const { dom } of this.#rows.values()) {
      const place: Element | null =
        previous === null ? this.#body.firstElementChild : previous.nextElementSibling
      if (place !== dom) this.#body.insertBefore(dom, place)
      previous = dom
    }
    // To move a row takes the focus from it.
    if (focused instanceof HTMLElement && this.#body.contains(focused)) focused.focus({ preventScroll: true })
    if (lost !== undefined) [...this.#rows.values()].at(Math.min(lost, this.#rows.size - 1))?.opener.focus()
    this.#focusWanted()
    this.#wanted = undefined
  }

  #focusWanted() {
    const row = this.#wanted === undefined ? undefined : this.#rows.get(this.#wanted)
    if (row === undefined || !document.activeElement?.contains(this.dom)) return
    this.#wanted = undefined
    row.opener.focus()
  }

  #showOrder({ sort }: Address) {
    for (const field of fieldNames) {
      const heading = this.#headings[field]
      const direction = sort === field ? 'ascending' : sort === `-${field}` ? 'descending' : undefined
      if (direction === undefined) heading.removeAttribute('aria-sort')
      else heading.setAttribute('aria-sort', direction)
      heading
        .querySelector('a')
        ?.setAttribute('href', this.#app.linkTo({ sort: nextSort(sort, field), page: 0 }))
    }
  }

  #showState(address: Address) {
    const { page, q, filters } = address
    const total = this.#total
    const first = page * PAGE_RECORDS + 1
    const last = Math.min(total, first + PAGE_RECORDS - 1)
    const isFiltered = q !== '' || filters.length > 0
    setText(
      this.#count,
      total === 0
        ? isFiltered
          ? 'Nothing found'
          : ''
        : `${grouped(first)}–${grouped(last)} of ${grouped(total)}${isFiltered ? ' found' : ''}`,
    )
    this.#table.hidden = this.#rows.size === 0
    this.#state.show(address, this.#rows.size === 0)
    this.#labels.update(address, this.#tag ?? '')
    this.#pages.update(page, total)
    this.#selection.show({ address, rows: [...this.#rows.values()], total })
  }

  /** Tries again by itself while nobody does. */
  #fail(error: unknown) {
    const seconds = retryAfterOf(error)
    if (seconds !== undefined) this.#retry = setTimeout(() => this.refresh(), seconds * 1_000)
    this.#state.showError(error)
  }

  #dim(isLate: boolean) {
    this.dom.toggleAttribute('data-late', isLate)
    if (isLate && this.#tag === undefined) this.#state.showReading()
    this.#table.setAttribute('aria-busy', String(isLate))
  }
}
