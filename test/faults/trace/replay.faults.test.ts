import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { join, relative } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { missing } from '../../support/debian.ts'
import { createRandom } from '../../support/random.ts'
import { inspect, startAsExecutable, startInProcess } from './inspection.ts'
import { ServiceOracle } from './oracle.ts'
import { absentFolder, grownFolder, type RecordedFolder, usedFolder } from './recorded-folder.ts'
import { type Recording, record } from './recording.ts'
import { type ReplayOptions, replay } from './replay.ts'
import { descriptorOf, pathsOf } from './trace-disk.ts'
import type { Call } from './trace-parser.ts'

const ALL = Number.POSITIVE_INFINITY
const RANDOM_OUTCOMES = 2
/** On how many images to start the executable, and on how many to try the password: both are slow. */
const EXECUTABLE_EVERY = 100
const LOGIN_EVERY = 10
const CHANGES_EACH = 50

/** First start, logins, changes and reads at once, logouts, SIGTERM. */
async function recordRun(
  t: TestContext,
  folder: RecordedFolder,
  seed: number,
  through: readonly string[] = [],
) {
  return record(t, { folder, random: createRandom(seed), changesEach: CHANGES_EACH, through })
}

/** The same with a compaction, but without the first start, and without reads, which add megabytes to the trace. */
async function recordCompaction(t: TestContext, folder: RecordedFolder, seed: number) {
  const untilEvent = 'snapshot_written'
  return record(t, { folder, random: createRandom(seed), changesEach: 5, untilEvent, hasReader: false })
}

/** Simulates power failures in a recorded run of the server, and starts the server on what is left. */
async function replayRecording(t: TestContext, recording: Recording, options: ReplayOptions) {
  const { root, data, steps, events } = recording
  const oracle = new ServiceOracle(recording)
  for (const event of events) oracle.take(event)
  oracle.checkEnd()

  const result = await replay(
    t,
    {
      ...recording,
      createOracle: () => new ServiceOracle(recording),
      inspect: (copy, number) => {
        const starter =
          number % EXECUTABLE_EVERY === EXECUTABLE_EVERY / 2 ? startAsExecutable : startInProcess
        const checksLogin = number % LOGIN_EVERY === 0
        return inspect(t, join(copy, relative(root, data)), steps, { starter, checksLogin })
      },
    },
    options,
  )
  const { moments, images, violations } = result
  t.diagnostic(`${moments} moments, ${images} different images, ${violations.length} violations`)
  return result
}

describe('a power failure in a recorded run', { skip: missing('strace') }, () => {
  it('loses nothing that was acknowledged, even at the first start', async (t) => {
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const recording = await recordRun(t, await absentFolder(t), seed)
    const result = await replayRecording(t, recording, {
      seed,
      crashes: ALL,
      randomOutcomes: RANDOM_OUTCOMES,
    })
    assert.ok(result.violations.length === 0, result.violations.slice(0, 3).join('\n\n'))
  })

  it('loses nothing that was acknowledged while the journal is compacted', async (t) => {
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const recording = await recordCompaction(t, await grownFolder(t), seed)
    const result = await replayRecording(t, recording, {
      seed,
      crashes: ALL,
      randomOutcomes: RANDOM_OUTCOMES,
    })
    assert.ok(result.violations.length === 0, result.violations.slice(0, 3).join('\n\n'))
    const calls = recording.events.map(({ call }) => `${call.name} ${pathsOf(call).join(' ')}`)
    for (const step of [
      /^rename.* \S+journal\.old\.jsonl$/,
      /^rename.* \S+snapshot\.json$/,
      /^unlink.*journal\.old/,
    ])
      assert.ok(
        calls.some((call) => step.test(call)),
        `the compaction was not recorded: ${step}`,
      )
  })
})

/** The violation that must be found if a kind of sync does nothing. */
const syncs: { what: string; is: (call: Call, recording: Recording) => boolean; finds: RegExp }[] = [
  {
    what: 'syncs of folders',
    is: (call, recording) => call.name === 'fsync' && isFolder(call, recording),
    finds: /there was a first start before/,
  },
  {
    what: 'syncs of whole files',
    is: (call, recording) => call.name === 'fsync' && !isFolder(call, recording),
    finds: /not a journal header|is no "connbook/,
  },
  { what: 'syncs of the journal', is: (call) => call.name === 'fdatasync', finds: /allowed are/ },
]

describe('the control: syncs that do nothing', { skip: missing('strace') || missing('eatmydata') }, () => {
  it('lose the first start', async (t) => {
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const recording = await recordRun(t, await absentFolder(t), seed, ['eatmydata'])
    assert.ok(!recording.events.some(({ call }) => /sync/.test(call.name)), 'something was synced')
    const until = /there was a first start before/
    const result = await replayRecording(t, recording, { seed, crashes: 8, randomOutcomes: 0, until })
    assert.match(result.violations.join('\n'), until)
  })

  it('lose changes in a folder in use', async (t) => {
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const recording = await recordRun(t, await usedFolder(t), seed, ['eatmydata'])
    const until = /allowed are/
    const result = await replayRecording(t, recording, { seed, crashes: 4, randomOutcomes: 0, until })
    assert.match(result.violations.join('\n'), until)
  })

  it('lose something even if only one kind of sync does nothing', async (t) => {
    const { seed } = createRandom()
    t.diagnostic(`seed ${seed}`)
    const recording = await recordRun(t, await absentFolder(t), seed)
    for (const { what, is, finds } of syncs) {
      await t.test(what, async (t) => {
        const events = recording.events.filter(({ call }) => !is(call, recording))
        assert.ok(events.length < recording.events.length)
        const result = await replayRecording(
          t,
          { ...recording, events },
          { seed, crashes: 8, randomOutcomes: 0, until: finds },
        )
        assert.match(result.violations.join('\n'), finds)
      })
    }
  })
})

function isFolder(call: Call, { data }: Recording): boolean {
  const { path } = descriptorOf(call)
  return `${data}/`.startsWith(`${path}/`)
}
