import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import * as fc from 'fast-check'
import type { FileSystem } from '../../../src/files/file-system.ts'
import { holdTimers } from '../../support/held-timers.ts'
import { createRandom } from '../../support/random.ts'
import { livesWith } from './arbitraries.ts'
import { type DocumentRequest, documentSubject } from './document.ts'
import { runLives, type Subject, type Surroundings } from './lives.ts'
import { type RevocationRequest, revocationsSubject } from './revocations.ts'
import { type ChangeRequest, storeSubject } from './store.ts'

const names = fc.constantFrom('a', 'b', 'c', 'd')
const sizes = fc.constantFrom(1, 1, 300, 1500)

const change: fc.Arbitrary<ChangeRequest> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: names, size: sizes }) },
  {
    weight: 3,
    arbitrary: fc.record({ modify: names, to: names, size: sizes }, { requiredKeys: ['modify'] }),
  },
  { weight: 2, arbitrary: fc.record({ remove: names }) },
  {
    weight: 2,
    arbitrary: fc.record({
      importing: fc.uniqueArray(names, { minLength: 1 }),
      mode: fc.constantFrom('merge' as const, 'replace' as const),
      size: sizes,
    }),
  },
)
const revocation: fc.Arbitrary<RevocationRequest> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ lastsSeconds: fc.constantFrom(5, 1000) }) },
  { weight: 1, arbitrary: fc.record({ advanceMs: fc.constantFrom(1000, 10_000) }) },
)
const replacement: fc.Arbitrary<DocumentRequest> = fc.record({ size: sizes })

/** Far more runs than it takes to see what a control breaks. */
const CONTROL_RUNS_MAX = 2_000

/** The property that each life with such requests leaves what it answered, and the parameters to check it. */
function prepare<Request, State>(
  t: TestContext,
  subject: Subject<Request, State>,
  request: fc.Arbitrary<Request>,
  numRuns: number,
  surroundings: Partial<Surroundings> = {},
) {
  const { seed } = createRandom()
  t.diagnostic(`seed ${seed}`)
  const pass = holdTimers(t)
  // A slice ends by the clock: with a held one, what can be seen has always been answered when it is looked at.
  t.mock.method(performance, 'now', () => 0)
  const property = fc.asyncProperty(livesWith(request), (lives) =>
    runLives(subject, lives, { pass, ...surroundings }),
  )
  return { property, parameters: { seed, numRuns } }
}

/** A file system under a program that retries a failed sync. */
function syncTwice(files: FileSystem): FileSystem {
  return {
    ...files,
    async open(path, flags, mode) {
      const file = await files.open(path, flags, mode)
      return { ...file, datasync: () => file.datasync().catch(() => file.datasync()) }
    },
  }
}

/** How many random lives are tried. */
export interface PowerLossRuns {
  readonly store: number
  readonly revocations: number
  readonly documents: number
  /** Whether to run also the control that takes some hundred lives. */
  readonly hasLongControl: boolean
}

/** Describes what power losses leave. */
export function describePowerLoss(runs: PowerLossRuns): void {
  describe('after a power loss at any moment', () => {
    it('the store holds what it acknowledged', async (t) => {
      const { property, parameters } = prepare(t, storeSubject, change, runs.store)
      await fc.assert(property, parameters)
    })

    it('a revoked credential stays revoked', async (t) => {
      const { property, parameters } = prepare(t, revocationsSubject, revocation, runs.revocations)
      await fc.assert(property, parameters)
    })

    it('a JSON file is wholly the old one or wholly the new one', async (t) => {
      const { property, parameters } = prepare(t, documentSubject, replacement, runs.documents)
      await fc.assert(property, parameters)
    })

    const controls: readonly {
      readonly disk: string
      readonly surroundings: Partial<Surroundings>
      readonly isLong?: boolean
    }[] = [
      { disk: 'ignores every sync', surroundings: { ignoredSyncs: 'all' } },
      { disk: 'ignores the syncs of folders', surroundings: { ignoredSyncs: 'folders' } },
      {
        disk: 'reports success when a failed sync is tried again',
        surroundings: { wrap: syncTwice },
        isLong: true,
      },
    ]
    for (const { disk, surroundings, isLong = false } of controls) {
      if (isLong && !runs.hasLongControl) continue
      it(`the store has lost something if the disk ${disk} (control)`, async (t) => {
        const { property, parameters } = prepare(t, storeSubject, change, CONTROL_RUNS_MAX, surroundings)
        const outcome = await fc.check(property, { ...parameters, endOnFailure: true })
        const [seen] = String(outcome.errorInstance).split('\n')
        t.diagnostic(`seen after ${outcome.numRuns} runs: ${seen}`)
        assert.ok(outcome.failed)
      })
    }
  })
}
