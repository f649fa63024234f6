import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { getToken } from '../support/api.ts'
import { missing } from '../support/debian.ts'
import { executable, startExecutable } from '../support/executable.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { client, firstStartEnvironment } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const NOBODY = 65_534

/** The system calls that systemd means by the names of sets and of single calls. */
async function expandCalls(names: readonly string[]): Promise<Set<string>> {
  const { stdout } = await run('systemd-analyze', ['syscall-filter', '--no-pager'])
  const sets = new Map<string, string[]>()
  let members: string[] = []
  for (const line of stdout.split('\n')) {
    const name = line.trim()
    if (line.startsWith('@')) {
      members = []
      sets.set(name, members)
    } else if (/^ +[@a-z]/.test(line)) members.push(name)
  }
  const expand = (name: string): string[] =>
    name.startsWith('@')
      ? (sets.get(name) ?? assert.fail(`systemd knows no ${name}`)).flatMap(expand)
      : [name]
  return new Set(names.flatMap(expand))
}

/** The system calls that the printed unit permits: those it allows, without those it denies. */
async function allowedCalls(unit: string): Promise<string[]> {
  const filters = Array.from(unit.matchAll(/^SystemCallFilter=(.*)$/gm), ([, value = '']) => value)
  const allowed = await expandCalls(
    filters.filter((value) => !value.startsWith('~')).flatMap((value) => value.split(' ')),
  )
  const denied = await expandCalls(
    filters.filter((value) => value.startsWith('~')).flatMap((value) => value.slice(1).split(' ')),
  )
  return [...allowed].filter((name) => !denied.has(name))
}

/** As root it would give its files to the owner of the folder; but no unit runs it as root. */
async function asNobody(folder: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return []
  await chown(folder, NOBODY, NOBODY)
  return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
}

/** Starts the executable and uses it for a while. */
async function work(t: TestContext, folder: string, through: readonly string[]) {
  const server = await startExecutable(t, ['--data', join(folder, 'data'), '--access-log'], {
    environment: firstStartEnvironment,
    through,
  })
  const ask = createClient(server.url, await getToken(server.url, client))
  const body = draft('web1')
  assert.equal((await ask('POST', '/configurations/', { body })).status, 200)
  assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['web1'])
  const pid = Number(/"event":"listening".*"pid":(\d+)/.exec(server.stderr())?.[1])
  return { server, pid }
}

describe('the executable in its systemd unit', () => {
  it('needs only the system calls that the unit allows', {
    skip: missing('systemd-analyze') || missing('strace'),
  }, async (t) => {
    const { stdout: unit } = await run(executable, ['systemd'])
    assert.deepEqual(unit.match(/^SystemCallErrorNumber=.*$/m)?.[0], 'SystemCallErrorNumber=EPERM')
    const allowed = await allowedCalls(unit)
    assert.ok(allowed.includes('futex') && !allowed.includes('mount') && !allowed.includes('setrlimit'))
    // strace does not know every name; all other calls of the machine fail, as under the filter.
    const calls = allowed.map((name) => `?${name}`).join()
    const folder = await temporaryFolder(t)
    const filtered = [
      ...(await asNobody(folder)),
      ...['strace', '--follow-forks', '--quiet=all', `--output=${join(folder, 'trace')}`],
      ...['-e', `inject=!${calls}:error=EPERM`],
    ]
    const [command = '', ...rest] = filtered
    const { stderr } = await run(command, [...rest, 'nice', '--adjustment=1', 'true'])
    assert.match(stderr, /cannot set niceness: Operation not permitted/)

    const { server, pid } = await work(t, folder, filtered)
    // strace forwards no signal, and ends as its command does.
    const ended = once(server.process, 'exit')
    process.kill(pid, 'SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })

  it('needs only what ProcSubset=pid shows of /proc', async (t) => {
    const script = 'mount -t proc -o subset=pid proc /proc && exec "$0" "$@"'
    const inNamespace = [
      ...['unshare', '--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'],
      ...['sh', '-c', script],
    ]
    const isPossible = await run(inNamespace[0] ?? '', [...inNamespace.slice(1), 'true']).then(
      () => true,
      () => false,
    )
    if (!isPossible)
      return t.skip('this machine allows no user namespaces, or has no unshare (Debian: util-linux)')
    await work(t, await temporaryFolder(t), inNamespace)
  })
})
