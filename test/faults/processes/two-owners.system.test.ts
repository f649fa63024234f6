import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, cp, mkdir, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { eventually } from '../../support/eventually.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { noNamespaces } from '../../support/namespace.ts'
import { asPlainAccount, giveToPlainAccount } from '../../support/plain-account.ts'
import { usedFolder } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startBusy } from './busy-server.ts'

/** As in a container: own processes, network and mounts. */
const inContainer = ['unshare', '--map-root-user', '-pfnm', '--mount-proc', '--kill-child']

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
