import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createImportReader } from '../../src/exchange/import-reader.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import { encodeChangesInSlices } from '../../src/store/change.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { importRowMemory, planImport, signedChangesOf } from '../../src/store/import-plan.ts'
import { RecentChanges } from '../../src/store/recent-changes.ts'
import { sharedLabels } from '../../src/store/shared-labels.ts'
import { someone } from '../support/store.ts'

/** What is counted may differ from the growth of the process by this factor. */
const FACTOR_MAX = 1.5
type Shape = readonly [count: number, keyCharacters: number, valueCharacters: number]

const shapes: readonly (readonly [string, ...Shape])[] = [
  ['no labels', 0, 0, 0],
  ['one label', 1, 8, 0],
  ['eight labels', 8, 8, 0],
  ['32 short labels', 32, 5, 0],
  ['32 labels', 32, 12, 1],
  ['32 long labels', 32, 63, 50],
  ['16 long labels', 16, 63, 180],
]
const CHANGES = 20_000
const ROWS = 5_000

let labels = 0

/** Lets new records share nothing with those before them. */
function forgetShared() {
  const known = sharedLabels({ known: '' })
  while (sharedLabels({ known: '' }) === known) sharedLabels(labelsOf(1, 1, 255))
}

function labelsOf(count: number, key: number, value: number): Record<string, string> {
  const one = () => {
    const number = (labels++).toString(36)
    return [`k${number}`.padEnd(key, 'z'), number.padEnd(value, 'v').slice(0, value)]
  }
  return Object.fromEntries(Array.from({ length: count }, one))
}

/** A record whose labels have keys and values that no other has. */
function record(name: string, shape: Shape): NewConfiguration {
  const made = { name, hostname: `host-${name}`, port: 22, username: 'u' }
  // Parsed, as those of a request are.
  return JSON.parse(JSON.stringify({ ...made, labels: labelsOf(...shape) }))
}

/** Bytes that the process has in use, without what records share. */
function used(): number {
  forgetShared()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function expectNear(t: TestContext, counted: number, real: number) {
  const factor = counted / real
  t.diagnostic(`${(counted / 1e6).toFixed(1)} MB are counted, and ${(real / 1e6).toFixed(1)} in use`)
  assert.ok(factor < FACTOR_MAX && factor > 1 / FACTOR_MAX, `factor ${factor.toFixed(2)}`)
}

for (const [what, ...shape] of shapes)
  describe(`with ${what} of keys that no other record has, the memory in use is near what is counted`, () => {
    it('for recent changes', (t) => {
      const recent = new RecentChanges()
      const before = used()
      let last = new Configuration(1, record('a', shape))
      for (let i = 1; i <= CHANGES; i++) {
        const next = new Configuration(1, record(`a${i % 2}`, shape))
        // As the journal and an answer need them.
        assert.ok(next.json !== '' && next.etag !== '')
        recent.add({ modify: next, name: last.name }, i, last)
        last = next
      }
      expectNear(t, recent.memory, used() - before)
      assert.ok(recent.count > 0)
    })

    it('for an import', (t) => {
      const text = Array.from({ length: ROWS }, (_, i) => `${JSON.stringify(record(`n${i}`, shape))}\n`)
      const body = Buffer.from(text.join(''))
      text.length = 0
      const index = new ConfigurationIndex()
      const before = used()
      const reader = createImportReader('jsonl', 1)
      for (let at = 0; at < body.length; at += 8192) reader.read(body.subarray(at, at + 8192))
      const { drafts } = reader.end()
      const plan = planImport(drafts, 'merge', { records: [], find: () => undefined, lastId: 0 })
      const changes = runAtOnce(signedChangesOf(plan, someone, 'merge'))
      const { pieces } = runAtOnce(encodeChangesInSlices(changes))
      const replaced = runAtOnce(index.applyTogether(changes, 1))
      const real = used() - before
      const counted = drafts.reduce((sum, draft) => sum + importRowMemory(draft), 0)
      expectNear(t, counted, real)
      // All of it was there until now.
      assert.deepEqual([index.count, drafts.length, plan.added.length], [ROWS, ROWS, ROWS])
      assert.ok(pieces.length > 0 && replaced.length === ROWS && body.length > 0)
    })
  })
