import * as fc from 'fast-check'
import type { DiskFault } from '../volatile/volatile-files.ts'
import type { Life, Step } from './lives.ts'

/** More operations than any life has: the power fails after the last. */
const STEPS_MAX = 1_000_000

const fault: fc.Arbitrary<DiskFault> = fc.record({
  operation: fc.constantFrom(
    'write',
    'write',
    'datasync',
    'datasync',
    'sync',
    'sync',
    'rename',
    'truncate',
    'open',
    'unlink',
  ),
  code: fc.constantFrom('EIO', 'ENOSPC'),
  skip: fc.constantFrom(0, 0, 0, 1, 2, 4),
  times: fc.constantFrom(1, 1, 2, 5, 1000),
})

/** Up to four lives that end in a kill or a power loss, with these requests and on disks that sometimes fail. */
export function livesWith<Request>(request: fc.Arbitrary<Request>): fc.Arbitrary<Life<Request>[]> {
  const step: fc.Arbitrary<Step<Request>> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ burst: fc.array(request, { minLength: 1, maxLength: 6 }) }) },
    { weight: 4, arbitrary: fc.record({ turns: fc.integer({ min: 1, max: 12 }) }) },
    { weight: 4, arbitrary: fc.constant('answers' as const) },
    { weight: 4, arbitrary: fc.record({ fault }) },
    { weight: 1, arbitrary: fc.constantFrom('pause' as const, 'mend' as const) },
    { weight: 3, arbitrary: fc.constant('recover' as const) },
  )
  const life: fc.Arbitrary<Life<Request>> = fc.record({
    seed: fc.nat(),
    snapshotBytesMin: fc.constantFrom(100, 1000, 4000),
    faults: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(fault, { maxLength: 2 })),
    steps: fc.array(step, { maxLength: 12, size: 'max' }),
    isClosed: fc.boolean(),
    crashAt: fc.oneof(
      fc.nat({ max: 30 }),
      fc.nat({ max: 120 }),
      fc.nat({ max: 400 }),
      fc.constant(STEPS_MAX),
    ),
    isOnlyKilled: fc.boolean(),
    image: fc.nat({ max: 4 }),
  })
  return fc.array(life, { minLength: 1, maxLength: 4 })
}
