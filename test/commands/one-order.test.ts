import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { loginsOf } from '../../src/client/logins.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const commands = [
  ['ls'],
  ['get', 'web1'],
  ['set', 'web1', '--port', '22'],
  ['rm', 'web1'],
  ['add', 'web1', 'u@h:22'],
  ['history'],
  ['revert', 'web1', '--yes'],
  ['inventory', '--list'],
  ['export', '--format', 'csv'],
  ['import', '-', '--format', 'csv'],
  ['user', 'add', 'eve'],
  ['client', 'list'],
  ['keys', 'list'],
  ['backup', '-'],
  ['whoami'],
] as const
const onFolder: readonly (readonly string[])[] = [
  ['keys', 'list'],
  ['backup', '-'],
]

/** Nobody listens there. */
const url = (port: number) => `http://127.0.0.1:${port}`

/**
 * Ways to name a book, the one that counts first in front. At each of them every command ends with an error that names it.
 *
 * @param none A folder above one that is missing, so that no command makes a book there.
 */
function waysIn(home: string, none: string) {
  const folder = (name: string) => join(none, name, 'data')
  return [
    { words: ['--server', url(1)], named: url(1) },
    { words: ['--data', folder('flag')], named: folder('flag') },
    { environment: { CONNBOOK_SERVER: url(2) }, named: url(2) },
    { environment: { CONNBOOK_DATA: folder('variable') }, named: folder('variable') },
    { login: url(3), named: url(3) },
    { named: join(home, 'data') },
  ] as const
}

interface Way {
  readonly words?: readonly string[]
  readonly environment?: NodeJS.ProcessEnv
  readonly login?: string
  readonly named: string
}

async function setUp(t: TestContext) {
  const [home, none, state] = [await temporaryFolder(t), await temporaryFolder(t), await temporaryFolder(t)]
  await mkdir(join(home, 'data'), { mode: 0o700 })
  // A book that cannot be read.
  await writeFile(join(home, 'data', dataFiles.keys), '', { mode: 0o600 })
  t.mock.method(process, 'cwd', () => home)
  const ways: readonly Way[] = waysIn(home, none)
  const run = async (words: readonly string[], given: readonly Way[]) => {
    const environment = {
      XDG_STATE_HOME: state,
      ...Object.assign({}, ...given.map((way) => way.environment)),
    }
    for (const { login: server } of given)
      if (server !== undefined) await loginsOf(environment).keep({ server, user: 'eve', cookie: 'session=x' })
    return runCommand([...words, ...given.flatMap((way) => way.words ?? [])], {
      environment,
      input: words[0] === 'import' ? 'name,hostname,port,username\nweb1,h,22,u\n' : 'a long secret',
    })
  }
  return { ways, run, forget: () => loginsOf({ XDG_STATE_HOME: state }).forget(url(3)) }
}

describe('the book that a command means', () => {
  for (const words of commands) {
    it(`of ${words.join(' ')} is the first that is named, in one order`, async (t) => {
      const { ways, run, forget } = await setUp(t)
      for (const [first, way] of ways.entries()) {
        if (ways[first - 1]?.login !== undefined) await forget()
        const { code, stdout, stderr } = await run(words, ways.slice(first))
        const isUrl = way.named.startsWith('http')
        const isRefused = isUrl && onFolder.some((each) => each[0] === words[0])
        const expected = isRefused ? 2 : isUrl ? 6 : way.words || way.environment ? 1 : 65
        assert.deepEqual([code, stdout], [expected, ''], `${way.named}: ${stderr}`)
        const others = ways.filter((each) => each !== way)
        assert.ok(stderr.includes(way.named), stderr)
        for (const { named } of others) assert.ok(!stderr.includes(named), stderr)
        if (isRefused) assert.match(stderr, /works on a data folder alone; name that with --data FOLDER\n$/)
      }
    })
  }
})
