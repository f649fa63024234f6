import assert from 'node:assert/strict'
import { pathOf } from '../support/api.ts'
import { type Answer, type Ask, recordsIn, type ShownRecord } from '../support/http-client.ts'
import type { Random } from '../support/random.ts'

const NAMES_EACH = 5

/** The records of one writer, by name. */
type State = ReadonlyMap<string, Omit<ShownRecord, 'id'>>

interface ChangeRequest {
  readonly method: 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  /** The writer's records once it is carried out. */
  readonly after: State
}

/**
 * A client that changes its own records, one request at a time, and so knows what the server must hold: what was
 * acknowledged, with or without the one request that has no answer.
 */
export class Writer {
  readonly #prefix: string
  readonly #random: Random
  /** Acknowledged states since the last `settle`; the last one is current. */
  #history: State[] = [new Map()]
  /** The state after the request in flight. */
  #possible: State = new Map()
  /** Whether a reader has seen the effect of the request in flight. */
  #isPossibleShown = false
  /** Every id that it ever got. */
  readonly ids = new Set<number>()

  constructor(prefix: string, random: Random) {
    this.#prefix = prefix
    this.#random = random
  }

  /**
   * Sends one change at random.
   *
   * @returns The answer; undefined if there was none. After a 503 the change may be stored or not.
   */
  async change(ask: Ask): Promise<Answer | undefined> {
    const { method, path, body, after } = this.#nextRequest()
    this.#possible = after
    const answer = await ask(method, path, { body }).catch((error: unknown) => {
      // An answer that came, but is not as the OpenAPI document says.
      if (error instanceof assert.AssertionError) throw error
      return undefined
    })
    if (answer === undefined || answer.status === 503) return answer
    if (answer.status === 507) {
      assert.ok(!this.#isPossibleShown, 'a change was shown and then refused')
      this.#possible = this.#acknowledged
      return answer
    }
    assert.equal(answer.status, method === 'DELETE' ? 209 : 200, answer.text)
    if (method === 'POST') for (const { id } of recordsIn(answer)) this.ids.add(id)
    this.#history.push(after)
    this.#isPossibleShown = false
    return answer
  }

  /** Number of changes acknowledged since the last `settle`; for `observe`. */
  get position(): number {
    return this.#history.length - 1
  }

  /**
   * Checks a list that was read before the crash: what it shows must be there after it.
   *
   * @param since The `position` when the list was requested.
   */
  observe(records: readonly ShownRecord[], since: number): void {
    const shown = show(this.#stateIn(records))
    if (this.#history.slice(since).map(show).includes(shown)) return
    assert.equal(shown, show(this.#possible), 'read what was neither acknowledged nor on its way')
    this.#isPossibleShown = true
  }

  /** Checks what a new start found, which from then on counts as acknowledged. */
  settle(records: readonly ShownRecord[]): void {
    const state = this.#stateIn(records)
    const found = show(state)
    const allowed = this.#isPossibleShown ? [this.#possible] : [this.#acknowledged, this.#possible]
    assert.ok(
      allowed.map(show).includes(found),
      `found ${found}, acknowledged ${show(this.#acknowledged)}, possible ${show(this.#possible)}`,
    )
    this.#history = [state]
    this.#possible = state
    this.#isPossibleShown = false
  }

  get #acknowledged(): State {
    return this.#history.at(-1) ?? assert.fail('there is always one')
  }

  #nextRequest(): ChangeRequest {
    const random = this.#random
    const names = [...this.#acknowledged.keys()]
    const after = new Map(this.#acknowledged)
    const name = names.length > 0 ? random.pick(names) : undefined
    const old = name === undefined ? undefined : this.#acknowledged.get(name)
    const newName = this.#freeName()
    const port = random.integer(1, 65535)

    if (newName !== undefined && (old === undefined || random.integer(0, 1) === 0)) {
      const body = { name: newName, hostname: 'example.net', port, username: `user${this.#prefix}` }
      after.set(newName, body)
      return { method: 'POST', path: '/configurations/', body, after }
    }
    assert.ok(name !== undefined && old !== undefined)
    after.delete(name)
    if (random.integer(0, 2) === 0) return { method: 'DELETE', path: pathOf(name), after }
    const body = newName !== undefined && random.integer(0, 1) === 0 ? { name: newName } : { port }
    after.set(body.name ?? name, { ...old, ...body })
    return { method: 'PATCH', path: pathOf(name), body, after }
  }

  #freeName(): string | undefined {
    const all = Array.from({ length: NAMES_EACH }, (_, i) => `${this.#prefix}/${i}`)
    const free = all.filter((name) => !this.#acknowledged.has(name))
    return free.length > 0 ? this.#random.pick(free) : undefined
  }

  #stateIn(records: readonly ShownRecord[]): State {
    const own = records.filter(({ name }) => name.startsWith(`${this.#prefix}/`))
    return new Map(own.map(({ id: _, ...fields }) => [fields.name, fields]))
  }
}

function show(state: State): string {
  return JSON.stringify([...state.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
}
