import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeNodeEntry, parseNodeEntry } from '../../src/cluster/node-entry.ts'
import { NewerFormError } from '../../src/errors.ts'
import type { Actor } from '../../src/store/authorship.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const EARLIER = '2026-01-01T00:00:00.000Z'
const LATER = '2026-01-01T00:00:00.001Z'

const script = { kind: 'client', name: 'script' } as const
const admin = { kind: 'user', name: 'script' } as const

function sent(requestId: string, principal: NonNullable<Extract<Actor, { requestId: string }>['principal']>) {
  return { address: '192.0.2.1', requestId, principal }
}

function added(name: string, actor: Actor, time = EARLIER): Change {
  return { add: new Configuration(1, draft(name)), authorship: { actor, time } }
}

/** As other nodes read it. */
function told(changes: readonly Change[], isImport = false) {
  return parseNodeEntry(encodeNodeEntry(7, 'start', changes, isImport))
}

describe('what a node says of its last batch', () => {
  it('lists for each name who changed it, in which request and when, but not from where', () => {
    const renamed: Change = {
      modify: new Configuration(2, draft('new')),
      name: 'old',
      authorship: { actor: sent('r2', script), time: EARLIER },
    }
    const entry = told([
      added('a', sent('r1', script)),
      renamed,
      added('b', sent('r3', admin), LATER),
      { remove: 'c', authorship: { actor: { command: 'import', by: 'root' }, time: EARLIER } },
    ])
    assert.deepEqual([entry.batch, entry.start, entry.time, entry.notes], [7, 'start', LATER, {}])
    const first = { actor: { requestId: 'r1', principal: script }, time: EARLIER }
    const second = { actor: { requestId: 'r2', principal: script }, time: EARLIER }
    assert.deepEqual(entry.authorOf('a'), first)
    assert.deepEqual([entry.authorOf('old'), entry.authorOf('new')], [second, second])
    assert.deepEqual(entry.authorOf('b'), { actor: { requestId: 'r3', principal: admin }, time: LATER })
    assert.deepEqual(entry.authorOf('c'), { actor: { command: 'import', by: 'root' }, time: EARLIER })
    assert.equal(entry.authorOf('other'), undefined)
  })

  it('lists who used sudo, and why a change was made, alone and of an import', () => {
    const command = { command: 'set', by: 'root', via: { claimed: 'alice' }, reason: 'ticket 4711' }
    const other = { command: 'set', by: 'root' }
    const entry = told([added('a', command), added('b', other)])
    assert.deepEqual([entry.authorOf('a')?.actor, entry.authorOf('b')?.actor], [command, other])
    assert.deepEqual(told([added('a', command)], true).authorOf('a')?.actor, command)
    const principal = { requestId: 'r1', principal: admin, reason: 'é' }
    assert.deepEqual(told([added('a', principal)]).authorOf('a')?.actor, principal)
  })

  it('lists an import once with its author and its counts, for every name', () => {
    const note = { mode: 'merge', added: 2, modified: 0, removed: 0, unchanged: 1 } as const
    const authorship = { actor: sent('r1', admin), time: EARLIER }
    const first: Change = {
      add: new Configuration(1, draft('a')),
      authorship: { ...authorship, import: note },
    }
    const text = encodeNodeEntry(7, 'start', [first, added('b', sent('r1', admin))], true)
    assert.doesNotMatch(text, /"[ab]"/)
    const entry = parseNodeEntry(text)
    assert.deepEqual(entry.notes, { import: note })
    for (const name of ['a', 'b'])
      assert.deepEqual(entry.authorOf(name), { actor: { requestId: 'r1', principal: admin }, time: EARLIER })
  })

  it('lists a change of many records once with its author and its counts', () => {
    const many = { query: 'all=1', matched: 1, modified: 1, unchanged: 0, changed: { port: 7 } }
    const authorship = { actor: sent('r1', admin), time: EARLIER, many }
    const modify = new Configuration(1, draft('a', { port: 7 }))
    const entry = parseNodeEntry(encodeNodeEntry(7, 'start', [{ modify, name: 'a', authorship }], true))
    assert.deepEqual(entry.notes, { many })
  })

  it('says once what changes of one moment have in common', () => {
    const one = encodeNodeEntry(7, 'start', [added('n1', sent('r1', script))], false)
    const two = encodeNodeEntry(
      7,
      'start',
      [added('n1', sent('r1', script)), added('n2', sent('r2', script))],
      false,
    )
    assert.equal(two.length - one.length, ',["r2","n2"]'.length)
  })

  it('has no author of a change that has none', () => {
    const entry = told([{ remove: 'a' }])
    assert.deepEqual([entry.time, entry.authorOf('a')], [undefined, undefined])
    assert.equal(told([{ remove: 'a' }], true).time, undefined)
  })

  it('is refused in any other form', () => {
    const text = encodeNodeEntry(7, 'start', [added('a', sent('r1', script))], false)
    const wrong = [
      '',
      '[]',
      '{}',
      text.replace('7', '"7"'),
      text.replace('"start":"start"', '"start":1'),
      text.replace('"script"', '1'),
      text.replace('"client"', '"nobody"'),
      text.replace('"r1"', '1'),
      text.replace('"a"', '1'),
      text.replace('[["r1","a"]]', '{}'),
      text.replace('["r1","a"]', '"a"'),
      text.replace(`"${EARLIER}"`, '0'),
      '{"batch":7,"start":"start","authors":[0]}',
    ]
    for (const each of wrong) assert.throws(() => parseNodeEntry(each), SyntaxError, each)
    for (const member of ['"batch"', '"time"'])
      assert.throws(() => parseNodeEntry(text.replace(member, `"more":1,${member}`)), NewerFormError)
  })
})
