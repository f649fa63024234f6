import { type Address, home, type sinceChoices } from './address.ts'
import { type ApiResponse, explain, isAborted } from './api.ts'
import type { App, ViewPart } from './app.ts'
import { button, type Child, element, setText } from './element.ts'
import {
  actOf,
  changesBetween,
  countedText,
  type HistoryEntry,
  isCounted,
  isDeletion,
  nameAfter,
  namesTakenAgain,
} from './history-entry.ts'
import { actorOf, changeList, formatTime, reasonOf, timeOf } from './history-text.ts'
import { putBack } from './put-back-dialog.ts'
import { shown } from './shown-text.ts'

/** Entries that are added to the list at once. */
const SHOWN_ENTRIES = 50
/** As many as the API gives at most: deletions must be looked for. */
const READ_ENTRIES_MAX = 1_000
/** Answers that are looked through for deletions before a person is asked to go on. */
const READS_MAX = 5

const titles: Readonly<Record<(typeof sinceChoices)[number] | '', string>> = {
  '': 'Any time',
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
}

/** What was done to all records, newest first; and those that were deleted, which can be put back. */
export class ActivityView implements ViewPart {
  readonly dom: HTMLElement
  readonly #app: App
  readonly #begin: () => void
  readonly #all = element('a', {}, 'All changes')
  readonly #deleted = element('a', {}, 'Deleted')
  readonly #who = element('input', {
    type: 'search',
    id: 'activity-by',
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    change: () => this.#app.go({ by: this.#who.value.trim() }),
  })
  readonly #time = element(
    'select',
    { id: 'activity-since', change: () => this.#app.go({ since: this.#time.value }) },
    ...Object.entries(titles).map(([value, title]) => element('option', { value }, title)),
  )
  readonly #newer = button('Show newer changes', () => this.refresh(), { hidden: true })
  readonly #list = element('ol', { class: 'entries', tabindex: -1, 'aria-label': 'Changes' })
  readonly #fault = element('p', { class: 'fault', role: 'alert' })
  readonly #again = button('Try again', () => void this.#read(), { hidden: true })
  readonly #more = button('Show more', () => void this.#read(), { hidden: true })
  readonly #range = element('p', { class: 'faint', role: 'status' })
  #address: Address | undefined
  #entries: readonly HistoryEntry[] = []
  /** Where the list goes on; undefined at its end. */
  #next: string | undefined
  #reading: AbortController | undefined

  /** @param begin Called once it is read: changes are wanted. */
  constructor(app: App, begin: () => void) {
    this.#app = app
    this.#begin = begin
    const field = (id: string, label: string, input: HTMLElement) =>
      element('div', { class: 'format' }, element('label', { for: id }, label), input)
    this.dom = element(
      'section',
      { 'aria-label': 'Activity', class: 'panel activity' },
      element('h2', {}, 'Activity'),
      element(
        'div',
        { class: 'bar' },
        element('nav', { 'aria-label': 'Which changes' }, this.#all, this.#deleted),
        field('activity-by', 'Who', this.#who),
        field('activity-since', 'When', this.#time),
      ),
      this.#newer,
      this.#list,
      this.#fault,
      this.#again,
      this.#more,
      this.#range,
    )
    app.live.listen(() => {
      this.#newer.hidden = this.#address === undefined
    })
  }

  show(address: Address): void {
    this.#address = address
    this.#who.value = address.by
    this.#time.value = address.since
    for (const [link, only] of [[this.#all, ''] as const, [this.#deleted, 'deleted'] as const]) {
      link.href = this.#app.linkTo({ only })
      if (address.only === only) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    this.refresh()
  }

  hide(): void {
    this.#address = undefined
    this.#reading?.abort()
  }

  refresh(): void {
    if (this.#address === undefined) return
    const { by, since, only } = this.#address
    const parameters = new URLSearchParams({
      ...(by === '' ? {} : { by }),
      ...(since === '' ? {} : { since }),
      limit: String(only === 'deleted' ? READ_ENTRIES_MAX : SHOWN_ENTRIES),
    })
    this.#next = `v1/history?${parameters}`
    this.#entries = []
    void this.#read()
  }

  refreshSoon(): void {
    this.#newer.hidden = this.#address === undefined
  }

  /** Only an account that may change records is offered to put them back. */
  takeSession(): void {
    this.#fill()
  }

  /** Reads on from where the list ends. */
  async #read() {
    this.#reading?.abort()
    const reading = new AbortController()
    this.#reading = reading
    const known = this.#entries
    const isFirst = known.length === 0
    try {
      for (let reads = 0; reads < READS_MAX && this.#next !== undefined; reads += 1) {
        const answer = await this.#app.api.call(this.#next, { signal: reading.signal })
        if (reading.signal.aborted) return
        const { history, since } = JSON.parse(answer.text) as ActivityAnswer
        if (isFirst && reads === 0) this.#newer.hidden = true
        this.#entries = [...this.#entries, ...history]
        this.#next = nextIn(answer)
        setText(this.#range, this.#next === undefined ? `History goes back to ${formatTime(since)}.` : '')
        if (this.#shownEntries(this.#entries).length - this.#shownEntries(known).length >= SHOWN_ENTRIES)
          break
      }
      this.#begin()
      this.#fault.textContent = ''
      this.#again.hidden = true
      this.#fill()
    } catch (error) {
      if (isAborted(error)) return
      this.#fault.textContent = explain(error)
      this.#again.hidden = false
      this.#more.hidden = true
    }
  }

  #shownEntries(entries: readonly HistoryEntry[]) {
    return this.#address?.only === 'deleted' ? entries.filter(isDeletion) : entries
  }

  #fill() {
    const entries = this.#shownEntries(this.#entries)
    // Changes of others than the one asked for are missing.
    const taken = namesTakenAgain(this.#address?.by === '' ? this.#entries : [])
    const isOnlyDeleted = this.#address?.only === 'deleted'
    const items = entries.map((entry, place) => {
      if (!isOnlyDeleted) return this.#changeOf(entry)
      return this.#deletionOf(entry, place, taken.has(entry))
    })
    // What is read stays where it is, and so does the focus.
    const hadFocus = this.#more === document.activeElement
    this.#list.replaceChildren(...items)
    this.#list.hidden = items.length === 0
    this.#more.hidden = this.#next === undefined
    if (hadFocus && this.#more.hidden) this.#list.focus()
    if (items.length === 0 && this.#next === undefined)
      setText(
        this.#range,
        `${isOnlyDeleted ? 'No deleted records' : 'No changes'}. ${this.#range.textContent}`,
      )
  }

  #changeOf(entry: HistoryEntry): HTMLElement {
    return element(
      'li',
      {},
      ...this.#sentenceOf(entry),
      reasonOf(entry),
      !isCounted(entry) && changeList(changesBetween(entry)),
    )
  }

  #deletionOf(entry: HistoryEntry, place: number, isTaken: boolean): HTMLElement {
    const id = `deleted-${place}`
    const back = button('Put back', () => void this.#putBack(entry), { 'aria-describedby': id })
    return element(
      'li',
      {},
      element('span', { id }, ...this.#sentenceOf(entry)),
      ' ',
      this.#app.session.mayWrite && back,
      isTaken && element('p', { class: 'faint' }, 'There is a record of this name again.'),
      reasonOf(entry),
      changeList(changesBetween(entry)),
    )
  }

  async #putBack(entry: HistoryEntry) {
    if ((await putBack(this.#app, entry)) === undefined) return
    this.refresh()
    this.#list.focus()
  }

  #sentenceOf(entry: HistoryEntry): readonly Child[] {
    const begin = [timeOf(entry), ' ', ...actorOf(entry)]
    if (isCounted(entry)) return [...begin, element('b', {}, countedText(entry))]
    const name = nameAfter(entry)
    const link = element('a', { href: this.#app.linkTo({ ...home, record: name }) }, shown(name))
    return [...begin, element('b', {}, actOf(entry)), ' ', link]
  }
}

interface ActivityAnswer {
  readonly history: readonly HistoryEntry[]
  readonly since: string
}

/** The path of the next entries, as the answer has it. */
function nextIn({ headers }: ApiResponse): string | undefined {
  const query = /<[^>]*\?([^>]*)>; *rel="next"/.exec(headers.get('Link') ?? '')?.[1]
  return query === undefined ? undefined : `v1/history?${query}`
}
