import type { LiveChange } from './address.ts'
import { type ApiResponse, explain, Refusal, tagIn } from './api.ts'
import type { App } from './app.ts'
import { isSame } from './changes.ts'
import type { Configuration } from './configuration.ts'
import { button, type Child } from './element.ts'
import { recordCount } from './figure-text.ts'

/** How often an import is sent, if others change other records meanwhile. */
const SENDS_MAX = 5
const TOO_LATE = 'Somebody has changed one of these records since. The change can no longer be undone.'

/** What a change of many records has done. */
export interface DoneChange {
  readonly before: readonly Configuration[]
  /** The same records after it, in the same order; undefined if it has deleted them. */
  readonly after: readonly Configuration[] | undefined
}

type RecordsByKey = ReadonlyMap<string | number, readonly Configuration[]>

/** Takes back the last change of many records, as long as nobody has changed one of them since. */
export class Undo {
  readonly #app: App
  #made: DoneChange | undefined
  #known: RecordsByKey = new Map()
  readonly #button = button('Undo', () => void this.#undo())

  constructor(app: App) {
    this.#app = app
    app.live.listen((change) => {
      if (this.#made === undefined || !isLater(change, this.#known)) return
      this.#withdraw()
      app.notices.say(TOO_LATE)
    })
  }

  /** Offers it, and says what was done. */
  offer(made: DoneChange, ...done: readonly Child[]): void {
    this.#made = made
    this.#known = knownOf(made)
    this.#button.disabled = false
    this.#app.notices.offer([...done, ' ', this.#button], () => {
      this.#made = undefined
    })
  }

  /** An account that may only read is not offered it. */
  takeSession(): void {
    if (!this.#app.session.mayWrite) this.#withdraw()
  }

  #withdraw() {
    this.#made = undefined
    this.#app.notices.withdraw()
  }

  async #undo() {
    const made = this.#made
    if (made === undefined) return
    const { notices } = this.#app
    this.#button.disabled = true
    try {
      const isDone = await this.#send(made)
      if (this.#made === made) this.#withdraw()
      const count = recordCount(made.before.length)
      const ids = made.after === undefined ? ' They have new ids.' : ''
      notices.say(isDone ? `Undone: ${count} as before.${ids}` : TOO_LATE)
      this.#app.refresh()
    } catch (error) {
      this.#button.disabled = false
      notices.say('Cannot undo the change: ', explain(error))
    }
  }

  /** @returns Whether the records are as they were; false if somebody has changed one since. */
  async #send({ before, after }: DoneChange, sends = 1): Promise<boolean> {
    // As they should be now: if that would change nothing, nobody has changed one.
    const trial = await this.#sendImport('&dry_run=1', after ?? before)
    const { added, unchanged } = countsIn(trial)
    // The answer to an earlier try may have been lost.
    if ((after === undefined ? added : unchanged) !== before.length)
      return countsIn(await this.#sendImport('&dry_run=1', before)).unchanged === before.length
    try {
      await this.#sendImport('', before, { 'If-Match': tagIn(trial) })
      return true
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 412 || sends === SENDS_MAX) throw error
      return this.#send({ before, after }, sends + 1)
    }
  }

  #sendImport(parameters: string, records: readonly Configuration[], headers: Record<string, string> = {}) {
    // An import keeps the labels of a record that says nothing of them.
    const configurations = records.map(({ id: _, labels = {}, ...fields }) => ({ ...fields, labels }))
    return this.#app.api.call(`v1/import?format=json${parameters}`, {
      method: 'POST',
      json: { configurations },
      headers,
    })
  }
}

/** What an import has done, or would do. */
function countsIn({ text }: ApiResponse): { readonly added: number; readonly unchanged: number } {
  return JSON.parse(text)
}

/** How each record was and is, by id; of those that were deleted, by name. */
function knownOf({ before, after }: DoneChange): RecordsByKey {
  return after === undefined
    ? Map.groupBy(before, ({ name }) => name)
    : Map.groupBy([...before, ...after], ({ id }) => id)
}

/** Whether it is neither the change that was made, nor one before it, nor what undoes it. */
function isLater({ kind, configuration: now }: LiveChange, known: RecordsByKey): boolean {
  const ofName = known.get(now.name)
  if (ofName !== undefined)
    return kind !== 'removed' && ofName.every((one) => one.id !== now.id && !isSame(one, now))
  const ofId = known.get(now.id)
  return ofId !== undefined && (kind === 'removed' || !ofId.some((one) => isSame(one, now)))
}
