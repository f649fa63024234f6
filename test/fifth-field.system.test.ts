import './support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { closePagesFirst, openConsole } from './console/support/browser.ts'
import { noChromium } from './console/support/chromium.ts'
import { logIn } from './console/support/log-in.ts'
import { bundleProgram } from './support/bundled-program.ts'
import { eventually } from './support/eventually.ts'
import { startExecutable } from './support/executable.ts'
import { admin, usedFolder } from './support/service.ts'
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
    file: 'src/console/configuration.ts',
    before: '] as const satisfies Field[]',
    add: "  { name: 'protocol', heading: 'Protocol', input: { placeholder: 'ssh' }, isOptional: true },\n",
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

/** A copy of the source with the field. @returns Its folder. */
async function copyWithField(t: TestContext): Promise<string> {
  const copy = await temporaryFolder(t)
  for (const name of ['src', '.build', 'package.json', 'tsconfig.json'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const { file, before, add } of edits) {
    const text = await readFile(join(copy, file), 'utf8')
    assert.equal(text.split(before).length, 2, `${file} has one place for it`)
    await writeFile(join(copy, file), text.replace(before, add + before))
  }
  return copy
}

it('a fifth field that may be left out compiles with two files, and one more for the console', async (t) => {
  const copy = await copyWithField(t)
  for (const project of ['.', 'src/console'])
    await run(join(copy, 'node_modules/.bin/tsc'), ['-p', project], { cwd: copy })
})

it('a fifth field that may be left out works in API, client, files and history', async (t) => {
  const copy = await copyWithField(t)
  const program = await bundleProgram(copy, { project: copy })
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

it('a fifth field that may be left out works in the console', { skip: noChromium }, async (t) => {
  const copy = await copyWithField(t)
  const data = await usedFolder(t)
  closePagesFirst(t)
  const program = await bundleProgram(copy, { project: copy })
  const server = await startExecutable(t, ['--data', data], { cwd: copy, program, isTimed: true })
  const page = await openConsole(t, { server })
  await logIn(page, admin.username, admin.password)
  const add = async (name: string, protocol: string) => {
    await page
      .getByRole('button', { name: 'Add', exact: true })
      .or(page.getByRole('button', { name: 'Add a record' }))
      .first()
      .click()
    const values = { Name: name, Hostname: 'h.example', Port: '22', Username: 'ops', Protocol: protocol }
    for (const [field, value] of Object.entries(values))
      await page.getByLabel(field, { exact: true }).fill(value)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  }
  await add('desk', 'rdp')
  await add('plain', '')
  await page.getByRole('columnheader', { name: 'Protocol' }).waitFor()
  const cells = () => page.locator('td.protocol').allTextContents()
  await eventually('both are shown', async () => (await cells()).join() === 'rdp,')
  await page.getByRole('link', { name: 'desk', exact: true }).click()
  await page.getByRole('term').getByText('Protocol', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Protocol', { exact: true }).fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('term').getByText('Protocol', { exact: true }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Back to the list' }).click()
  await eventually('it is removed', async () => (await cells()).join() === ',')
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
