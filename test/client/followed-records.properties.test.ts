import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Client } from '../../src/client/client.ts'
import { noCredential } from '../../src/client/credential.ts'
import { socketEndpoint } from '../../src/client/endpoint.ts'
import { type FollowedChange, followChanges } from '../../src/client/followed-records.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { matcherOf } from '../../src/store/record-filter.ts'
import { casesOfSlow } from '../support/properties/hold-property.ts'
import { createRandom, type Random } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const RUNS = casesOfSlow(8, 500)
const CHANGES = 150
/** The server forgets those before. */
const CHANGES_KEPT = 2
const END = 'a-end'

const filter = { prefix: 'a' }
const matches = matcherOf(filter)

/** A book that changes, and the events that it sends over connections that break. */
class Book {
  readonly #random: Random
  readonly #records = new Map<number, Configuration>()
  readonly #events: { readonly id: number; readonly text: string }[] = []
  readonly #streams = new Set<ServerResponse>()
  #revision = 0
  /** Whether connections stay whole. */
  isCalm = true
  resets = 0
  broken = 0

  constructor(random: Random) {
    this.#random = random
  }

  get kept(): Configuration[] {
    return [...this.#records.values()].filter(matches)
  }

  get isFollowed(): boolean {
    return this.#streams.size > 0
  }

  change() {
    const { integer, pick } = this.#random
    const isNew = this.#records.size === 0 || integer(0, 2) === 0
    const before = isNew ? undefined : pick([...this.#records.values()])
    if (before !== undefined && integer(0, 2) === 0) {
      this.#records.delete(before.id)
      this.#send('removed', before)
      return
    }
    this.set(`${pick(['a', 'b'])}-é-${integer(1, 9)}`, before)
  }

  set(name: string, before?: Configuration) {
    const fields = { name, hostname: 'h', port: this.#random.integer(1, 3), username: 'u' }
    const record = new Configuration(before?.id ?? this.#revision + 1, fields)
    this.#records.set(record.id, record)
    this.#send(before === undefined ? 'added' : 'modified', record, before)
  }

  #send(event: string, configuration: Configuration, before?: Configuration) {
    this.#revision += 1
    const data = JSON.stringify({ configuration, before })
    const isShown = matches(configuration) || (before !== undefined && matches(before))
    const text = isShown ? `event: ${event}\nid: v${this.#revision}\ndata: ${data}\n\n` : ''
    this.#events.push({ id: this.#revision, text })
    if (this.#events.length > CHANGES_KEPT) this.#events.shift()
    for (const stream of this.#streams) this.#write(stream, text)
  }

  /** Breaks some connections, each anywhere in what is sent. */
  #write(response: ServerResponse, text: string, isLast = false) {
    if (this.isCalm || this.#random.integer(0, 5) > 0) {
      if (isLast) response.end(text)
      else response.write(text)
      return
    }
    this.broken += 1
    this.#streams.delete(response)
    const bytes = Buffer.from(text)
    response.write(bytes.subarray(0, this.#random.integer(0, bytes.length)), () => response.destroy())
  }

  readonly answer = ({ url = '', headers }: IncomingMessage, response: ServerResponse) => {
    if (!this.isCalm && this.#random.integer(0, 9) === 0) {
      response.writeHead(503).end()
    } else if (url.startsWith('/configurations/')) {
      response.setHeader('ETag', `"v${this.#revision}"`)
      response.flushHeaders()
      this.#write(response, JSON.stringify({ configurations: this.kept }), true)
    } else {
      const after = Number(headers['last-event-id']?.slice(1))
      response.flushHeaders()
      this.#streams.add(response)
      response.on('close', () => this.#streams.delete(response))
      const isKnown = after >= (this.#events[0]?.id ?? 1) - 1
      if (!isKnown) this.resets += 1
      const missed = this.#events.filter(({ id }) => id > after).map(({ text }) => text)
      this.#write(response, isKnown ? missed.join('') : `event: reset\nid: v${this.#revision}\ndata: {}\n\n`)
    }
  }
}

/** Takes each change as its reader must. */
function take(known: Map<number, Configuration>, { event, record, before }: FollowedChange) {
  const old = known.get(record.id)
  if (event === 'added') assert.equal(old, undefined, `${record.json} was added before`)
  else if (event === 'removed') assert.deepEqual(old?.json, record.json)
  else assert.equal(old?.json, before !== undefined && matches(before) ? before.json : undefined)
  if (event !== 'removed' && matches(record)) known.set(record.id, record)
  else known.delete(record.id)
}

async function serve(t: TestContext, book: Book) {
  const path = join(await temporaryFolder(t), 's')
  const server = createServer(book.answer).listen(path)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return new Client(socketEndpoint(path), noCredential(), false)
}

describe('followed records', () => {
  it('are those of the server, with each change once, however often connections break', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    let [resets, broken] = [0, 0]
    for (let run = 0; run < RUNS; run++) {
      const book = new Book(random)
      const client = await serve(t, book)
      const known = new Map<number, Configuration>()
      const changes = followChanges(client, {
        ...{ filter, query: filter },
        onBroken: () => {},
        pause() {
          t.signal.throwIfAborted()
          return nextTurn()
        },
      })
      const following = (async () => {
        for await (const some of changes) {
          for (const change of some) take(known, change)
          if (some.some(({ record }) => record.name === END)) return
        }
      })()
      // The first list is to be whole: without it the command ends.
      while (!book.isFollowed) await nextTurn()
      book.isCalm = false
      for (let i = 0; i < CHANGES; i++) {
        book.change()
        for (let turns = random.integer(0, 6); turns > 0; turns--) await nextTurn()
      }
      book.isCalm = true
      book.set(END)
      await following
      const asJson = (records: Iterable<Configuration>) => [...records].map(({ json }) => json).toSorted()
      assert.deepEqual(asJson(known.values()), asJson(book.kept))
      resets += book.resets
      broken += book.broken
    }
    t.diagnostic(`${resets} resets, ${broken} broken connections`)
    assert.ok(resets > 0 && broken > 0)
  })
})
