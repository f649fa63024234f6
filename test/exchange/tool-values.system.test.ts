import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { sshCommandTo } from '../../src/exchange/ssh-command.ts'
import { wordForShell } from '../../src/shell.ts'
import type { Configuration } from '../../src/store/configuration.ts'
import { labelOf } from '../../src/store/labels.ts'
import { missing } from '../support/debian.ts'
import { noNamespaces } from '../support/namespace.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  askAnsibleTasks,
  askPrometheus,
  askPython,
  askResolver,
  askSshInShell,
  cellsOf,
} from './evaluating-tools.ts'
import { exported, recordsOf } from './records.ts'
import {
  filledRecords,
  inEndOfName,
  inLabel,
  inName,
  innerTexts,
  inUsername,
  toolTexts,
} from './tool-texts.ts'
import {
  ansibleLabelsOf,
  askAnsibleByScript,
  askPsql,
  askShell,
  askSsh,
  assertSeen,
  databaseOf,
  listenAsPostgres,
  sshLabelsOf,
} from './tools.ts'

const KEY = 'ssh.identityfile'

/** The texts, and a check that none of their commands ran. */
async function prepare(t: TestContext) {
  const folder = await temporaryFolder(t)
  const canary = join(folder, 'ran')
  t.after(() => assert.equal(existsSync(canary), false, 'a value was run'))
  return { folder, texts: toolTexts(canary) }
}

/** Records whose hop has each text for its name, and that name in their label. */
function behindHops(texts: readonly string[]): Configuration[] {
  const hops = texts.filter((text) => !text.includes(','))
  return recordsOf([
    ...hops.map((name, i) => draft(name, { port: 1 + i })),
    ...texts.map((text, i) =>
      draft(`behind-${i}`, { hostname: 'behind.example', labels: { 'ssh.proxyjump': text } }),
    ),
  ])
}

describe('every value of an ssh-config export', { skip: missing('ssh') }, () => {
  it('is what ssh reads', async (t) => {
    const { texts } = await prepare(t)
    const records = await filledRecords('ssh-config', texts, [inName, inUsername, inLabel(KEY)])
    assert.ok(records.length > 200, `${records.length} records`)
    await assertSeen(t, 'ssh-config', records, askSsh, sshLabelsOf)
  })

  it('is what ssh reads of hops', async (t) => {
    await assertSeen(t, 'ssh-config', behindHops(innerTexts), askSsh, sshLabelsOf)
  })
})

describe('every value of a command line of ssh', { skip: missing('ssh') }, () => {
  it('is what ssh gets from a shell', async (t) => {
    const { texts } = await prepare(t)
    // ssh looks for the home folder of that user.
    const tried = texts.filter((text) => !/^~[^/]/.test(text))
    // What ssh-config can express, a command line can.
    const records = await filledRecords('ssh-config', tried, [inUsername, inLabel(KEY)])
    const commands = records.map((record) => sshCommandTo(record, () => undefined))
    const args = commands.map((command) =>
      typeof command === 'string' ? assert.fail(command) : command.args,
    )
    const seen = await askSshInShell(args.map((words) => words.map(wordForShell).join(' ')))
    assert.deepEqual(
      seen,
      records.map(({ hostname, port, username }, i) => ({ hostname, port, username, words: args[i] })),
    )
    for (const [i, { labels }] of records.entries()) {
      const key = labelOf(labels, KEY)
      assert.equal(key === undefined || args[i]?.includes(key), true)
    }
  })

  it('is no hop that ssh takes for something else', () => {
    for (const hop of toolTexts('x')) {
      const command = sshCommandTo(draft('a', { labels: { 'ssh.proxyjump': hop } }), () => undefined)
      if (typeof command !== 'string') assert.match(hop, /^(?:\w[\w.@-]*(?::\d+)?(?:,\b|$))+$/)
    }
  })
})

describe('every value of an export for Ansible', { skip: missing('ansible-inventory') }, () => {
  const askers = [
    ['ansible', askAnsibleTasks],
    ['ansible-json', async (file: string, names: readonly string[]) => askAnsibleByScript(file, names)],
  ] as const

  for (const [format, ask] of askers) {
    it(`is what ${format} has`, async (t) => {
      const { texts } = await prepare(t)
      const places = [inName, inUsername, inLabel(KEY), inLabel('env')]
      const records = await filledRecords(format, texts, places)
      assert.ok(records.length > 200, `${records.length} records`)
      await assertSeen(t, format, records, ask, ansibleLabelsOf)
    })

    it(`is what ${format} has of groups and hops`, async (t) => {
      const { texts } = await prepare(t)
      const groups = texts.map((group, i) => draft(`r${i}`, { port: 1 + i, labels: { group } }))
      await assertSeen(t, format, recordsOf(groups), ask, ansibleLabelsOf)
      await assertSeen(t, format, behindHops(innerTexts), ask, ansibleLabelsOf)
    })
  }
})

describe('every value of a pg-service export', { skip: missing('psql') }, () => {
  it('is what libpq sends', async (t) => {
    const { texts } = await prepare(t)
    const { seen, port } = await listenAsPostgres(t)
    const places = [inName, inUsername, inLabel('pg.dbname')]
    const records = await filledRecords('pg-service', texts, places, { hostname: '127.0.0.1', port })
    assert.ok(records.length > 200, `${records.length} records`)
    const ask = (file: string, names: readonly string[]) =>
      askPsql(
        file,
        records.filter(({ name }) => names.includes(name)),
        port,
        seen,
      )
    await assertSeen(t, 'pg-service', records, ask, databaseOf)
  })
})

describe('every value of an export for Prometheus', { skip: missing('promtool') }, () => {
  it('is what Prometheus discovers', async (t) => {
    const { folder, texts } = await prepare(t)
    const records = await filledRecords('prometheus-sd', texts, [inName, inLabel('env'), inLabel('group')])
    assert.ok(records.length > 200, `${records.length} records`)
    const { text, names } = await exported('prometheus-sd', records)
    assert.equal(names.length, records.length)
    const found = await askPrometheus(folder, text)
    const labelsBy = new Map(found.map(({ address, labels }) => [address, labels]))
    for (const { name, hostname, port, labels } of records)
      assert.deepEqual(labelsBy.get(`${hostname}:${port}`), {
        __meta_connbook_name: name,
        // A label without text is none.
        ...Object.fromEntries(
          Object.entries(labels ?? {}).map(([key, value]) => [`__meta_connbook_label_${key}`, value]),
        ),
      })
  })
})

describe('every name of a hosts export', { skip: noNamespaces }, () => {
  it('is what the resolver finds, and no other name is', async (t) => {
    const { folder, texts } = await prepare(t)
    const drafts = [...new Set([...texts, 'a-b', 'a.b', 'a_b', '_a', 'x1'])].map((name, i) =>
      draft(name, { hostname: `10.0.${i >> 8}.${i & 255}` }),
    )
    const records = recordsOf(drafts)
    const { text, names } = await exported('hosts', records)
    assert.ok(names.length > 5)
    const expected = records.filter(({ name }) => names.includes(name)).map(({ hostname }) => hostname)
    assert.deepEqual(await askResolver(folder, text, names), expected)
    assert.equal(text.split('\n').length - 1, names.length)
  })
})

describe('every value of an env export', () => {
  it('is what a shell has', async (t) => {
    const { texts } = await prepare(t)
    const records = await filledRecords('env', texts, [inEndOfName, inUsername])
    assert.ok(records.length > 200, `${records.length} records`)
    await assertSeen(t, 'env', records, askShell)
  })
})

describe('every value of an export for programs', { skip: missing('python3') }, () => {
  const places = [inName, inUsername, inLabel('env')]

  it('is what Python reads of csv', async (t) => {
    const { folder, texts } = await prepare(t)
    const records = await filledRecords('csv', texts, places)
    const file = join(folder, 'export.csv')
    await writeFile(file, (await exported('csv', records)).text)
    const rows = (await askPython(file, 'list(csv.reader(f, strict=True))')) as string[][]
    assert.deepEqual(
      rows.slice(1).map((row) => row.slice(0, 4)),
      records.map(cellsOf),
    )
  })

  for (const [format, expression] of [
    ['json', 'json.load(f)["configurations"]'],
    ['jsonl', '[json.loads(line) for line in f]'],
  ] as const)
    it(`is what Python reads of ${format}`, async (t) => {
      const { folder, texts } = await prepare(t)
      const records = await filledRecords(format, texts, places)
      const file = join(folder, 'export')
      await writeFile(file, (await exported(format, records)).text)
      assert.deepEqual(await askPython(file, expression), JSON.parse(JSON.stringify(records)))
    })
})
