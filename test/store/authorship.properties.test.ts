import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { NewerFormError } from '../../src/errors.ts'
import { type Actor, type Authorship, importModes } from '../../src/store/authorship.ts'
import { type Change, ChangeReader } from '../../src/store/change.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyText } from '../support/properties/texts.ts'
import { encoded } from '../support/store.ts'

const few = fc.constantFrom('a', 'b')
const reason = fc.oneof(few, anyText)
const sender = fc.record(
  { address: few, requestId: fc.oneof(few, anyText), reason },
  { requiredKeys: ['address', 'requestId'] },
)
const actor: fc.Arbitrary<Actor> = fc.oneof(
  sender,
  fc
    .tuple(sender, fc.constantFrom('user' as const, 'client' as const), fc.oneof(few, anyText))
    .map(([one, kind, name]) => ({ ...one, principal: { kind, name } })),
  fc.record(
    { command: few, by: few, via: fc.record({ claimed: few }), reason },
    { requiredKeys: ['command', 'by'] },
  ),
)
const note = fc.record({
  mode: fc.constantFrom(...importModes),
  added: fc.nat(),
  modified: fc.nat(),
  removed: fc.nat(),
  unchanged: fc.nat(),
})
const many = fc.oneof(
  fc.record({ query: anyText, matched: fc.nat(), removed: fc.nat() }),
  fc.record({
    query: anyText,
    matched: fc.nat(),
    modified: fc.nat(),
    unchanged: fc.nat(),
    changed: fc.dictionary(few, fc.oneof(few, fc.nat())),
  }),
)
const notes = fc.oneof(
  fc.constant({}),
  note.map((one) => ({ import: one })),
  many.map((one) => ({ many: one })),
)
const authorship: fc.Arbitrary<Authorship> = fc
  .tuple(actor, few, notes)
  .map(([one, time, whole]) => ({ actor: one, time, ...whole }))
const change: fc.Arbitrary<Change> = fc
  .tuple(anyText, fc.option(authorship, { nil: undefined }))
  .map(([remove, by]) => (by === undefined ? { remove } : { remove, authorship: by }))

const stored = { remove: 'a', actor: { address: 'a', kind: 'user', by: 'b' }, request: 'r', time: 't' }

describe('the authorship of changes', () => {
  it('is read back as it was written, frame by frame', (t) => {
    holdFor(t, fc.array(fc.array(change, { minLength: 1 })), (frames) => {
      const reader = new ChangeReader()
      for (const changes of frames) {
        const read = JSON.parse(encoded(changes)).map((one: unknown) => reader.read(one))
        assert.deepEqual(read, JSON.parse(JSON.stringify(changes)))
      }
    })
  })

  it('is written once for changes of one frame that share it', () => {
    const by = {
      actor: { address: 'a', requestId: 'r', principal: { kind: 'user', name: 'u' } },
      time: 't',
    } as const
    const other = { ...by, actor: { ...by.actor, requestId: 's' } }
    const text = encoded([by, by, other].map((one, i) => ({ remove: `${i}`, authorship: one })))
    assert.equal(
      text,
      '[{"remove":"0","actor":{"address":"a","kind":"user","by":"u"},"request":"r","time":"t"},{"remove":"1"},{"remove":"2","request":"s"}]',
    )
  })

  it('that is incomplete or of another type is refused', () => {
    for (const wrong of [
      { actor: 'a' },
      { actor: {} },
      { actor: { address: 'a', kind: 'user' } },
      { actor: { address: 'a', kind: 'root', by: 'b' } },
      { actor: { command: 'import' } },
      { actor: { ...stored.actor, reason: 1 } },
      { actor: { command: 'import', by: 'root', via: 'alice' } },
      { actor: { command: 'import', by: 'root', via: {} } },
      { request: 1 },
      { time: 1 },
      { import: 1 },
      { import: { mode: 'merge' } },
      { import: { mode: 'other', added: 0, modified: 0, removed: 0, unchanged: 0 } },
      { import: { mode: 'merge', added: -1, modified: 0, removed: 0, unchanged: 0 } },
      { many: 1 },
      { many: { query: 'q=a', matched: 1 } },
      { many: { query: 1, matched: 1, removed: 1 } },
      { many: { query: 'q=a', matched: -1, removed: 1 } },
      { many: { query: 'q=a', matched: 1, modified: 1, unchanged: 0 } },
      { many: { query: 'q=a', matched: 1, modified: 1, unchanged: 0, changed: 1 } },
    ]) {
      assert.throws(
        () => new ChangeReader().read({ ...stored, ...wrong }),
        (error) => error instanceof SyntaxError && !(error instanceof NewerFormError),
        JSON.stringify(wrong),
      )
    }
  })

  it('with a member that is not known is of a newer connbook', () => {
    for (const newer of [
      { actor: { ...stored.actor, role: 'x' } },
      { actor: { command: 'import', by: 'root', via: { claimed: 'alice', proved: true } } },
      { import: { mode: 'merge', added: 0, modified: 0, removed: 0, unchanged: 0, labels: 1 } },
      { reason: 'x' },
    ])
      assert.throws(() => new ChangeReader().read({ ...stored, ...newer }), NewerFormError)
  })
})
