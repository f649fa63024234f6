import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, cp, mkdir, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { getToken, logIn } from '../../support/api.ts'
import { runCommand } from '../../support/command.ts'
import { eventually } from '../../support/eventually.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { extent } from '../../support/extent.ts'
import { createClient, namesIn } from '../../support/http-client.ts'
import { noNamespaces } from '../../support/namespace.ts'
import { asPlainAccount, giveToPlainAccount } from '../../support/plain-account.ts'
import { admin, client, firstStartEnvironment, start, usedFolder } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const AT_ONCE = extent({ quick: 3, full: 20 })
/** Between two changes of a busy client, so that others get their share of the machine. */
const PAUSE_MS = 5
const COMMANDS = extent({ quick: 3, full: 20 })

/** As in a container: own processes, network and mounts. */
const inContainer = ['unshare', '--map-root-user', '-pfnm', '--mount-proc', '--kill-child']

/** A server with a client that keeps changing records. */
async function startBusy(t: TestContext) {
  let isOver = false
  t.after(() => {
    isOver = true
  })
  const folder = join(await temporaryFolder(t), 'data')
  await cp(await usedFolder(t), folder, { recursive: true })
  const server = await startExecutable(t, ['--data', folder])
  const headers = await getToken(server.url, client)
  const ask = createClient(server.url, headers)
  const added: string[] = []
  const adding = (async () => {
    for (; !isOver; await pause(PAUSE_MS)) {
      const name = `n ${added.length}`
      const answer = await ask('POST', '/configurations/', { body: draft(name) }).catch((error: unknown) => {
        if (!isOver) throw error
      })
      if (answer === undefined) return
      assert.equal(answer.status, 200, answer.text)
      added.push(name)
    }
  })()
  const addMore = async () => {
    const before = added.length
    await Promise.race([adding, eventually('it goes on', () => added.length > before + 2)])
  }
  return {
    folder,
    addMore,
    /** Kills the server and checks that the next one starts at once and finds everything. */
    async killAndCheck() {
      isOver = true
      await adding
      assert.equal(await server.stop('SIGKILL'), 'SIGKILL')
      const next = await start(t, { folder, environment: {} })
      const found = await createClient(next.url, headers)('GET', '/configurations/')
      assert.deepEqual(namesIn(found), added)
      await next.stop()
    },
  }
}

/** Starts another server, which must find the folder in use. */
async function assertInUse(path: string, options: Parameters<typeof runExecutable>[1] = {}) {
  const { code, stdout, stderr } = await runExecutable(['--port', '0', '--data', path], options)
  assert.deepEqual([code, stdout], [75, ''], stderr)
  assert.match(
    stderr,
    /^connbook: Cannot use data folder "[^"\n]+": another process has it \([^)\n]+\); [^\n]+\n$/,
  )
}

describe('a second server on a folder', () => {
  it('ends with exit code 75, whatever path it is given; after kill -9 of the first, the next starts at once', async (t) => {
    const { folder, addMore, killAndCheck } = await startBusy(t)
    const link = `${folder}.link`
    await symlink(folder, link)
    const cwd = dirname(folder)
    await addMore()
    await assertInUse(folder)
    await assertInUse(link)
    await assertInUse(`${folder}/../${basename(folder)}/`)
    await assertInUse(basename(folder), { cwd })
    await assertInUse('.', { cwd: folder })
    await addMore()
    await killAndCheck()
  })

  it('ends with exit code 75 in another container and through a bind mount', {
    skip: noNamespaces,
  }, async (t) => {
    const { folder, addMore, killAndCheck } = await startBusy(t)
    const mounted = `${folder}.mounted`
    await mkdir(mounted)
    const script = `mount --bind '${folder}' '${mounted}' && exec "$0" "$@"`
    await addMore()
    await assertInUse(folder, { through: inContainer })
    await assertInUse(mounted, { through: [...inContainer, '/bin/sh', '-c', script] })
    await addMore()
    await killAndCheck()
  })

  it('ends with exit code 75 while the first runs in another container', {
    skip: noNamespaces,
  }, async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    await cp(await usedFolder(t), folder, { recursive: true })
    const first = await startExecutable(t, ['--data', folder], { through: inContainer })
    await assertInUse(folder)
    await assertInUse(folder, { through: inContainer })
    await first.stop('SIGKILL')
    // The killed process is the server's parent; the kernel ends the server a moment later.
    await eventually('the folder is free', async () => {
      const next = await startExecutable(t, ['--data', folder]).catch(() => undefined)
      return (await next?.stop()) === 0
    })
  })

  it('is refused even if the lock file is read-only', async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    await cp(await usedFolder(t), folder, { recursive: true })
    await chmod(join(folder, dataFiles.lock), 0o400)
    await giveToPlainAccount(dirname(folder))
    await giveToPlainAccount(folder)
    const attempts = await Promise.allSettled(
      [1, 2].map(() => startExecutable(t, ['--data', folder], { through: [...asPlainAccount] })),
    )
    const started = attempts.filter(({ status }) => status === 'fulfilled')
    assert.ok(started.length < 2, 'both have taken the folder')
  })
})

describe('servers that start at the same instant', () => {
  for (const what of ['a folder that is still to be made', 'a folder that has been in use']) {
    it(`on ${what}: one serves, the others end with exit code 75`, async (t) => {
      const folder = join(await temporaryFolder(t), 'data')
      const environment = firstStartEnvironment
      if (what.includes('in use')) await cp(await usedFolder(t), folder, { recursive: true })
      const attempts = await Promise.allSettled(
        Array.from({ length: AT_ONCE }, () => startExecutable(t, ['--data', folder], { environment })),
      )
      const servers = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
      const refusals = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []))
      for (const refusal of refusals)
        assert.match(
          String(refusal),
          /exit 75: connbook: [^\n]+ another process has it \([^)\n]+\); [^\n]+\n$/,
        )
      assert.equal(servers.length, 1)

      const [server] = servers
      const url = server?.url ?? ''
      const ask = createClient(url, await getToken(url, client))
      assert.equal((await ask('POST', '/configurations/', { body: draft('n') })).status, 200)
      assert.equal(await server?.stop(), 0)
    })
  }
})

describe('account commands while a server runs', () => {
  it('succeed or report that another command is running, and lose nothing, however many run at once', async (t) => {
    const { folder, addMore, killAndCheck } = await startBusy(t)
    await addMore()
    const ids = Array.from({ length: COMMANDS }, (_, i) => `client-${i}`)
    const finished = await Promise.all(
      ids.map(async (id) => ({ id, ...(await runExecutable(['client', 'add', id, '--data', folder])) })),
    )
    for (const { code, stdout, stderr } of finished) {
      if (code === 0) assert.equal(stderr, '')
      else
        assert.match(
          `${code} ${stdout}${stderr}`,
          /^1 connbook: [^\n]+: another command is doing so( \(pid \d+[^)\n]*\))?; [^\n]+\n$/,
        )
    }
    const added = finished.filter(({ code }) => code === 0).map(({ id }) => id)
    const { stdout } = await runCommand(['client', 'list', '--data', folder])
    const listed = stdout.trim().split('\n')
    assert.deepEqual(listed.toSorted(), [client.client_id, ...added].toSorted())
    await addMore()
    await killAndCheck()
  })

  it('keep all changes when they change different accounts at once', async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    await cp(await usedFolder(t), folder, { recursive: true })
    const server = await startExecutable(t, ['--data', folder])
    const session = await logIn(server.url, admin)
    const run = async (words: string, input = '') =>
      (await runExecutable([...words.split(' '), '--data', folder], { input })).code
    const codes = await Promise.all([
      run('user passwd admin', 'brand new'),
      run('client rotate script'),
      run('user add eve', 'a secret'),
      run('client add ci'),
    ])
    assert.deepEqual(codes, [0, 0, 0, 0])
    let attempts = 0
    // Each from another address: ten failures from one would throttle the right password, too.
    const status = async (path: string, body: unknown) => {
      const localAddress = `127.0.0.${2 + (attempts++ % 250)}`
      return (await createClient(server.url, {}, { localAddress })('POST', path, { body })).status
    }
    for (const [username, password] of [
      ['eve', 'a secret'],
      ['admin', 'brand new'],
    ]) {
      await eventually(`the password of ${username} is taken up`, async () => {
        return (await status('/login', { username, password })) === 200
      })
    }
    assert.notEqual(await status('/v1/auth/token', client), 200)
    assert.equal((await createClient(server.url, session)('GET', '/configurations/')).status, 403)
    const { stdout } = await runCommand(['client', 'list', '--data', folder])
    assert.deepEqual(stdout.trim().split('\n').toSorted(), ['ci', 'script'])
  })
})
