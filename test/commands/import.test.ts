import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { getToken } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient } from '../support/http-client.ts'
import { client, firstStartEnvironment, start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { copyOf, makeUsedFolder, stateIn } from './kept-state.ts'
import { photograph, photographBook } from './photograph.ts'

const used = await makeUsedFolder({ after })
const HEADER = 'name,hostname,port,username\n'

/** A copy of a used folder, and a file next to it. */
async function setUp(t: TestContext, fileName: string, text: string | Uint8Array) {
  const folder = await copyOf(used, t)
  const file = join(folder, '..', fileName)
  await writeFile(file, text)
  return { folder, file }
}

function runImport(folder: string, args: readonly string[], input: string | Uint8Array = '') {
  return runCommand(['import', ...args, '--data', folder], { input })
}

const names = async (folder: string) => (await stateIn(folder)).records.map(({ name }) => name)
const kept = used.current.records.map(({ name }) => name)
const csv = `${HEADER}kept 2,host.example,2222,ops\nnew,new.example,22,ops\n`

describe('connbook import', () => {
  it('merges a file into the folder of a stopped server, and reports the changes', async (t) => {
    const { folder, file } = await setUp(t, 'records.csv', csv)
    const { code, stdout, stderr } = await runImport(folder, [file])
    assert.deepEqual([code, stdout], [0, ''])
    assert.equal(stderr, `Imported to ${folder}: 1 added, 1 modified, 0 removed, 0 unchanged\n`)
    const { records } = await stateIn(folder)
    assert.deepEqual(
      records.map(({ name }) => name),
      [...kept, 'new'],
    )
    assert.equal(records.find(({ name }) => name === 'kept 2')?.port, 2222)
    const [last = ''] = (await readFile(join(folder, 'audit.jsonl'), 'utf8')).split('\n').slice(-4)
    const { event, command, mode, added, modified } = JSON.parse(last)
    assert.deepEqual(
      [event, command, mode, added, modified],
      ['configurations_imported', 'import', 'merge', 1, 1],
    )
    const again = await runImport(folder, [file])
    assert.equal(again.stderr, `Imported to ${folder}: 0 added, 0 modified, 0 removed, 2 unchanged\n`)
  })

  it('gives labels from Ansible to the keys that a record has, where variables cannot tell these apart', async (t) => {
    const labels = { 'cost-center': '4711', 'app.kubernetes.io/name': 'shop', a_b: '1', 'a-b': '2' }
    const before = { name: 'web', hostname: '192.0.2.1', port: 22, username: 'ops' }
    const { folder, file } = await setUp(t, 'book.jsonl', JSON.stringify({ ...before, labels }))
    await runImport(folder, [file])
    const own = { cost_center: '4712', app_kubernetes_io_name: 'shop', a_b: '3', env: 'prod' }
    const variables = Object.entries(own).map(([key, value]) => [`connbook_label_${key}`, value])
    const host = { ...Object.fromEntries(variables), ansible_host: '192.0.2.1', ansible_user: 'ops' }
    const inventory = JSON.stringify({ _meta: { hostvars: { web: host } } })
    const flags = ['-', '--format', 'ansible', '--extra', 'labels']
    const tried = await runImport(folder, [...flags, '--dry-run'], inventory)
    assert.match(tried.stdout, /Would add 0, modify 1/)
    await runImport(folder, flags, inventory)
    const { records } = await stateIn(folder)
    assert.deepEqual(records.find(({ name }) => name === 'web')?.labels, {
      'a-b': '2',
      a_b: '3',
      'app.kubernetes.io/name': 'shop',
      'cost-center': '4712',
      env: 'prod',
    })
  })

  it('says what a file of another tool is, and the way from there', async (t) => {
    const files: readonly (readonly [name: string, text: string, words: RegExp])[] = [
      ['sessions.reg', '\ufeffWindows Registry Editor Version 5.00\r\n', /PuTTY.*connbook help import/],
      ['hosts', '127.0.0.1 localhost\n', /\/etc\/hosts.*connbook help import/],
      ['inventory.yml', 'all:\n  hosts:\n', /YAML.*ansible-inventory -i FILE --list/],
      ['sheet.xlsx', 'PK\x03\x04', /save the sheet as "CSV UTF-8"/],
    ]
    for (const [name, text, words] of files) {
      const bytes = Buffer.from(text, name.endsWith('.reg') ? 'utf16le' : 'utf8')
      const { folder, file } = await setUp(t, name, bytes)
      const { code, stderr } = await runImport(folder, [file])
      assert.equal(code, 2, name)
      assert.match(stderr, words)
    }
    const { folder, file } = await setUp(t, 'unknown', 'x y\n')
    const other = await runImport(folder, [file])
    assert.match(other.stderr, /^connbook: Cannot tell the format of ".*unknown"; say --format with one of /)
  })

  it('reads Windows-1252 where it is told so, with a server and without', async (t) => {
    const bytes = Buffer.from(`${HEADER}b\u00fcro,h,22,M\u00fcller\n`, 'latin1')
    const { folder, file } = await setUp(t, 'ansi.csv', bytes)
    const tried = await runImport(folder, [file, '--encoding', 'windows-1252', '--dry-run'])
    assert.match(tried.stdout, /^Read as windows-1252, separated by ","\n/)
    await runImport(folder, [file, '--encoding', 'windows-1252'])
    assert.ok((await names(folder)).includes('b\u00fcro'))
    const service = await start(t)
    const beside = await runImport(service.folder.path, [file, '--encoding', 'windows-1252'])
    assert.match(beside.stderr, /: 1 added/)
    const config = join(folder, '..', 'ssh_config')
    await writeFile(config, Buffer.from('Host x\n  User J\u00fcrgen\n', 'latin1'))
    const ssh = await runImport(folder, [config, '--encoding', 'windows-1252'])
    assert.equal(ssh.code, 0, ssh.stderr)
    const { code } = await runImport(folder, [file, '--encoding', 'latin1'])
    assert.equal(code, 2)
  })

  it('leaves lines at fault out with --skip, and names them', async (t) => {
    const { folder, file } = await setUp(
      t,
      'records.csv',
      `${HEADER}new,h,22,u\nbad,h,x,u\nworse,192.0.2.7/24,22,u\nnull,010.1.2.3,22,u\n`,
    )
    const { code, stderr } = await runImport(folder, [file, '--skip'])
    assert.deepEqual(
      [code, stderr.split('\n')],
      [
        0,
        [
          `connbook: ${file}, line 3, bad: left out: port must be an integer from 1 to 65535`,
          `connbook: ${file}, line 4, worse: left out: hostname must be an address alone: leave out "/24", the length of its network`,
          `connbook: ${file}, line 5, null: left out: hostname must be an IPv4 address of four numbers without zeros before them, which some programs take for octal`,
          `Imported to ${folder}: 1 added, 0 modified, 0 removed, 0 unchanged`,
          '',
        ],
      ],
    )
  })

  it('reads a spreadsheet as its flags say, with a server and without', async (t) => {
    const sheet = 'Title;IP;Kind;Rack;Password\nnew;h.example;SSH;4;x\nrdp;h.example;RDP;5;y\n'
    const flags = [
      '--only',
      'kind=SSH',
      '--default',
      'port=22',
      '--default',
      'username=ops',
      '--extra',
      'labels',
    ]
    const { folder, file } = await setUp(t, 'sheet.csv', sheet)
    const tried = await runImport(folder, [file, ...flags, '--map', 'label.place=Rack', '--dry-run'])
    assert.equal(
      tried.stdout,
      `Read as utf-8, separated by ";"\n  "Title" becomes name\n  "IP" becomes hostname\n  "Kind" becomes label.kind\n  "Rack" becomes label.place\n  "Password" is left out\nWould add 1, modify 0, remove 0; 0 unchanged\n  add "new"\n`,
    )
    const left = `connbook: ${file}, line 1: column "Password" was left out: its name says a secret\n`
    assert.equal(tried.stderr, `${left}Compared with ${folder}; nothing has changed\n`)
    const done = await runImport(folder, [file, ...flags])
    assert.equal(done.stderr, `${left}Imported to ${folder}: 1 added, 0 modified, 0 removed, 0 unchanged\n`)
    const without = await runImport(folder, [file, '--only', 'kind=SSH'])
    assert.equal(
      without.stderr,
      `connbook: Cannot import ${file}: 2 faults; nothing has changed\n  line 1: header names "Rack", which is not a field; add --extra labels to keep each as a label, or --extra ignore to leave them out\n  line 1: header does not name port and username; say --map port=COLUMN, or fill in with --default port=VALUE\n`,
    )
    const bad = await runImport(folder, [file, '--map', 'x=y', '--default', 'port=ssh'])
    assert.deepEqual(
      [bad.code, bad.stderr.match(/--(?:map|default) .*?(?= is not|;|$| must)/gm)],
      [2, ['--map "x"', '--default port']],
    )
    const json = await runImport(folder, ['-', '--format', 'json', '--extra', 'labels'])
    assert.match(json.stderr, /--extra is for csv and ansible only; this file is json/)
  })

  it('takes a file of the usual name for a service file of libpq', async (t) => {
    for (const name of ['pg_service.conf', '.pg_service.conf', 'other.conf']) {
      const { folder, file } = await setUp(t, name, '[db]\nhost=h.example\npassword=x\n')
      const { code, stderr } = await runImport(folder, [file, '--default', 'username=ops'])
      if (name === 'other.conf') assert.match(stderr, /Cannot tell the format of /)
      else
        assert.deepEqual(
          [code, stderr],
          [
            0,
            `connbook: ${file}, line 3: password was left out: its name says a secret\nImported to ${folder}: 1 added, 0 modified, 0 removed, 0 unchanged\n`,
          ],
        )
    }
  })

  it('takes what ansible-inventory prints, and says once what many hosts have', async (t) => {
    const inventory = '{"_meta":{"hostvars":{"h1":{"env":"prod"}}},"web":{"hosts":["h1","h2"]}}'
    const { folder, file } = await setUp(t, 'inventory.json', inventory)
    const refused = await runImport(folder, [file, '--format', 'ansible'])
    assert.deepEqual(
      [refused.code, refused.stderr],
      [
        1,
        `connbook: Cannot import ${file}: 2 faults; nothing has changed\n  "h1" and 1 more: username is missing; give --default username=NAME\n`,
      ],
    )
    const done = await runImport(folder, [file, '--format', 'ansible', '--default', 'username=ops'])
    assert.deepEqual(
      [done.code, done.stderr],
      [
        0,
        `connbook: ${file}: variables were left out: env of 1 host\nImported to ${folder}: 2 added, 0 modified, 0 removed, 0 unchanged\n`,
      ],
    )
    const broken = await setUp(t, 'hosts.ini', '[web]\nh1\n')
    const { stderr } = await runImport(broken.folder, [broken.file, '--format', 'ansible'])
    assert.match(
      stderr,
      /\n {2}line 1: document is an array; it must be what "ansible-inventory -i FILE --list" prints\n$/,
    )
  })

  it('says how many rows of nothing but commas it has left out', async (t) => {
    for (const [rows, told] of [
      [',,,\n', '1 empty row'],
      [',,,\n,,\n', '2 empty rows'],
    ]) {
      const { folder, file } = await setUp(t, 'records.csv', csv + rows)
      const { code, stdout, stderr } = await runImport(folder, [file])
      assert.deepEqual([code, stdout], [0, ''])
      const done = `Imported to ${folder}: 1 added, 1 modified, 0 removed, 0 unchanged\n`
      assert.equal(stderr, `connbook: ${file}, line 4: left out ${told}\n${done}`)
    }
  })

  it('replaces all records with a file, or with standard input, when asked to', async (t) => {
    const { folder, file } = await setUp(t, 'ssh_config', 'Host a b\n  HostName x.example\n  User ops\n')
    const first = await runImport(folder, [file, '--mode', 'replace'])
    assert.equal(first.stderr, `Imported to ${folder}: 2 added, 0 modified, 8 removed, 0 unchanged\n`)
    assert.deepEqual(await names(folder), ['a', 'b'])
    const json = JSON.stringify([draft('c')])
    const second = await runImport(folder, ['-', '--mode=replace', '--format', 'json'], json)
    assert.equal(second.stderr, `Imported to ${folder}: 1 added, 0 modified, 2 removed, 0 unchanged\n`)
    assert.deepEqual(await names(folder), ['c'])
  })

  it('reports with --dry-run what would change, and changes nothing', async (t) => {
    const { folder, file } = await setUp(t, 'records.csv', csv)
    const before = await stateIn(folder)
    const { code, stdout, stderr } = await runImport(folder, [file, '--dry-run', '--mode', 'replace'])
    assert.deepEqual([code, stderr], [0, `Compared with ${folder}; nothing has changed\n`])
    const removed = kept
      .filter((name) => name !== 'kept 2')
      .map((name) => `  remove ${JSON.stringify(name)}\n`)
    assert.equal(
      stdout,
      `Read as utf-8, separated by ","\n  "name" becomes name\n  "hostname" becomes hostname\n  "port" becomes port\n  "username" becomes username\nWould add 1, modify 1, remove 7; 0 unchanged\n  add "new"\n  modify "kept 2": port 22 -> 2222\n${removed.join('')}`,
    )
    assert.deepEqual(await stateIn(folder), before)
  })

  it('names a record that would have too many labels, and changes nothing', async (t) => {
    const labels = Array.from({ length: 32 }, (_, i) => `k${i}=`).join(';')
    const { folder, file } = await setUp(
      t,
      'records.csv',
      `name,hostname,port,username,labels\nfull,h,1,u,${labels}\n`,
    )
    assert.equal((await runImport(folder, [file])).code, 0)
    const before = await photographBook(folder)
    const config = join(file, '..', 'ssh_config')
    await writeFile(config, '# All\nHost other full\n  User u\n  ProxyJump a\n')
    for (const more of [[], ['--dry-run']]) {
      const { code, stdout, stderr } = await runImport(folder, [config, ...more])
      assert.deepEqual([code, stdout], [1, ''])
      assert.equal(
        stderr,
        'connbook: Cannot import the records; nothing has changed\n  line 2, "full": labels must be at most 32; these are 33\n',
      )
    }
    assert.deepEqual(await photographBook(folder), before)
  })

  it('names every faulty row with its line and name, and changes nothing', async (t) => {
    const { folder, file } = await setUp(
      t,
      'records.csv',
      `${csv}x,,0,ops\nnew,h,22,ops\n${',,0,\n'.repeat(100)}`,
    )
    const before = await photograph(folder)
    const { code, stdout, stderr } = await runImport(folder, [file])
    assert.deepEqual([code, stdout], [1, ''])
    const lines = stderr.trimEnd().split('\n')
    assert.equal(
      lines[0],
      `connbook: Cannot import ${file}: 403 faults; nothing has changed; correct them, or leave these records out with --skip`,
    )
    assert.deepEqual(lines.slice(1, 4), [
      '  line 4, "x": hostname must not be empty',
      '  line 4, "x": port must be an integer from 1 to 65535',
      '  line 5, "new": name is the same as on line 3',
    ])
    assert.equal(lines.length, 1 + 100 + 1)
    assert.equal(lines.at(-1), '  and 303 more')
    assert.deepEqual(await photograph(folder), before)
  })

  it('advises --skip where that leaves a record, in any format', async (t) => {
    const [good, bad] = [22, 0].map((port) =>
      JSON.stringify({ name: `n${port}`, hostname: 'h', port, username: 'u' }),
    )
    const host = (port: number) => ({ ansible_port: port, ansible_user: 'u' })
    const hosts = { _meta: { hostvars: { a: host(22), b: host(0) } } }
    const files = [
      ['csv', `${HEADER}a,h,22,u\nb,h,0,u\n`, true],
      ['csv', `${HEADER}b,h,0,u\n`, false],
      ['csv', `${HEADER}a,h,22,u\n"b,h,22,u\nc,h,22,u\n`, false],
      ['json', `[${good},${bad}]`, true],
      ['json', `[${good},`, false],
      ['jsonl', `${good}\n${bad}\n`, true],
      ['pg-service', '[a]\nhost=h\nuser=u\n[b]\nhost=h\nuser u\n', true],
      ['ansible', JSON.stringify(hosts), true],
    ] as const
    for (const [format, text, isAdvised] of files) {
      const { folder, file } = await setUp(t, 'records', text)
      const refused = await runImport(folder, [file, '--format', format])
      assert.equal(refused.code, 1, text)
      const advice = '; correct them, or leave these records out with --skip'
      assert.match(
        refused.stderr,
        new RegExp(`faults?; nothing has changed${isAdvised ? advice : ''}\n`),
        text,
      )
      const skipped = await runImport(folder, [file, '--format', format, '--skip'])
      assert.equal(skipped.code, isAdvised ? 0 : 1, text)
    }
  })

  it('opens standard input only for -', async (t) => {
    const { folder, file } = await setUp(t, 'a.csv', csv)
    const openInput = () => assert.fail('it was opened')
    const { code, stderr } = await runCommand(['import', file, '--data', folder], { openInput })
    assert.equal(code, 0, stderr)
  })

  it('recreates in another folder the records that export wrote', async (t) => {
    for (const format of ['json', 'csv']) {
      const { stdout } = await runCommand(['export', '--format', format, '--data', used.folder])
      const other = await start(t, { environment: firstStartEnvironment })
      await other.stop()
      const { folder } = { folder: other.folder.path }
      const { code } = await runImport(folder, ['-', '--format', format], stdout)
      assert.equal(code, 0)
      const fields = ({ name, hostname, port, username }: (typeof used.current.records)[number]) => {
        return { name, hostname, port, username }
      }
      assert.deepEqual((await stateIn(folder)).records.map(fields), used.current.records.map(fields))
    }
  })

  const misuses: Record<string, readonly [args: readonly string[], code: number, message: RegExp]> = {
    'no file': [
      [],
      2,
      /^connbook: Write it as: connbook import FILE, or: connbook import - --format FORMAT\n$/,
    ],
    'two files': [['a.csv', 'b.csv'], 2, /Write it as/],
    'a file with an unknown extension': [
      ['records.txt'],
      2,
      /Cannot tell the format of "records.txt"; say --format with one of json, jsonl, csv, ssh-config/,
    ],
    'standard input without a format': [['-'], 2, /Cannot tell the format of "-"/],
    'a format that can only be exported': [['-', '--format', 'env'], 2, /Cannot import env; say --format/],
    'a missing file': [['absent.csv'], 1, /^connbook: Cannot read "absent.csv" \(ENOENT\); name a file/],
  }
  for (const [what, [args, code, message]] of Object.entries(misuses)) {
    it(`stops at ${what}`, async () => {
      const before = await photograph(used.folder)
      const found = await runImport(used.folder, args)
      assert.deepEqual([found.code, found.stdout], [code, ''])
      assert.match(found.stderr, message)
      assert.deepEqual(await photograph(used.folder), before)
    })
  }

  it('refuses a folder and text that is not UTF-8, and creates no chain of folders for a mistyped path', async (t) => {
    const { folder, file } = await setUp(t, 'records.csv', Buffer.from(`${HEADER}\xff`, 'latin1'))
    const bad = await runImport(folder, [file])
    assert.equal(bad.code, 1)
    assert.match(
      bad.stderr,
      /^connbook: Cannot import .*records\.csv: Line 2 is not valid UTF-8; .*iconv .*; nothing has changed\n$/,
    )
    await mkdir(`${file}.json`)
    const directory = await runImport(folder, [`${file}.json`])
    assert.match(directory.stderr, /: it is a folder; name a file\n$/)
    await writeFile(file, csv)
    const absent = await runImport(`${folder}-absent/data`, [file])
    assert.deepEqual([absent.code, /Cannot find anything of connbook/.test(absent.stderr)], [1, true])
  })

  it('says so when what a dry run finds cannot be written', async (t) => {
    const { folder, file } = await setUp(t, 'records.csv', csv)
    const run = (...more: string[]) =>
      runCommand(['import', file, '--data', folder, ...more], { outputError: 'ENOSPC' })
    const tried = await run('--dry-run')
    assert.equal(tried.code, 1)
    assert.match(tried.stderr, /Cannot show what would change \(ENOSPC\); nothing has changed/)
    assert.equal((await run()).code, 0)
    assert.ok((await names(folder)).includes('new'))
  })

  it('continues with the next id of the folder', async (t) => {
    const { folder, file } = await setUp(t, 'records.csv', csv)
    await runImport(folder, [file])
    const server = await start(t, { folder })
    const ask = createClient(server.url, await getToken(server.url, client))
    const { text } = await ask('GET', '/configurations/new')
    assert.equal(JSON.parse(text).configurations[0].id, used.current.nextId)
  })
})
