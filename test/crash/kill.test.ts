import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getToken, pathOf } from '../support/api.ts'
import { startExecutable } from '../support/executable.ts'
import { type Ask, createClient, recordsIn, type ShownRecord } from '../support/http-client.ts'
import { createRandom, type Random } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const WRITERS = 8
const ROUNDS = 4
const NAMES_EACH = 5
const REQUESTS_BEFORE_KILL = { min: 20, max: 400 }

type State = Map<string, Omit<ShownRecord, 'id'>>

/** What one writer knows: its names are its own, so nobody else explains what becomes of them. */
interface Ledger {
  /** After the last request that was answered. */
  acknowledged: State
  /** After the request that was not answered, had it been carried out. */
  possible: State
}

describe('kill -9 under eight writers', () => {
  it('keeps what was acknowledged, and each request without an answer whole or not at all', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const data = join(await temporaryFolder(t), 'data')
    const ledgers = Array.from(
      { length: WRITERS },
      (): Ledger => ({ acknowledged: new Map(), possible: new Map() }),
    )
    const given = new Set<number>()

    for (let round = 0; round < ROUNDS; round++) {
      const server = await startExecutable(t, ['--data', data])
      const credentials: unknown = JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))
      const ask = createClient(server.url, await getToken(server.url, credentials))

      const found = recordsIn(await ask('GET', '/configurations/'))
      for (const [writer, ledger] of ledgers.entries()) settle(ledger, stateOf(writer, found))
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length, 'an id was given twice')

      let left = random.integer(REQUESTS_BEFORE_KILL.min, REQUESTS_BEFORE_KILL.max)
      const isOver = () => left <= 0
      const highestBefore = Math.max(0, ...given)
      const onAnswer = (addedId: number | undefined) => {
        if (addedId !== undefined) {
          assert.ok(addedId > highestBefore && !given.has(addedId), `id ${addedId} was given before`)
          given.add(addedId)
        }
        left -= 1
        if (isOver()) server.process.kill('SIGKILL')
      }
      await Promise.all(ledgers.map((ledger, writer) => write(ask, writer, ledger, random, isOver, onAnswer)))
      assert.equal(await server.stop('SIGKILL'), 'SIGKILL')
    }
  })
})

/** After the restart one of the two must be true, and it becomes the truth. */
function settle(ledger: Ledger, found: State) {
  assert.ok(
    isSame(found, ledger.acknowledged) || isSame(found, ledger.possible),
    `found ${show(found)}, acknowledged ${show(ledger.acknowledged)}, possible ${show(ledger.possible)}`,
  )
  ledger.acknowledged = found
  ledger.possible = found
}

/** One request after the other until the server is gone. */
async function write(
  ask: Ask,
  writer: number,
  ledger: Ledger,
  random: Random,
  isOver: () => boolean,
  onAnswer: (addedId: number | undefined) => void,
): Promise<void> {
  while (!isOver()) {
    const { method, path, body, after } = nextRequest(writer, ledger.acknowledged, random)
    ledger.possible = after
    const answer = await ask(method, path, { body }).catch(() => undefined)
    if (answer === undefined) return
    assert.equal(answer.status, method === 'DELETE' ? 209 : 200, answer.text)
    ledger.acknowledged = after
    onAnswer(method === 'POST' ? recordsIn(answer)[0]?.id : undefined)
  }
}

function nextRequest(writer: number, state: State, random: Random) {
  const names = [...state.keys()]
  const free = Array.from({ length: NAMES_EACH }, (_, i) => `${writer}/${i}`).filter(
    (name) => !state.has(name),
  )
  const after = new Map(state)
  const name = names.length > 0 ? random.pick(names) : undefined
  const old = name === undefined ? undefined : state.get(name)
  const newName = free.length > 0 ? random.pick(free) : undefined
  const port = random.integer(1, 65535)

  if (newName !== undefined && (old === undefined || random.integer(0, 1) === 0)) {
    const body = { name: newName, hostname: 'example.net', port, username: `user${writer}` }
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

function stateOf(writer: number, records: readonly ShownRecord[]): State {
  const own = records.filter(({ name }) => name.startsWith(`${writer}/`))
  return new Map(own.map(({ id: _, ...fields }) => [fields.name, fields]))
}

function isSame(a: State, b: State): boolean {
  return show(a) === show(b)
}

function show(state: State): string {
  return JSON.stringify([...state.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
}
