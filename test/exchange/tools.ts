import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import type { Configuration } from '../../src/store/configuration.ts'
import { labelOf } from '../../src/store/labels.ts'
import type { TestCertificate } from '../support/certificate.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Book, jumpInFile, writtenHops } from './hop-model.ts'
import { bare, exported, hostnames, meaningful, recordsOf } from './records.ts'

export const run = promisify(execFile)

/** A record as a tool reads it. */
type Seen = Pick<Configuration, 'hostname' | 'port' | 'username'> & { readonly labels?: unknown }

/** Records that have each text as name and as username. */
export const meaningfulRecords = recordsOf([
  ...meaningful.map((name, i) =>
    draft(name, { hostname: hostnames[i % hostnames.length] ?? '', port: 1 + i }),
  ),
  ...meaningful.map((username, i) => draft(`u${i}`, { username, port: 1000 + i })),
])

type ToLabels = (record: Configuration, book: Book) => unknown

/** @param toLabels What the record says to the tool by its labels. */
function expected(record: Configuration, book: Book, toLabels: ToLabels | undefined): Seen {
  const { hostname, port, username } = record
  const seen = { hostname: bare(hostname), port, username }
  return toLabels === undefined ? seen : { ...seen, labels: toLabels(record, book) }
}

/** Exports records, and asks a tool about each that the format can express. */
export async function assertSeen(
  t: TestContext,
  format: string,
  records: readonly Configuration[],
  look: (file: string, names: readonly string[]) => Promise<(Seen | undefined)[]>,
  toLabels?: ToLabels,
) {
  const { text, names } = await exported(format, records)
  const file = join(await temporaryFolder(t), 'export')
  await writeFile(file, text)
  const seen = await look(file, names)
  const wanted = records.filter(({ name }) => names.includes(name))
  for (const [i, record] of wanted.entries())
    assert.deepEqual(
      seen[i] && inSmallLetters(seen[i]),
      inSmallLetters(expected(record, { records, names }, toLabels)),
      `${JSON.stringify(record)} in ${JSON.stringify(text)}`,
    )
}

/** Host names ignore case, and ssh prints some of them in lower case. */
function inSmallLetters(seen: Seen): Seen {
  return { ...seen, hostname: seen.hostname.toLowerCase() }
}

/** Starts one ssh for each name, from one shell: faster than to start each from here. */
async function showEach(file: string, names: readonly string[]): Promise<string[]> {
  const script = 'for name do ssh -G -F "$0" -- "$name"; printf "\\0"; done'
  const { stdout } = await run('sh', ['-c', script, file, ...names], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.split('\0').slice(0, -1)
}

export async function askSsh(file: string, names: readonly string[]): Promise<Seen[]> {
  const shown = await showEach(file, names)
  assert.equal(shown.length, names.length)
  return shown.map((text) => {
    const value = (keyword: string) => new RegExp(`^${keyword} ([^\n]*)$`, 'm').exec(text)?.[1] ?? ''
    const labels = {
      jump: value('proxyjump').replaceAll(/[[\]]/g, ''),
      identity: value('identityfile').replace(/^~\/\.ssh\/id_rsa$/, ''),
    }
    return { hostname: value('hostname'), port: Number(value('port')), username: value('user'), labels }
  })
}

/** What a record says to ssh by its labels; an address has brackets or not, as ssh likes. */
export function sshLabelsOf(record: Configuration, { records, names }: Book) {
  return {
    // ssh does not print `none`.
    jump: (jumpInFile(record, { records, names }) ?? '').replace(/^none$/, '').replaceAll(/[[\]]/g, ''),
    identity: labelOf(record.labels, 'ssh.identityfile') ?? '',
  }
}

export async function askAnsible(file: string, names: readonly string[]): Promise<(Seen | undefined)[]> {
  const { stdout, stderr } = await run('ansible-inventory', ['-i', file, '--list'], {
    env: {
      PATH: process.env.PATH,
      HOME: join(file, '..'),
      LC_ALL: 'C.UTF-8',
      ANSIBLE_LOCALHOST_WARNING: 'false',
      // It takes such groups; by default it warns of them.
      ANSIBLE_TRANSFORM_INVALID_GROUP_CHARS: 'ignore',
    },
    maxBuffer: 64 * 1024 * 1024,
  })
  // It may warn of names of localhost, and of a host and a group of one name; it takes them.
  assert.doesNotMatch(stderr, /Failed|ERROR|skipping/i)
  // A plain object would not store `__proto__` as a key.
  const listed = JSON.parse(stdout, (key, value) =>
    key === 'hostvars' ? new Map(Object.entries(value as object)) : value,
  ) as { _meta: { hostvars: Map<string, Record<string, unknown>> } } & Record<string, { hosts?: string[] }>
  const { hostvars } = listed._meta
  assert.equal(hostvars.size, names.length, stdout)
  return names.map((name) => {
    const vars = hostvars.get(name)
    return (
      vars &&
      seenByAnsible(
        vars,
        Object.keys(listed).filter((group) => listed[group]?.hosts?.includes(name)),
      )
    )
  })
}

/** A host with its variables and groups. */
export function seenByAnsible(vars: Readonly<Record<string, unknown>>, groups: readonly string[]): Seen {
  return {
    hostname: String(vars.ansible_host),
    port: Number(vars.ansible_port),
    username: textOf(vars.ansible_user),
    labels: {
      jump: textOf(vars.ansible_ssh_common_args ?? ''),
      hasOwnSocket: vars.ansible_control_path !== undefined,
      identity: textOf(vars.ansible_ssh_private_key_file ?? ''),
      variables: Object.fromEntries(
        Object.entries(vars)
          .filter(([variable]) => variable.startsWith('connbook_'))
          .map(([variable, value]) => [variable, textOf(value)]),
      ),
      groups: groups.filter((group) => group !== 'ungrouped').sort(),
    },
  }
}

/** `ansible-inventory` shows so what it does not evaluate. */
function textOf(value: unknown): string {
  const { __ansible_unsafe: text = value } = Object(value) as { __ansible_unsafe?: unknown }
  return String(text)
}

/** What an export leaves out of the label; the last three are the machine that Ansible runs on. */
const noGroups = ['', 'all', 'ungrouped', '_meta', 'localhost', '127.0.0.1', '::1']

/** What a record says to Ansible by its labels. */
export function ansibleLabelsOf(record: Configuration, { records }: Book) {
  const address = (of: Configuration) => `${bare(of.hostname).toLowerCase()} ${of.port}`
  const isShared = records.some((other) => other !== record && address(other) === address(record))
  const { labels = {} } = record
  const others = Object.entries(labels).filter(([key]) => !/^(?:group|kind|ssh\..*|pg\..*)$/.test(key))
  const jump = labelOf(labels, 'ssh.proxyjump')
  return {
    hasOwnSocket: isShared || (jump !== undefined && jump !== 'none'),
    jump: jump === undefined ? '' : `-J '${jump === 'none' ? jump : writtenHops(record, records)}'`,
    identity: labelOf(labels, 'ssh.identityfile') ?? '',
    variables: Object.fromEntries(
      others.map(([key, value]) => [`connbook_label_${key.replaceAll(/[^a-z0-9]/g, '_')}`, value]),
    ),
    groups: [...new Set((labelOf(labels, 'group') ?? '').split(',').map((group) => group.trim()))]
      .filter((group) => !noGroups.includes(group) && !/\{[{%#]/.test(group))
      .sort(),
  }
}

/** The same from a script that prints the file. */
export async function askAnsibleByScript(file: string, names: readonly string[]) {
  const script = join(file, '..', 'inventory')
  await writeFile(script, `#!/bin/sh\ncat '${file}'\n`, { mode: 0o700 })
  return askAnsible(script, names)
}

export async function askShell(file: string, names: readonly string[]): Promise<(Seen | undefined)[]> {
  const { stdout } = await run('env', ['-i', 'sh', '-c', '. "$0" && set', file], {
    maxBuffer: 64 * 1024 * 1024,
  })
  // `set` would print values quoted for a shell.
  const script = 'for v in "$@"; do eval "printf \'%s\\0\' \\"\\$$v\\""; done'
  const variables = [...stdout.matchAll(/^(CONNBOOK_[A-Z0-9_]*)_NAME=/gm)].map(([, prefix]) => prefix ?? '')
  assert.equal(variables.length, names.length)
  const wanted = variables.flatMap((prefix) =>
    ['NAME', 'HOSTNAME', 'PORT', 'USERNAME'].map((field) => `${prefix}_${field}`),
  )
  const values = await run('sh', ['-c', `. "$0"; ${script}`, file, ...wanted])
  const fields = values.stdout.split('\0')
  const byName = new Map<string, Seen>()
  for (let i = 0; i + 3 < fields.length; i += 4) {
    const [name = '', hostname = '', port, username = ''] = fields.slice(i, i + 4)
    byName.set(name, { hostname: bare(hostname), port: Number(port), username })
  }
  return names.map((name) => byName.get(name))
}

/** The real program: Debian's psql is a Perl script that looks for it, and takes ten times as long. */
export const psql =
  globSync('/usr/lib/postgresql/*/bin/psql')
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1) ?? 'psql'

/** What a client says first. */
interface Startup {
  readonly address: string
  readonly username: string
  readonly database: string
}

/** What a record says to psql by its labels; the tests themselves name a database for the others. */
export function databaseOf({ labels }: Configuration): string {
  return labelOf(labels, 'pg.dbname') ?? 'x'
}

/**
 * A PostgreSQL server that reads the startup message, and refuses the connection.
 *
 * @param certificate What it answers a request for TLS with; without one it says no.
 */
export async function listenAsPostgres(t: TestContext, certificate?: TestCertificate) {
  const seen: Startup[] = []
  const take = (socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      if (bytes.length === 8) {
        socket.write(certificate === undefined ? 'N' : 'S')
        if (certificate === undefined) return
        socket.removeAllListeners('data')
        const { key, cert } = certificate
        take(new TLSSocket(socket, { isServer: true, key, cert }))
        return
      }
      const text = bytes.toString('utf8', 8).split('\0')
      const parameterOf = (parameter: string) => text[text.indexOf(parameter) + 1] ?? ''
      const address = (socket.localAddress ?? '').replace('::ffff:', '')
      seen.push({ address, username: parameterOf('user'), database: parameterOf('database') })
      const fields = Buffer.from('SFATAL\0VFATAL\0C28000\0Mrefused\0\0')
      const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4])
      socket.end(Buffer.concat([head, fields]))
    })
  }
  const server = createServer(take)
  server.listen(0)
  await once(server, 'listening')
  t.after(() => void server.close())
  return { seen, port: (server.address() as AddressInfo).port }
}

export async function askPsql(
  file: string,
  records: readonly Configuration[],
  port: number,
  seen: readonly Startup[],
) {
  const found: Seen[] = []
  for (const record of records) {
    const quoted = record.name.replaceAll(/['\\]/g, '\\$&')
    const environment = {
      PATH: process.env.PATH,
      PGSERVICEFILE: file,
      PGSSLMODE: 'disable',
      PGGSSENCMODE: 'disable',
      PGCONNECT_TIMEOUT: '60',
      LC_ALL: 'C.UTF-8',
    }
    const before = seen.length
    const database = labelOf(record.labels, 'pg.dbname') === undefined ? ' dbname=x' : ''
    await assert.rejects(run(psql, ['-w', `service='${quoted}'${database}`], { env: environment }), /refused/)
    assert.equal(seen.length, before + 1)
    const { address = '', username = '', database: labels = '' } = seen.at(-1) ?? {}
    found.push({ hostname: address, port, username, labels })
  }
  return found
}

/** Exports records with these names and usernames, and asks psql about each. */
export async function assertSeenByPsql(
  t: TestContext,
  texts: readonly (readonly [name: string, username: string])[],
): Promise<void> {
  const { seen, port } = await listenAsPostgres(t)
  const local = ['127.0.0.1', '127.0.0.2', '127.3.4.5']
  const records = recordsOf(
    texts.map(([name, username], i) => ({
      name,
      username,
      port,
      hostname: local[i % local.length] ?? '',
      // Also as the name of a database, which a user name may be.
      ...(i % 3 === 0 ? { labels: { 'pg.dbname': username, 'pg.sslmode': 'prefer', env: 'x' } } : {}),
    })),
  )
  const namedIn = (names: readonly string[]) => records.filter(({ name }) => names.includes(name))
  await assertSeen(
    t,
    'pg-service',
    records,
    (file, names) => askPsql(file, namedIn(names), port, seen),
    databaseOf,
  )
}
