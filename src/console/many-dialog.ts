import { type Api, explain, Refusal, tagIn, Unreachable } from './api.ts'
import type { App } from './app.ts'
import { isSame, type Patch, patched } from './changes.ts'
import { type Configuration, configurationsIn } from './configuration.ts'
import { openDialog } from './dialog.ts'
import { button, element } from './element.ts'
import { grouped, recordCount } from './figure-text.ts'
import { faultTable } from './import-report.ts'
import type { ManyForm } from './many-forms.ts'
import { ManyPreview } from './many-preview.ts'
import { queryOf, type Search } from './selection.ts'

/** How often a change is sent, if others change other records meanwhile. */
const SENDS_MAX = 5

/** What is done to many records in one step. */
export interface ManyAction {
  /** Title of the dialogue, and its last button. */
  readonly word: 'Change' | 'Label' | 'Delete'
  /** Goes on with the number of records. */
  readonly asks: string
  /** Goes on with the number of records. */
  readonly done: string
  /** Undefined for a deletion. */
  readonly form?: ManyForm
}

/** The records that it is done to. */
export interface Target {
  readonly search: Search
  /** How many they were when they were shown. */
  readonly count: number
  /** Called with those that are there, if they were read. */
  counted(records: readonly Configuration[]): void
  /** Called when it is done. */
  done(): void
}

/** If there are more, only their number is read, and a change of them cannot be undone. */
const KEPT_RECORDS_MAX = 10_000

/** What a search keeps at one moment. */
interface Counted {
  readonly count: number
  /** The tag of the list at that moment, for `If-Match`. */
  readonly tag: string
  /** Undefined if they are more than KEPT_RECORDS_MAX. */
  readonly records: readonly Configuration[] | undefined
}

/** Counts records, asks, and changes exactly those that were counted. */
export function openManyDialog(app: App, action: ManyAction, target: Target): void {
  new ManyDialog(app, action, target)
}

class ManyDialog {
  readonly #app: App
  readonly #action: ManyAction
  readonly #target: Target
  readonly #question = element('p', { role: 'status' }, 'Counting the records…')
  readonly #preview = new ManyPreview()
  readonly #message = element('p', { class: 'fault', role: 'alert' })
  readonly #faults = element('div', { class: 'report' })
  readonly #submit: HTMLButtonElement
  readonly #dialog: HTMLDialogElement
  #counted: Counted | undefined
  #isSending = false
  /** Whether a change was sent whose answer was lost. */
  #isUnsure = false

  constructor(app: App, action: ManyAction, target: Target) {
    this.#app = app
    this.#action = action
    this.#target = target
    const isRemoval = action.form === undefined
    this.#submit = element('button', { class: isRemoval ? 'danger' : 'primary', disabled: true }, action.word)
    const form = element(
      'form',
      { novalidate: true, submit: (event) => void this.#send(event), input: () => this.#showPreview() },
      this.#question,
      action.form?.dom,
      this.#preview.dom,
      this.#message,
      this.#faults,
      element(
        'footer',
        {},
        button('Cancel', () => this.#dialog.close(), { class: 'quiet' }),
        this.#submit,
      ),
    )
    this.#dialog = openDialog(action.word, [form])
    form.querySelector('input')?.focus()
    void this.#count()
  }

  /** @returns Undefined if they cannot be read, which is said then. */
  async #count(): Promise<Counted | undefined> {
    const { search, count, counted } = this.#target
    try {
      const now = await countRecords(this.#app.api, search, this.#counted?.count ?? count)
      this.#counted = now
      if (now.records !== undefined) counted(now.records)
      this.#show(now)
      return now
    } catch (error) {
      this.#question.replaceChildren()
      this.#message.textContent = explain(error)
      this.#submit.disabled = false
      return undefined
    }
  }

  #show({ count, records }: Counted) {
    const gone = this.#target.count - count
    const isSingle = this.#target.search.filters.some(([name]) => name === 'id')
    this.#question.replaceChildren(
      count === 0
        ? 'None of these records is there any more.'
        : `${this.#action.asks} ${recordCount(count)}. ${undoText(records)}`,
      isSingle && gone > 0 && count > 0 ? ` ${grouped(gone)} of those selected: deleted meanwhile.` : '',
    )
    this.#showPreview()
    this.#submit.disabled = this.#isSending || count === 0
  }

  #showPreview() {
    this.#preview.show(this.#counted?.records, this.#action.form?.peek())
  }

  async #send(event: Event) {
    event.preventDefault()
    if (this.#isSending) return
    this.#message.textContent = ''
    this.#faults.replaceChildren()
    // The last try to count failed.
    if (this.#counted === undefined) return void (await this.#count())
    const { form } = this.#action
    form?.showFaults([])
    const patch = form?.read()
    if (form !== undefined && patch === undefined) return
    this.#isSending = this.#submit.disabled = true
    try {
      await this.#make(patch, this.#counted)
    } catch (error) {
      this.#isUnsure ||= mayBeMade(error)
      this.#showError(error)
    } finally {
      this.#isSending = false
      this.#submit.disabled = this.#counted.count === 0
      // Disabling the button dropped the focus.
      if (document.activeElement === document.body) this.#submit.focus()
    }
  }

  /** @param patch Undefined to delete them. */
  async #make(patch: Patch | undefined, counted: Counted, sends = 1): Promise<void> {
    const { search } = this.#target
    try {
      const answer = await this.#app.api.call(`configurations/?${queryOf(search) || 'all=1'}`, {
        method: patch === undefined ? 'DELETE' : 'PATCH',
        ...(patch === undefined ? {} : { json: patch }),
        headers: { 'If-Match': counted.tag, Prefer: `max-affected=${counted.count}` },
      })
      this.#finish(JSON.parse(answer.text) as Outcome, patch, counted)
    } catch (error) {
      if (!isStale(error)) throw error
      const now = await this.#count()
      if (now === undefined) return
      if (this.#isUnsure && isMade(patch, counted, now))
        return this.#finish(outcomeOf(patch, counted), patch, counted)
      // Others have changed other records.
      if (sends < SENDS_MAX && isSameCount(counted, now)) return this.#make(patch, now, sends + 1)
      this.#message.textContent = this.#isUnsure
        ? 'The last answer was lost, so this may be done already. The records are counted anew; look at them before you go on.'
        : 'Records have changed meanwhile, so nothing was done. They are counted anew; look at the number before you go on.'
      this.#isUnsure = false
    }
  }

  #finish({ matched, modified, removed = 0 }: Outcome, patch: Patch | undefined, { records }: Counted) {
    const { app, made } = { app: this.#app, made: madeBy(patch, records ?? []) }
    this.#dialog.close()
    this.#target.done()
    const count = modified ?? removed
    const others = recordCount(matched - count)
    const said =
      count === 0
        ? `Nothing has changed: ${others} had this already`
        : `${this.#action.done} ${recordCount(count)}${count === matched ? '' : `; ${others} had this already`}`
    if (count > 0 && made.before.length === count) app.undo.offer(made, said)
    else app.notices.say(said)
    app.refresh()
  }

  #showError(error: unknown) {
    const faults = error instanceof Refusal ? error.faults : []
    const others = this.#action.form?.showFaults(faults) ?? faults
    if (faults.length > 0 && others.length === 0) return
    this.#message.textContent = explain(error)
    const named = others.map(({ field, ...fault }) => ({ ...fault, detail: `${field} ${fault.detail}` }))
    if (named.length > 0) this.#faults.replaceChildren(faultTable('Faults', named))
  }
}

/** The answer to a change of many. */
interface Outcome {
  readonly matched: number
  readonly modified?: number
  readonly removed?: number
}

function undoText(records: readonly Configuration[] | undefined): string {
  return records === undefined
    ? `It cannot be undone: Undo is for ${recordCount(KEPT_RECORDS_MAX)} at most.`
    : 'It can be undone while this page is open.'
}

/** The records that really change, and what they become. */
function madeBy(patch: Patch | undefined, records: readonly Configuration[]) {
  if (patch === undefined) return { before: records, after: undefined }
  const before = records.filter((record) => !isSame(patched(record, patch), record))
  return { before, after: before.map((record) => patched(record, patch)) }
}

/** Whether a change may have been made though no answer says so. */
function mayBeMade(error: unknown): boolean {
  if (!(error instanceof Refusal)) return error instanceof Unreachable
  return error.code === 'outcome_unknown' || (error.code === '' && error.status >= 500)
}

/** Whether the records are now as the change makes them. */
function isMade(patch: Patch | undefined, { records }: Counted, { records: now }: Counted): boolean {
  if (records === undefined || now === undefined) return false
  const wanted = patch === undefined ? [] : records.map((record) => patched(record, patch))
  return (
    now.length === wanted.length &&
    now.every((record, place) => {
      const expected = wanted[place]
      return expected?.id === record.id && isSame(expected, record)
    })
  )
}

/** What the answer to the change would have said. */
function outcomeOf(patch: Patch | undefined, { count, records = [] }: Counted): Outcome {
  if (patch === undefined) return { matched: count, removed: count }
  return { matched: count, modified: madeBy(patch, records).before.length }
}

function isStale(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 412 || error.code === 'too_many_affected')
}

/**
 * Counts records, and reads them if they are not too many.
 *
 * @param expected How many they may be.
 * @throws As `Api.call`.
 */
async function countRecords(api: Api, search: Search, expected: number): Promise<Counted> {
  const path = `configurations/?${queryOf(search)}`
  if (expected > KEPT_RECORDS_MAX) {
    const answer = await api.call(`${path}&page=0&per_page=1`)
    const count = Number(answer.headers.get('X-Total-Count'))
    if (count > KEPT_RECORDS_MAX) return { count, tag: tagIn(answer), records: undefined }
  }
  const answer = await api.call(path)
  const records = configurationsIn(answer.text)
  return { count: records.length, tag: tagIn(answer), records }
}

/** Whether both times the same records were there, with the same values, as far as they were read. */
function isSameCount({ records }: Counted, after: Counted): boolean {
  return (
    records !== undefined &&
    after.records !== undefined &&
    JSON.stringify(records) === JSON.stringify(after.records)
  )
}
