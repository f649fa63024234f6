import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { followerMetrics } from '../../src/cluster/cluster-metrics.ts'
import { readBlock } from '../manual/published.ts'
import { missing } from '../support/debian.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const rules = readBlock('metrics', 'yaml', 'Alerts')
const clusterRules = readBlock('metrics', 'yaml', 'Alerts of a cluster')
const skip = missing('promtool')

/** Has promtool test rules of the manual. */
async function promtool(
  t: TestContext,
  test: object,
  text = rules,
): Promise<{ isGood: boolean; output: string }> {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'rules.yml'), text)
  // YAML includes JSON.
  await writeFile(join(folder, 'test.yml'), JSON.stringify(test))
  const { stdout, stderr, code } = await promisify(execFile)('promtool', ['test', 'rules', 'test.yml'], {
    cwd: folder,
  }).then(
    (done) => ({ ...done, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  )
  return { isGood: code === 0, output: stdout + stderr }
}

const AT = 'connbook:8080'

/** A series of one value a minute, in promtool's notation. */
const series = (name: string, labels: string, values: string) => ({
  series: `${name}{job="connbook",instance="${AT}"${labels === '' ? '' : `,${labels}`}}`,
  values,
})

describe('the alerts of the manual', () => {
  it('name only metrics that there are', async (t) => {
    const { url } = await start(t, { flags: ['--metrics-public'] })
    const { text } = await createClient(url)('GET', '/metrics')
    const named = new Set(rules.match(/\bconnbook_\w+/g))
    assert.ok(named.size >= 4)
    for (const name of named) assert.match(text, new RegExp(`^# TYPE ${name} `, 'm'))
  })

  const requests = (status: string, values: string) =>
    series(
      'connbook_http_requests_total',
      `route="/configurations/",method="POST",status="${status}"`,
      values,
    )
  /** Those whose labels name the job. */
  const ofJob = new Set([
    'ConnbookDown',
    'ConnbookDiskFailed',
    'ConnbookMemoryShort',
    'ConnbookCertificateEnds',
    'ConnbookBackupOld',
  ])
  const cases = [
    ['a server that is down', 'ConnbookDown', {}, series('up', '', '1 1 0x20'), '5m'],
    ['a disk that failed', 'ConnbookDiskFailed', {}, series('connbook_writable', '', '1 1 0x20'), '5m'],
    [
      'records that take nearly all the memory',
      'ConnbookMemoryShort',
      {},
      [
        series('connbook_records_memory_bytes', '', '89x5 91x20'),
        series('connbook_records_memory_max_bytes', '', '100x25'),
      ],
      '10m',
    ],
    ['the first 507', 'ConnbookErrors', { status: '507' }, requests('507', '_x10 1x20'), '12m'],
    ['a later 500', 'ConnbookErrors', { status: '500' }, requests('500', '3x20 4x20'), '23m'],
    [
      'a snapshot that failed',
      'ConnbookSnapshotFailed',
      { job: 'connbook', outcome: 'failed' },
      series('connbook_snapshots_total', 'outcome="failed"', '0x5 1x30'),
      '10m',
    ],
    [
      'a certificate that ends in 14 days',
      'ConnbookCertificateEnds',
      {},
      series('connbook_certificate_end_timestamp_seconds', '', `${14 * 86400 + 60}x20`),
      '2m',
    ],
    [
      'a last backup of two days ago',
      'ConnbookBackupOld',
      {},
      [
        series('connbook_backup_last_timestamp_seconds', '', '60x3000'),
        series('connbook_records', '', '7x3000'),
      ],
      '2882m',
    ],
    ['no backup in two days', 'ConnbookBackupOld', {}, series('connbook_records', '', '7x3000'), '2881m'],
    [
      'many failed logins',
      'ConnbookLoginsFailing',
      {},
      series('connbook_logins_total', 'kind="user",outcome="failed"', '0x5 10+10x20'),
      '12m',
    ],
  ] as const
  const tests = cases.map(([name, alertname, labels, input, evalTime]) => {
    const isOfJob = ofJob.has(alertname)
    const expected = { ...(isOfJob ? { job: 'connbook' } : {}), instance: AT, ...labels }
    const summary = new RegExp(`alert: ${alertname}\n[\\s\\S]*?summary: '(.*)'`).exec(rules)?.[1] ?? ''
    const filled = summary
      .replace('{{ $labels.instance }}', AT)
      .replace('{{ $labels.status }}', 'status' in labels ? labels.status : '')
    const expectedAlerts = [{ exp_labels: expected, exp_annotations: { summary: filled } }]
    return {
      name,
      interval: '1m',
      input_series: [input].flat(),
      alert_rule_test: [{ eval_time: evalTime, alertname, exp_alerts: expectedAlerts }],
    }
  })
  /** For all cases at once: promtool takes long to start. It names the cases that fail. */
  let outcome: ReturnType<typeof promtool> | undefined
  for (const [what] of cases) {
    it(`fire for ${what}`, { skip }, async (t) => {
      outcome ??= promtool(t, { rule_files: ['rules.yml'], tests })
      const { isGood, output } = await outcome
      assert.ok(isGood, output)
    })
  }

  it('are silent about a server that works', { skip }, async (t) => {
    const names = Array.from(rules.matchAll(/alert: (\w+)/g), ([, name]) => name)
    assert.equal(names.length, 8)
    const { isGood, output } = await promtool(t, {
      rule_files: ['rules.yml'],
      tests: [
        {
          interval: '1m',
          input_series: [
            series('up', '', '1x60'),
            series('connbook_writable', '', '1x60'),
            series('connbook_records_memory_bytes', '', '89x60'),
            series('connbook_records_memory_max_bytes', '', '100x60'),
            requests('200', '0+100x60'),
            series('connbook_certificate_end_timestamp_seconds', '', `${15 * 86400}x60`),
            series('connbook_records', '', '7x60'),
            // Long ago.
            requests('503', '2x60'),
            series('connbook_snapshots_total', 'outcome="written"', '0+1x60'),
            series('connbook_snapshots_total', 'outcome="failed"', '1x60'),
            series('connbook_logins_total', 'kind="user",outcome="ok"', '0+100x60'),
            series('connbook_logins_total', 'kind="user",outcome="failed"', '0+1x60'),
          ],
          alert_rule_test: names.map((alertname) => ({ eval_time: '50m', alertname, exp_alerts: [] })),
        },
      ],
    })
    assert.ok(isGood, output)
  })

  it('fire for a node that is cut off from etcd, by a metric that nodes have', { skip }, async (t) => {
    const [name = ''] = clusterRules.match(/\bconnbook_cluster_\w+/) ?? []
    const families = followerMetrics(() => ({
      endpoint: '',
      revision: 0,
      secondsSinceCheck: 0,
      reconnects: 0,
    }))
    assert.ok(
      families.some((family) => family.name === name),
      name,
    )
    const summary = /summary: '(.*)'/.exec(clusterRules)?.[1]?.replace('{{ $labels.instance }}', AT)
    const alert = {
      exp_labels: { job: 'connbook', instance: AT },
      exp_annotations: { summary },
    }
    const test = {
      interval: '1m',
      input_series: [series(name, '', '0 1 20x9')],
      alert_rule_test: [
        { eval_time: '1m', alertname: 'ConnbookCutOff', exp_alerts: [] },
        { eval_time: '5m', alertname: 'ConnbookCutOff', exp_alerts: [alert] },
      ],
    }
    const { isGood, output } = await promtool(t, { rule_files: ['rules.yml'], tests: [test] }, clusterRules)
    assert.ok(isGood, output)
  })
})
