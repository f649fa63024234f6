import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type TableName, tables } from '../../.build/manual-tables.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { localErrors, problemTypes } from '../../src/error-types.ts'
import { logEvents } from '../../src/log-events.ts'
import { chapters } from '../../src/manual/chapters.ts'
import { routes } from '../../src/resources/routes.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'

/** The cells of each row, without head and rule; bars in cells are still escaped. */
async function rowsOf(name: TableName): Promise<string[][]> {
  const lines = await tables[name]()
  return lines.slice(2).map((line) => line.slice(2, -2).split(/ ?(?<!\\)\| ?/))
}

/** Every module of the program, but for some. */
async function sourcesWithout(...names: string[]): Promise<string[]> {
  const folder = join(import.meta.dirname, '../../src')
  const files = await readdir(folder, { recursive: true })
  const read = files.filter((file) => file.endsWith('.ts') && !names.includes(file))
  return Promise.all(read.map((file) => readFile(join(folder, file), 'utf8')))
}

describe('the tables of the manual', () => {
  const heads: Record<TableName, [head: string, rows: number]> = {
    chapters: ['| chapter | about |', chapters.length],
    calls: ['| call | does | answers |', routes.length],
    options: ['| flag | variable | default | what it does |', serverFlags.length],
    'exit-codes': ['| code | meaning |', 11],
    problems: ['| status | type | meaning |', Object.keys(problemTypes).length],
    events: ['| event | level | fields | meaning |', Object.keys(logEvents).length],
    metrics: ['| metric | type | meaning |', 32],
  }
  for (const name of Object.keys(tables) as TableName[]) {
    it(`${name}: has a head, a rule, and one row for each thing, with all cells`, async () => {
      const [first, rule, ...lines] = await tables[name]()
      const [head, count] = heads[name]
      assert.equal(first, head)
      const columns = head.split('|').length - 2
      assert.equal(rule, `|${'---|'.repeat(columns)}`)
      for (const line of lines) assert.match(line, /^\| \S.* \S.* \|$/)
      const rows = await rowsOf(name)
      assert.deepEqual(
        rows.filter((cells) => cells.length !== columns || cells.at(-1) === ''),
        [],
      )
      const names = rows.map((cells) => cells.find((cell) => /^[`[]/.test(cell)))
      assert.equal(new Set(names).size, count)
      assert.equal(rows.length, count)
    })
  }

  it('show path parameters in capitals', async () => {
    const calls = (await rowsOf('calls')).map(([call]) => call)
    assert.ok(calls.includes('`PATCH /configurations/NAME`'))
  })

  it('show flags with their placeholders, and only typed defaults as code; bars are escaped', async () => {
    const rows = await rowsOf('options')
    const row = (flag: string) => rows.find(([usage]) => usage?.startsWith(`\`${flag}`))?.slice(0, 3)
    assert.deepEqual(row('--port'), ['`--port PORT`', '`CONNBOOK_PORT`, then `PORT`', '`8080`'])
    assert.deepEqual(row('--log-format'), [
      '`--log-format text\\|json`',
      '`CONNBOOK_LOG_FORMAT`',
      'text on a terminal, else json',
    ])
    assert.deepEqual(row('--access-log'), ['`--access-log`', '`CONNBOOK_ACCESS_LOG`', 'off'])
  })

  it('have exactly the events that the sources log, at their levels', async () => {
    const sources = await sourcesWithout('log-events.ts')
    const found = (pattern: RegExp) => sources.flatMap((text) => Array.from(text.matchAll(pattern)))
    const logged = found(/[lL]og\.(debug|info|warn|error)\(\s*['`]([^'`]+)/g).flatMap(
      ([, level, event = '']) =>
        ['accounts', 'keys'].map((name) => [event.replace(/^\$\{(?:this\.#)?name\}/, name), level]),
    )
    const attempts = [
      ...found(/^ +(ok|failed|throttled|not_checked): '(\w+)'/gm),
      ...found(/attempts\.(succeeded|failed)\('(\w+)'/g),
    ].map(([, how = '', event]) => [event, ['ok', 'succeeded'].includes(how) ? 'info' : 'warn'])
    const told = (await rowsOf('events')).map(([event, level]) => `${event?.slice(1, -1)} ${level}`)
    assert.deepEqual(
      told.toSorted(),
      [...new Set([...logged, ...attempts].map((pair) => pair.join(' ')))].sort(),
    )
  })

  it('have no problem that the sources do not name, and no other error has a code without a class', async () => {
    const text = (await sourcesWithout('error-types.ts')).join('\n')
    const codes = (await rowsOf('problems')).map(([, code]) => code?.slice(1, -1))
    assert.deepEqual(
      [...codes, ...Object.keys(localErrors)].filter((code) => !text.includes(`'${code}'`)),
      [],
    )
  })

  it('have exactly the metrics of a scrape, with their types and the labels of every sample', async (t) => {
    const { url } = await start(t, { flags: ['--metrics-public'] })
    const ask = createClient(url)
    // So that at least one request has been counted.
    await ask('GET', '/healthz')
    const { text } = await ask('GET', '/metrics')
    const scraped = text
      .split(/^# HELP .*\n/m)
      .slice(1)
      .map((family) => {
        const [, name = '', type] = /^# TYPE (\S+) (\S+)$/m.exec(family) ?? []
        const samples = family.split('\n').filter((line) => line.startsWith(name))
        const named = samples
          // Sum and count of a summary are of all quantiles.
          .filter((line) => type !== 'summary' || !/^\w+_(?:sum|count)/.test(line))
          .map((line) => Array.from(line.matchAll(/[{,](\w+)="/g), ([, label]) => label ?? ''))
          .map((labels) => labels.filter((label) => label !== 'le').join())
        const kinds = [...new Set(named)].map((labels) => (labels === '' ? name : `${name}{${labels}}`))
        return [`\`${kinds.length === 0 ? name : kinds.join(' or ')}\``, type]
      })
    const told = (await rowsOf('metrics')).map(([metric, type]) => [metric, type])
    assert.deepEqual(told, scraped)
  })
})
