import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ImportReader } from '../../src/exchange/import-reader.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import { encodeChanges } from '../../src/store/change.ts'
import { Configuration, type NewConfiguration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { bulkImport, importRowMemory, signedChangesOf } from '../../src/store/import-plan.ts'
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

interface Made {
  /** Bytes that are counted for it. */
  readonly counted: number
  readonly held: unknown
}

/** Outside of all functions, whose frames may keep what they no longer use. */
const kept: unknown[] = []

function keep({ counted, held }: Made): number {
  kept.push(held)
  return counted
}

/**
 * Expects that what is counted goes when nothing holds it any more. The growth before it would not show it: V8 and Node give
 * back megabytes of their own meanwhile.
 */
function expectNear(t: TestContext, make: () => Made) {
  const counted = keep(make())
  const before = used()
  kept.length = 0
  const real = before - used()
  const factor = counted / real
  t.diagnostic(`${(counted / 1e6).toFixed(1)} MB are counted, and ${(real / 1e6).toFixed(1)} in use`)
  assert.ok(factor < FACTOR_MAX && factor > 1 / FACTOR_MAX, `factor ${factor.toFixed(2)}`)
}

function fillRecentChanges(shape: Shape): Made {
  const recent = new RecentChanges()
  let last = new Configuration(1, record('a', shape))
  for (let i = 1; i <= CHANGES; i++) {
    const next = new Configuration(1, record(`a${i % 2}`, shape))
    // As the journal and an answer need them.
    assert.ok(next.json !== '' && next.etag !== '')
    recent.add({ modify: next, name: last.name }, i, last)
    last = next
  }
  assert.ok(recent.count > 0)
  return { counted: recent.memory, held: recent }
}

function planOf(body: Buffer): Made {
  const index = new ConfigurationIndex()
  const reader = new ImportReader('jsonl', 1)
  for (let at = 0; at < body.length; at += 8192) reader.read(body.subarray(at, at + 8192))
  const { drafts } = reader.end()
  const planner = bulkImport(drafts, 'merge').planFor({ records: [], find: () => undefined, lastId: 0 })
  runAtOnce(planner.decide())
  const plan = runAtOnce(planner.conclude(0))
  const changes = runAtOnce(signedChangesOf(plan, someone, {}))
  const pieces = runAtOnce(encodeChanges(changes))
  const replaced = runAtOnce(index.applyTogether(changes, 1))
  assert.deepEqual([index.count, drafts.length, plan.added.length, replaced.length], [ROWS, ROWS, ROWS, ROWS])
  const counted = drafts.reduce((sum, draft) => sum + importRowMemory(draft), 0)
  return { counted, held: [index, reader, drafts, planner, plan, changes, pieces, replaced] }
}

for (const [what, ...shape] of shapes)
  describe(`with ${what} of keys that no other record has, the memory in use is near what is counted`, () => {
    it('for recent changes', (t) => {
      expectNear(t, () => fillRecentChanges(shape))
    })

    it('for an import', (t) => {
      const text = Array.from({ length: ROWS }, (_, i) => `${JSON.stringify(record(`n${i}`, shape))}\n`)
      const body = Buffer.from(text.join(''))
      text.length = 0
      expectNear(t, () => planOf(body))
      assert.ok(body.length > 0)
    })
  })
