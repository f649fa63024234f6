import './support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { startExecutable } from './support/executable.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const root = join(import.meta.dirname, '..')
const run = promisify(execFile)

/** What a developer types for an optional field: a place in a file, and what comes there. */
const edits: readonly { file: string; before: string; add: string }[] = [
  {
    file: 'src/store/fields.ts',
    before: '] as const satisfies Field[]',
    add: `  {
    name: 'protocol',
    ...text,
    isRequired: false,
    check: (value) => checkText(value, 16),
    schema: { type: 'string', minLength: 1, maxLength: 16 },
    flag: { placeholder: 'NAME', help: 'protocol' },
  },
`,
  },
  {
    file: 'src/store/configuration.ts',
    before: '  /** Sorted by key. A record without labels',
    add: '  declare readonly protocol?: string\n',
  },
  {
    file: 'src/store/configuration.ts',
    before: '    const { labels } = fields\n    // Only then',
    add: '    if (fields.protocol) this.protocol = fields.protocol\n',
  },
]

it('a fifth field that may be left out needs two files, and works in API, client, files and history', async (t) => {
  const copy = await temporaryFolder(t)
  for (const name of ['src', 'package.json', 'tsconfig.json'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const { file, before, add } of edits) {
    const text = await readFile(join(copy, file), 'utf8')
    assert.equal(text.split(before).length, 2, `${file} has one place for it`)
    await writeFile(join(copy, file), text.replace(before, add + before))
  }
  await run(join(copy, 'node_modules/.bin/tsc'), [], { cwd: copy })

  const program = [process.execPath, '--import', 'tsx', join(copy, 'src/main.ts')]
  const data = join(copy, 'book')
  const first = await startExecutable(t, ['--data', data], { cwd: copy, program, isTimed: true })
  const connbook = async (...words: string[]) => {
    const [file = '', ...before] = program
    const { stdout } = await run(file, [...before, ...words], {
      cwd: copy,
      env: { ...process.env, CONNBOOK_DATA: data },
    })
    return stdout
  }
  const host = ['--hostname', 'h.example', '--port', '22', '--username', 'ops']
  await connbook('add', 'desk', ...host, '--protocol', 'rdp')
  await connbook('add', 'plain', ...host)
  await connbook('add', 'web', ...host, '--protocol', 'ssh', '--label', 'env=prod')

  assert.equal(
    await connbook('ls'),
    'desk\th.example\t22\tops\trdp\nplain\th.example\t22\tops\t\nweb\th.example\t22\tops\tssh\tenv=prod\n',
  )
  assert.equal(await connbook('ls', '--names', '--sort', '-protocol'), 'web\ndesk\nplain\n')
  assert.equal(await connbook('ls', '--names', '--sort', 'protocol'), 'plain\ndesk\nweb\n')
  assert.equal(await connbook('ls', '--names', '--protocol', 'rdp'), 'desk\n')
  assert.equal(await connbook('get', 'desk', '--field', 'protocol'), 'rdp\n')
  await assert.rejects(connbook('get', 'plain', '--field', 'protocol'), /"plain" has no protocol/)
  assert.doesNotMatch(await connbook('get', 'plain'), /undefined|null/)
  await assert.rejects(connbook('set', 'desk', '--protocol', 'x'.repeat(17)), /--protocol must not be longer/)
  assert.match(await connbook('ssh', '--print', 'plain'), /^ssh .*h\.example$/m)

  await connbook('set', 'web', '--port', '2222')
  assert.equal(await connbook('get', 'web', '--field', 'protocol'), 'ssh\n')
  await connbook('set', 'web', '--no-protocol')
  assert.equal(await connbook('ls', '--json', 'web'), `${web({ port: 2222 })}\n`)
  assert.match(await connbook('history', 'web'), /"protocol":\{"before":"ssh","after":null\}/)

  const files = Object.fromEntries(
    await Promise.all(
      ['csv', 'json', 'jsonl', 'env'].map(async (format) => [
        format,
        await connbook('export', '--format', format),
      ]),
    ),
  )
  assert.match(files.csv, /^name,hostname,port,username,protocol,labels\r\ndesk,h\.example,22,ops,rdp,\r\n/)
  assert.match(files.env, /CONNBOOK_DESK_PROTOCOL='rdp'/)
  assert.doesNotMatch(files.env, /CONNBOOK_PLAIN_PROTOCOL/)
  const before = await connbook('ls', '--json')
  for (const format of ['csv', 'json', 'jsonl']) {
    const file = join(copy, `book.${format}`)
    await writeFile(file, files[format])
    await connbook('set', 'plain', '--protocol', 'vnc')
    await connbook('set', 'desk', '--no-protocol')
    await connbook('import', file)
    // Only a column says that a record has none; a member that is missing leaves what is there.
    if (format !== 'csv') await connbook('set', 'plain', '--no-protocol')
    assert.equal(await connbook('ls', '--json'), before, format)
  }

  await first.stop('SIGKILL')
  const second = await startExecutable(t, ['--data', data], { cwd: copy, program, isTimed: true })
  assert.equal(await connbook('ls', '--json'), before)
  assert.equal(await second.stop(), 0)
  assert.match(await connbook('check'), /3 records/)
})

function web({ port }: { readonly port: number }): string {
  return JSON.stringify({
    id: 3,
    name: 'web',
    hostname: 'h.example',
    port,
    username: 'ops',
    labels: { env: 'prod' },
  })
}
