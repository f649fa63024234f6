import type { Change } from './address.ts'
import { explain, Refusal, tagIn } from './api.ts'
import type { App } from './app.ts'
import { isSame } from './changes.ts'
import type { Configuration } from './configuration.ts'
import { button, type Child } from './element.ts'
import { recordCount } from './figure-text.ts'

/** How often an import is sent, if others change other records meanwhile. */
const SENDS_MAX = 5
const TOO_LATE = 'Somebody has changed one of these records since. The change can no longer be undone.'

/** What a change of many records has done. */
export interface Made {
  readonly before: readonly Configuration[]
  /** The same records after it, in the same order; undefined if it has deleted them. */
  readonly after: readonly Configuration[] | undefined
}

/** Takes back the last change of many records, as long as nobody has changed one of them since. */
export class Undo {
  readonly #app: App
  #made: Made | undefined
  readonly #button = button('Undo', () => void this.#undo())

  constructor(app: App) {
    this.#app = app
    app.live.listen((change) => {
      if (this.#made === undefined || !isLater(change, this.#made)) return
      this.#withdraw()
      app.notices.say(TOO_LATE)
    })
  }

  /** Offers it, and says what was done. */
  offer(made: Made, ...done: readonly Child[]): void {
    this.#made = made
    this.#button.disabled = false
    this.#app.notices.offer([...done, ' ', this.#button], () => {
      this.#made = undefined
    })
  }

  /** Not for an account that may only read. */
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
  async #send({ before, after }: Made, sends = 1): Promise<boolean> {
    // As they should be now: if that would change nothing, nobody has changed one.
    const trial = await this.#sendImport('&dry_run=1', after ?? before)
    const { added, unchanged } = JSON.parse(trial.text) as { added: number; unchanged: number }
    if ((after === undefined ? added : unchanged) !== before.length) return false
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

/** Whether it is another change than the one that was made, of one of its records or of one that has their name now. */
function isLater({ kind, configuration: now }: Change, { before, after }: Made): boolean {
  const then = before.find(({ id }) => id === now.id)
  if (after === undefined)
    return then === undefined && kind !== 'removed' && before.some(({ name }) => name === now.name)
  if (then === undefined || kind === 'removed') return then !== undefined
  // What came before the change may be heard of after it.
  return ![then, ...after].some((one) => one.id === now.id && isSame(one, now))
}
