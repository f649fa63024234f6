import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { Noted, Principal } from '../../src/http/message.ts'
import { WRITE_SCOPE } from '../../src/http/scope.ts'
import { Connections } from '../../src/server/connections.ts'
import type { IncomingRequest } from '../../src/server/incoming-request.ts'
import { KEPT_RECORD_BYTES, KeptVersions } from '../../src/server/kept-versions.ts'

const RECORDS = 10
/** Memory of all records of a revision. */
const WHOLE = RECORDS * (KEPT_RECORD_BYTES + 50)

/** Answers that keep the records of a revision, and the names of those that were cut off. */
function setUp(t: TestContext, wholesMax: number) {
  const connections = new Connections(100, () => assert.fail('there is room'))
  const names = new Map<Socket, string>()
  const cut: string[] = []
  const kept = new KeptVersions(wholesMax * WHOLE, connections, ({ socket }) => {
    cut.push(names.get(socket) ?? '')
  })
  const read = (caller: string, revision: number, records = RECORDS, notedBytes = 0) => {
    const socket = new Socket()
    t.after(() => void socket.destroy())
    connections.add(socket, '192.0.2.1')
    names.set(socket, `${caller} ${revision}`)
    const principal: Principal = { kind: 'user', name: caller, scope: WRITE_SCOPE }
    const request = { response: { req: { socket } }, principal, address: '192.0.2.1' }
    const keeps = { revision, records, jsonBytes: records * 50, noted: notesOf(notedBytes) }
    return kept.add(request as unknown as IncomingRequest, keeps)
  }
  return { kept, cut, read, wholes: () => kept.bytes / WHOLE }
}

/** One of each size, as answers in one format share it. */
function notesOf(notedBytes: number): Noted {
  const known = notes.get(notedBytes) ?? { notedBytes }
  notes.set(notedBytes, known)
  return known
}

const notes = new Map<number, Noted>()

describe('replaced records that answers keep', () => {
  it('are counted from revision to revision, as many as may have changed between', (t) => {
    const { read, wholes } = setUp(t, 10)
    const endFirst = read('a', 7)
    assert.equal(wholes(), 0)
    const endSecond = read('b', 11)
    assert.equal(wholes(), 0.4)
    const endThird = read('c', 1_000)
    assert.equal(wholes(), 1.4)
    endSecond()
    assert.equal(wholes(), 1)
    endThird()
    endFirst()
    assert.equal(wholes(), 0)
  })

  it('are counted with what each answer has noted, of the newest revision, too, until the answer has ended', (t) => {
    const { read, wholes } = setUp(t, 100)
    const [endFirst, endOther] = [read('a', 7, RECORDS, 3 * WHOLE), read('b', 7, RECORDS, 3 * WHOLE)]
    read('b', 7)
    assert.equal(wholes(), 3)
    const endAnother = read('d', 7, RECORDS, WHOLE)
    assert.equal(wholes(), 3 + 1)
    const endSecond = read('c', 7 + RECORDS, RECORDS, 2 * WHOLE)
    assert.equal(wholes(), 1 + 3 + 1 + 2)
    endSecond()
    endFirst()
    assert.equal(wholes(), 3 + 1)
    endOther()
    endAnother()
    assert.equal(wholes(), 0)
  })

  it('are counted once, however many answers keep them', (t) => {
    const { read, wholes, cut } = setUp(t, 1)
    const ends = ['a', 'a', 'b', 'c'].map((caller) => read(caller, 0))
    read('d', 100)
    for (const end of ends.slice(1)) {
      assert.equal(wholes(), 1)
      end()
      end()
    }
    assert.equal(wholes(), 1)
    ends[0]?.()
    assert.equal(wholes(), 0)
    assert.deepEqual(cut, [])
  })

  it('are not counted for an empty store, nor for a connection that is gone', (t) => {
    const { kept, wholes, read } = setUp(t, 1)
    const request = { response: { req: { socket: new Socket() } }, address: '192.0.2.1' }
    kept.add(request as unknown as IncomingRequest, { revision: 0, records: 5, jsonBytes: 500 })()
    read('a', 0, 0)
    read('a', 100)
    assert.equal(wholes(), 0)
  })

  it('are counted for an answer that begins after the end of another, which may be reported twice', (t) => {
    const { read, wholes } = setUp(t, 1)
    const end = read('a', 0)
    const endOther = read('b', 0)
    read('c', 100)
    end()
    read('a', 0)
    end()
    endOther()
    assert.equal(wholes(), 1)
  })
})

describe('when answers keep too many replaced records', () => {
  it('the caller that keeps most gives way, its oldest first', (t) => {
    const { read, wholes, cut } = setUp(t, 3)
    read('other', 0)
    for (const revision of [100, 200, 300]) read('attacker', revision)
    assert.deepEqual(cut, [])
    read('attacker', 400)
    assert.deepEqual(cut, ['attacker 100'])
    assert.equal(wholes(), 3)
    read('another', 500)
    assert.deepEqual(cut, ['attacker 100', 'attacker 200'])
  })

  it('so does the caller whose answers have noted most, though nothing was replaced', (t) => {
    const { read, wholes, cut } = setUp(t, 3)
    read('other', 7)
    read('another', 7, RECORDS, WHOLE)
    read('attacker', 7, RECORDS, 1.5 * WHOLE)
    assert.deepEqual(cut, [])
    read('attacker', 7, RECORDS, 1.2 * WHOLE)
    assert.deepEqual(cut, ['attacker 7', 'attacker 7'])
    assert.equal(wholes(), 1)
  })

  it('all answers of that caller from that revision are cut off', (t) => {
    const { read, wholes, cut } = setUp(t, 1)
    const ends = [read('a', 0), read('a', 0)]
    read('b', 100)
    read('c', 200)
    assert.deepEqual(cut, ['a 0', 'a 0'])
    for (const end of ends) end()
    assert.equal(wholes(), 1)
  })
})
