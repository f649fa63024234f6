import assert from 'node:assert/strict'
import type { ShownRecord } from '../../support/http-client.ts'
import { show } from './recorded-writer.ts'
import type { Recording } from './recording.ts'
import type { Oracle } from './replay.ts'
import { descriptorOf, writtenBytes } from './trace-disk.ts'
import type { TraceEvent } from './trace-parser.ts'

const STANDARD_ERROR = 2

/** What a start found on the files that a crash left. */
export interface Found {
  /** Whether new credentials were made. */
  readonly isFirstStart: boolean
  /** What the initial credentials file says. */
  readonly credentials: unknown
  /** The records of the writers. */
  readonly records: readonly ShownRecord[]
  /** As `describeOthers` returns them. */
  readonly others: string
  /** The id that the next record gets. */
  readonly nextId: number
  /** For each step of the recording, whether the credential it issued is valid; undefined if it issued none. */
  readonly areGood: readonly (boolean | undefined)[]
}

/** What the clients of a recorded run know at a moment of it, and what must therefore be on disk. */
export class ServiceOracle implements Oracle<Found> {
  readonly #recording: Recording
  readonly #connections = new Map<string, number>()
  /** How many answers each connection got after the first, which is ignored; -1 before the first. */
  readonly #answers: number[]
  /** How many changes of each writer must be there, because the reader has seen them. */
  readonly #shown: number[]
  #highestId = 0
  #isAnnounced = false

  constructor(recording: Recording) {
    this.#recording = recording
    this.#answers = recording.statuses.map(() => -1)
    this.#shown = recording.writers.map(() => 0)
  }

  /**
   * Notes what an event promises a client. An answer counts as sent once the call that sends it has begun.
   *
   * @returns Whether it promised anything.
   */
  take({ moment, call }: TraceEvent): boolean {
    if (moment !== 'begun' || !['write', 'writev'].includes(call.name) || call.result === -1) return false
    const { number, path } = descriptorOf(call)
    if (number === STANDARD_ERROR) return this.#takeLog(writtenBytes(call).toString())
    return path.startsWith('socket:') && this.#takeAnswer(path, writtenBytes(call))
  }

  /** Checks that each answer of the recording has been seen. */
  checkEnd(): void {
    const expected = this.#recording.statuses.map((statuses) => statuses.length - 1)
    assert.deepEqual(this.#answers, expected, 'the trace lacks answers that the clients got')
    assert.ok(this.#isAnnounced)
  }

  /** Checks what was found when the power went at this moment. */
  check(found: Found): void {
    const { writers, others, credentials } = this.#recording
    if (this.#isAnnounced) {
      assert.ok(!found.isFirstStart, 'there was a first start before')
      assert.deepEqual(found.credentials, credentials)
    }
    for (const [i, writer] of writers.entries()) {
      const acknowledged = this.#answersOf(i + 1)
      // The next request may be in flight.
      const allowed = writer.states.slice(Math.max(acknowledged, this.#shown[i] ?? 0), acknowledged + 2)
      const state = writer.stateIn(found.records)
      assert.ok(allowed.includes(state), `found\n${state}\nallowed are\n${allowed.join('\nor\n')}`)
    }
    assert.equal(found.others, others)
    const highestId = Math.max(this.#highestId, ...found.records.map(({ id }) => id))
    assert.ok(found.nextId > highestId, `id ${found.nextId} was given again`)
    this.#checkCredentials(found)
  }

  /** Text for a message. */
  toString(): string {
    const changes = this.#recording.writers.map((_, i) => this.#answersOf(i + 1))
    return `announced ${this.#isAnnounced}, credentials ${this.#answersOf(0)}, changes ${changes}`
  }

  #answersOf(connection: number): number {
    return Math.max(0, this.#answers[connection] ?? 0)
  }

  #checkCredentials(found: Found) {
    const { steps } = this.#recording
    const answered = this.#answersOf(0)
    for (const [i, { issued }] of steps.slice(0, answered).entries()) {
      if (issued === undefined) continue
      const endStep = steps.findIndex(({ ended }) => ended === issued)
      // The request that ends it may be in flight.
      if (endStep === answered) continue
      const isEnded = endStep !== -1 && endStep < answered
      assert.equal(found.areGood[i], !isEnded, `credential ${i} ${isEnded ? 'lives again' : 'is lost'}`)
    }
  }

  #takeLog(text: string): boolean {
    const isAnnouncement = text.includes('"event":"listening"')
    this.#isAnnounced ||= isAnnouncement
    return isAnnouncement
  }

  #takeAnswer(socket: string, bytes: Buffer): boolean {
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(bytes.toString('latin1', 0, 20))?.[1]
    if (status === undefined) return false
    const connection = this.#connections.get(socket) ?? this.#connections.size
    this.#connections.set(socket, connection)
    const answers = (this.#answers[connection] ?? Number.NaN) + 1
    const { statuses, writers, reads } = this.#recording
    assert.equal(
      Number(status),
      statuses[connection]?.[answers],
      'the trace has an answer that no client got',
    )
    this.#answers[connection] = answers
    if (answers === 0) return false

    const writer = writers[connection - 1]
    if (writer !== undefined) this.#highestId = Math.max(this.#highestId, writer.highestIds[answers] ?? 0)
    const read = connection === writers.length + 1 ? reads[answers - 1] : undefined
    if (read !== undefined) {
      this.#highestId = Math.max(this.#highestId, read.highestId)
      for (const i of writers.keys()) this.#takeRead(i, read.shown[i] ?? show([]), read.since[i] ?? 0)
    }
    return true
  }

  #takeRead(i: number, shown: string, since: number) {
    const states = this.#recording.writers[i]?.states ?? []
    const position = states.slice(0, this.#answersOf(i + 1) + 2).indexOf(shown, since)
    assert.notEqual(position, -1, `the reader was shown what was never so:\n${shown}`)
    this.#shown[i] = Math.max(this.#shown[i] ?? 0, position)
  }
}
