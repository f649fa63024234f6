import { readHops } from '../exchange/hops.ts'
import type { Address, LiveChange } from './address.ts'
import { explain, isAborted, Refusal, retryAfterOf } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { type Configuration, configurationPath, findConfiguration, taggedIn } from './configuration.ts'
import { button, type Child, element } from './element.ts'
import { openHistory } from './history-dialog.ts'
import { fateOf } from './history-entry.ts'
import { readHistory, sentenceOf } from './history-text.ts'
import { ListState } from './list-state.ts'
import { openEdit, openNewRecord, removeRecord } from './record-dialog.ts'
import { FactList, factsOf, linesOf } from './record-facts.ts'
import { shown } from './shown-text.ts'

/** How long nothing is said of a record that is on its way. */
const QUIET_MS = 300

/** One record, at an address of its own: what it says, and what can be done with it. */
export class RecordView implements ViewPart {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #begin: () => void
  readonly #title = element('h2', { tabindex: -1 })
  readonly #back = element('a', {}, 'Back to the list')
  readonly #edit = button('Edit', () => this.edit(), { class: 'primary', title: 'Edit the record (e)' })
  readonly #duplicate = button('Duplicate', () => this.#duplicateRecord())
  readonly #remove = button('Delete…', () => void this.#removeOnce(), { class: 'danger' })
  /** What has happened to the record. */
  readonly #news = element('p', { role: 'status' })
  readonly #fault = element('p', { class: 'fault', role: 'alert' })
  readonly #facts = new FactList()
  readonly #lines = new FactList()
  readonly #known: HTMLElement
  readonly #state: ListState
  /** Name in the address; empty while another view is shown. */
  #name = ''
  #record: Configuration | undefined
  /** The record whose lines are shown, or on their way. */
  #hopsOf: Configuration | undefined
  /** What it may go through. */
  #hopNames: ReadonlySet<string> = new Set()
  /** Whether nothing has the name any more. */
  #isGone = false
  #isRemoving = false
  #reading: AbortController | undefined
  #retry = 0

  /** @param begin Called once the record is read: its changes are wanted. */
  constructor(app: App, begin: () => void) {
    this.#app = app
    this.#begin = begin
    this.#state = new ListState(app, { add: () => {}, refresh: () => this.refresh() })
    this.#known = element(
      'div',
      { class: 'panel' },
      this.#facts.dom,
      element('h3', {}, 'Copy'),
      this.#lines.dom,
    )
    this.dom = element(
      'section',
      { class: 'exchange', 'aria-label': 'Record' },
      element(
        'div',
        { class: 'panel' },
        element('p', {}, this.#back),
        this.#title,
        element(
          'div',
          { class: 'bar' },
          this.#edit,
          this.#duplicate,
          button('History', () =>
            openHistory(app, this.#name, (name) => app.go({ record: name }, 'replace')),
          ),
          this.#remove,
        ),
        this.#news,
        this.#fault,
      ),
      this.#known,
      this.#state.dom,
    )
    app.live.listen((change) => this.#hear(change))
  }

  /** The id of the record that was shown last. */
  get id(): number | undefined {
    return this.#record?.id
  }

  show({ record: name }: Address): void {
    this.#back.href = this.#app.linkTo({})
    if (name !== this.#name) {
      this.#name = name
      this.#isGone = false
      this.#record = this.#app.listed.find((each) => each.name === name)
      this.#say()
      this.#fault.replaceChildren()
      this.#fill(false)
    }
    void this.#read()
  }

  hide(): void {
    this.#name = ''
    this.#reading?.abort()
    clearTimeout(this.#retry)
  }

  refresh(): void {
    void this.#read()
  }

  refreshSoon(): void {
    this.refresh()
  }

  takeSession(): void {
    this.#showActions()
  }

  /** Begins at its top. */
  takeFocus(): void {
    scrollTo(0, 0)
    this.#title.focus({ preventScroll: true })
  }

  /** @returns Whether the record can be edited. */
  edit(): boolean {
    if (this.#record === undefined || this.#edit.hidden) return false
    openEdit(this.#app, this.#record, (saved) => this.#update(saved))
    return true
  }

  #duplicateRecord() {
    if (this.#record === undefined) return
    const { id: _, name, ...others } = this.#record
    openNewRecord(this.#app, { ...others, name: `${name}-copy` }, (added) =>
      this.#app.go({ record: added.name }),
    )
  }

  /** A second press, while the record is still read, asks nothing more. */
  async #removeOnce() {
    if (this.#isRemoving) return
    this.#isRemoving = true
    this.#reading?.abort()
    clearTimeout(this.#retry)
    this.#fault.replaceChildren()
    try {
      const removed = await removeRecord(this.#app, this.#name)
      if (removed === undefined) return
      this.#app.notices.say('Deleted ', shown(removed.name))
      this.#app.go({}, 'replace')
    } catch (error) {
      // What has become of a record that is gone is read below.
      if (!(error instanceof Refusal && error.status === 404)) this.#fault.replaceChildren(explain(error))
    } finally {
      this.#isRemoving = false
      this.refresh()
    }
  }

  /** An answer that comes after the next question is dropped. */
  async #read(): Promise<void> {
    this.#reading?.abort()
    clearTimeout(this.#retry)
    if (this.#name === '') return
    const reading = new AbortController()
    const { signal } = reading
    this.#reading = reading
    const late = setTimeout(() => this.#record === undefined && this.#state.showReading(), QUIET_MS)
    try {
      const answer = await this.#app.api
        .call(configurationPath(this.#name), { signal, expects: [404] })
        .finally(() => clearTimeout(late))
      this.#begin()
      this.#state.show(this.#app.address, false)
      if (answer.status === 404) await this.#showGone(signal)
      else this.#update(taggedIn(answer).configuration)
    } catch (error) {
      if (!isAborted(error)) this.#fail(error)
    } finally {
      if (this.#reading === reading) this.#reading = undefined
    }
  }

  #hear({ kind, configuration: now, before }: LiveChange) {
    if (this.#name === '') return
    if (now.id !== this.#record?.id) {
      const names = [now.name, before?.name ?? now.name]
      if (names.includes(this.#name)) this.refresh()
      else if (this.#record !== undefined && names.some((name) => this.#hopNames.has(name)))
        void this.#readHops(this.#record, true)
      return
    }
    if (kind === 'removed') {
      if (!this.#isRemoving) this.refresh()
      return
    }
    // The page may find an old name gone before it hears of the new one. Any other change may be older than that answer.
    const isRenamed = before?.name === this.#name && now.name !== this.#name
    if (this.#isGone && !isRenamed) return this.refresh()
    this.#unsayGone()
    this.#sayWhatChanged(this.#record, now)
    // What is on its way may be older.
    const isReading = this.#reading !== undefined
    this.#update(now)
    if (isReading) this.refresh()
  }

  /** Takes over what the record is now, and its name into the address. */
  #update(now: Configuration) {
    if (this.#name === '') return
    const isSame = now.id === this.#record?.id
    this.#unsayGone()
    this.#record = now
    const isRenamed = this.#name !== now.name
    this.#name = now.name
    this.#fill(isSame)
    if (isRenamed) this.#app.go({ record: now.name }, 'replace')
  }

  #fill(isMarked: boolean) {
    const record = this.#record
    this.#title.replaceChildren(shown(this.#name))
    this.#known.hidden = record === undefined
    this.#showActions()
    if (record === undefined) return
    this.#facts.update(factsOf(this.#app, record), isMarked)
    if (this.#hopsOf !== record) void this.#readHops(record, isMarked)
  }

  /** The lines wait for the records that the shown one goes through. */
  async #readHops(record: Configuration, isMarked: boolean) {
    if (this.#hopsOf?.id !== record.id) this.#lines.update([], false)
    this.#hopsOf = record
    try {
      const hops = await readHops(record, (name) => findConfiguration(this.#app.api, name))
      if (this.#hopsOf !== record || this.#record !== record) return
      this.#hopNames = new Set(hops.keys())
      const lines = linesOf(this.#app, record, (name) => hops.get(name))
      this.#lines.update(lines, isMarked)
    } catch (error) {
      this.#hopsOf = undefined
      if (this.#record === record) this.#fault.replaceChildren(explain(error))
    }
  }

  #showActions() {
    const isShown = this.#app.session.mayWrite && this.#record !== undefined && !this.#isGone
    const actions = [this.#edit, this.#duplicate, this.#remove]
    const hadFocus = actions.some((action) => action === document.activeElement)
    for (const action of actions) action.hidden = !isShown
    if (hadFocus && !isShown) this.#title.focus()
  }

  /** Says nothing while a dialogue is open: one's own change shows before it closes, or when it does. */
  #sayWhatChanged(before: Configuration, now: Configuration) {
    if (JSON.stringify(before) === JSON.stringify(now) || document.querySelector('dialog[open]') !== null)
      return
    const time = new Date().toLocaleTimeString('en-GB')
    if (before.name === now.name) this.#say(`Somebody changed this record at ${time}.`)
    else this.#say(`Somebody renamed this record at ${time}. It was `, shown(before.name), ' before.')
  }

  /** Says that nothing has the name, and what the history knows of it. */
  async #showGone(signal: AbortSignal): Promise<void> {
    this.#isGone = true
    this.#showActions()
    const name = this.#name
    const said = ['There is no record ', element('b', {}, shown(name)), '.']
    const asItWas = this.#record !== undefined && ' Below is what it said last.'
    this.#say(...said, asItWas)
    const { history } = await readHistory(this.#app, name, { signal }).catch(() => ({ history: [] }))
    const fate = fateOf(history)
    if (fate === undefined || signal.aborted) return
    if ('deleted' in fate) return this.#say(...said, ' ', ...sentenceOf(fate.deleted), '.', asItWas)
    const link = element('a', { href: this.#app.linkTo({ record: fate.renamed }) }, shown(fate.renamed))
    this.#say(...said, ' It has another name now: ', link, '.', asItWas)
  }

  #unsayGone() {
    if (this.#isGone) this.#say()
    this.#isGone = false
  }

  #say(...nodes: readonly Child[]) {
    this.#news.replaceChildren(...nodes.filter((node) => node !== undefined && node !== false))
  }

  /** Tries again by itself while nobody does. */
  #fail(error: unknown) {
    const seconds = retryAfterOf(error)
    if (seconds !== undefined) this.#retry = setTimeout(() => this.refresh(), seconds * 1_000)
    this.#state.showError(error)
  }
}
