import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { pathOf } from '../../support/api.ts'
import { type Ask, type Parts, recordsIn, type ShownRecord } from '../../support/http-client.ts'
import type { Random } from '../../support/random.ts'
import { Writer } from '../writer.ts'

/** A writer that remembers what its records were after each of its changes. */
export class RecordedWriter {
  readonly #prefix: string
  readonly #writer: Writer
  readonly #ask: Ask
  #records: readonly ShownRecord[] = []
  /** Its records after so many changes, as `show` returns them. */
  readonly states: string[] = [show([])]
  /** The highest id that it had got after so many changes. */
  readonly highestIds: number[] = [0]

  constructor(number: number, ask: Ask, random: Random) {
    this.#prefix = `writer ${number}`
    this.#writer = new Writer(this.#prefix, random)
    this.#ask = ask
  }

  /** How many of its changes were acknowledged. */
  get acknowledged(): number {
    return this.states.length - 1
  }

  /** Sends one change at random, which must succeed. */
  async change(): Promise<void> {
    let after = this.#records
    const answer = await this.#writer.change(async (method, path, parts = {}) => {
      const answer = await this.#ask(method, path, parts)
      const [old] = this.#records.filter(({ name }) => pathOf(name) === path)
      after = this.#records.filter((record) => record !== old)
      if (method !== 'DELETE') after = [...after, changed(old, parts, recordsIn(answer)[0]?.id)]
      return answer
    })
    assert.ok(answer !== undefined)
    assert.ok([200, 209].includes(answer.status), answer.text)
    this.#records = after
    this.states.push(show(after))
    this.highestIds.push(Math.max(0, ...this.#writer.ids))
  }

  /** Its records among these, as `show` returns them. */
  stateIn(records: readonly ShownRecord[]): string {
    return show(records.filter(({ name }) => name.startsWith(`${this.#prefix}/`)))
  }
}

/** Whether a record belongs to some writer. */
export function isWriters({ name }: ShownRecord): boolean {
  return /^writer \d+\//.test(name)
}

/** The records that belong to no writer, as a short text, because there may be megabytes of them. */
export function describeOthers(records: readonly ShownRecord[]): string {
  const others = records.filter((record) => !isWriters(record))
  return `${others.length} others with digest ${hash('sha256', show(others))}`
}

/** The same text for the same records, whatever their order. */
export function show(records: readonly ShownRecord[]): string {
  const lines = records.map(({ id, name, hostname, port, username, labels }) => {
    return JSON.stringify({ id, name, hostname, port, username, labels })
  })
  return lines.sort().join('\n')
}

/** The record after the request; only its id comes from the answer. */
function changed(old: ShownRecord | undefined, { body }: Parts, id = 0): ShownRecord {
  return { ...old, ...(body as Omit<ShownRecord, 'id'>), id: old?.id ?? id }
}
