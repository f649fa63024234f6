import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { fillTables, readFilled } from './bench-tables.ts'
import { plotMark } from './plot.ts'
import { mergeRuns, publishedTable, readRuns, runsTable } from './published.ts'
import { ratioAtMost, rowsOf, type Target, valueAtLeast } from './row.ts'
import { type Report, type Run, runOf } from './run.ts'
import { speedTable } from './speed-table.ts'

const machine = {
  cpu: 'Some(R) CPU',
  cores: 2,
  system: 'Linux 6.18.44-x x64',
  node: 'v26.10.0',
  loadAverage: 0.04,
}

/** A run with one row: its ratios to a baseline of 1. */
function runWith(day: number, ratios: readonly number[], target: Target = ratioAtMost(1.5)): Run {
  return runOf(reportWith(day, ratios, target))
}

function reportWith(day: number, ratios: readonly number[], target: Target): Report {
  const series = (name: string, values: readonly number[]) => ({
    name,
    samples: values.map((latencyP50) => ({ latencyP50, latencyP99: 1 })),
  })
  const rows = rowsOf(
    'work',
    series('connbook', ratios),
    series(
      'other',
      ratios.map(() => 1),
    ),
    {
      latencyP50: target,
      latencyP99: undefined,
    },
  )
  return { date: `2026-01-0${day}T10:00:00.000Z`, machine, generator: 'wrk', sections: [{ title: '', rows }] }
}

describe('a kept run', () => {
  it('has of each row with a target the median, its interval, the lowest and the highest round', () => {
    const { rows, ...about } = runWith(1, [1, 1.2, 1.1, 1.3, 1.4, 1.5, 1.6, 1.7, 9 + 1 / 3])
    assert.deepEqual(rows, [
      {
        work: 'work',
        figure: 'latencyP50',
        comparedWith: 'other',
        target: ratioAtMost(1.5),
        rounds: 9,
        median: 1.4,
        low: 1.1,
        high: 1.7,
        min: 1,
        max: 9.3333,
      },
    ])
    assert.deepEqual(about, {
      date: '2026-01-01T10:00:00.000Z',
      machine: { ...machine, system: 'Linux 6.18 x64' },
      generator: 'wrk',
    })
  })

  it('says where the load generator was the limit', () => {
    const samples = [{ perSecond: 10_000, generatorCores: 0.97 }]
    const rows = rowsOf('work', { name: 'connbook', samples }, undefined, { perSecond: valueAtLeast(1) })
    const run = runOf({ ...reportWith(1, [1], ratioAtMost(1)), sections: [{ title: '', rows }] })
    assert.deepEqual(publishedTable(mergeRuns([run])).slice(2), [
      '| work | requests/s |  | 10,000* | 10,000–10,000 | 1 | ≥ 1 | met |',
    ])
  })
})

describe('mergeRuns', () => {
  const linesOf = (runs: readonly Run[]) => publishedTable(mergeRuns(runs)).slice(2)

  it('shows the lowest and the highest median, and the lowest and the highest round of all', () => {
    assert.deepEqual(linesOf([runWith(1, [1.1, 1.2, 1.4]), runWith(2, [0.9, 1, 1.3, 1, 1])]), [
      '| work | latency p50, ms | other | 1.00–1.20 × | 0.90–1.40 × | 3 + 5 | ≤ 1.5 × | met |',
    ])
  })

  it('shows one median of one run', () => {
    assert.deepEqual(linesOf([runWith(1, [1.6, 1.7, 2])]), [
      '| work | latency p50, ms | other | 1.70 × | 1.60–2.00 × | 3 | ≤ 1.5 × | missed |',
    ])
  })

  it('gives a verdict only when the runs agree', () => {
    const verdictOf = (...runs: Run[]) => mergeRuns(runs).map(({ verdict }) => verdict)
    assert.deepEqual(verdictOf(runWith(1, [1]), runWith(2, [1.4])), ['met'])
    assert.deepEqual(verdictOf(runWith(1, [1.6]), runWith(2, [1.7])), ['missed'])
    assert.deepEqual(verdictOf(runWith(1, [1.4]), runWith(2, [1.7])), ['cannot be told apart'])
    assert.deepEqual(verdictOf(runWith(1, [1.4]), runWith(2, [1.4, 1.4, 1.7])), ['cannot be told apart'])
  })

  it('takes the target of the last run', () => {
    const [row] = mergeRuns([runWith(1, [1.1]), runWith(2, [1.2], ratioAtMost(1))])
    assert.deepEqual([row?.target.limit, row?.verdict], [1, 'missed'])
  })

  it('keeps rows apart that are compared with different things, in the order of the longest run', () => {
    const first = runWith(1, [1])
    const rows = first.rows.flatMap((row) => [{ ...row, comparedWith: 'third' }, row])
    const merged = mergeRuns([first, { ...first, date: '2026-01-02', rows }])
    assert.deepEqual(
      merged.map(({ comparedWith, rounds }) => [comparedWith, rounds.length]),
      [
        ['third', 1],
        ['other', 2],
      ],
    )
  })
})

describe('readRuns', () => {
  it('has the earliest first, and no other files', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'a.json'), JSON.stringify(runWith(2, [1])))
    await writeFile(join(folder, 'b.json'), JSON.stringify(runWith(1, [1])))
    await writeFile(join(folder, 'notes.md'), 'no run')
    assert.deepEqual(await readRuns(folder), [runWith(1, [1]), runWith(2, [1])])
  })
})

describe('the tables of the runs', () => {
  it('say when and where it was measured', () => {
    assert.deepEqual(runsTable([runWith(1, [1])]).slice(2), [
      '| 2026-01-01 | 2 × Some CPU | Linux 6.18 x64, Node 26.10.0, wrk | 0.0 | 1 |',
    ])
  })

  it('leave out of the short table what was not measured', () => {
    const series = (name: string, value: number) => ({ name, samples: [{ readyMilliseconds: value }] })
    const rows = rowsOf('start with 1,000,000 records', series('connbook', 4_780), undefined, {
      readyMilliseconds: valueAtLeast(1),
    })
    const run = runOf({ ...reportWith(1, [1], ratioAtMost(1)), sections: [{ title: '', rows }] })
    assert.deepEqual(speedTable(mergeRuns([run])).slice(2), [
      '| start with 1,000,000 records | answers `/healthz` at once, `/readyz` after 4.8 s |',
    ])
  })
})

describe('what the repository shows of the benchmark', async () => {
  const hint = 'make it anew by npm run bench:publish'

  it('is in its picture what the kept runs gave', async () => {
    const drawn = await readFile(join(import.meta.dirname, 'bench.svg'), 'utf8')
    assert.ok(drawn.endsWith(`\n${plotMark(mergeRuns(await readRuns()))}\n`), hint)
  })

  it('is in its tables what the kept runs gave', async () => {
    const { text, filled } = await readFilled()
    assert.match(text, /^<!-- benchmark: \w+ -->\n\n\| /m)
    assert.equal(text, filled, hint)
  })

  it('replaces a table and nothing else', () => {
    const text = 'before\n\n<!-- benchmark: speed -->\n| former |\n|---|\n\nbehind\n\n| own |\n'
    const filled = fillTables(text, [])
    assert.equal(
      filled,
      'before\n\n<!-- benchmark: speed -->\n\n| work | connbook |\n|---|---|\n\nbehind\n\n| own |\n',
    )
    assert.equal(fillTables(filled, []), filled)
    assert.throws(() => fillTables('<!-- benchmark: nothing -->\n', []), /There is no table "nothing"/)
  })
})
