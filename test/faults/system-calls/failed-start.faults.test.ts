import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { missing } from '../../support/debian.ts'
import { executable } from '../../support/executable.ts'
import { usedFolder } from '../../support/service.ts'
import { oneFileThread } from '../../support/strace.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** What each call fails with: no call with what the system never reports for it, nor a lock as if another had it. */
const faults: Readonly<Record<string, readonly string[]>> = {
  openat: ['EIO', 'ENOSPC', 'EACCES'],
  'fsync,fdatasync': ['EIO', 'ENOSPC'],
  'read,pread64': ['EIO'],
  statx: ['EIO', 'EACCES'],
  newfstatat: ['EIO', 'EACCES'],
  'access,faccessat,faccessat2': ['EIO', 'EACCES'],
  getdents64: ['EIO'],
  fcntl: ['EIO', 'ENOSPC'],
  close: ['EIO', 'ENOSPC'],
}
/** Each start makes these. */
const usual = ['openat', 'fsync,fdatasync', 'read,pread64']
const files = [...Object.values(dataFiles), 'audit.jsonl']
/** Each call of a start that fails is one run. */
const CALLS_MAX = 16
const AT_ONCE = 2

/** What a start prints last when it fails. */
const inOneLine = /^connbook: Cannot (?:use|make data folder|read) "[^"\n]+"[^\n]*; [^\n]+\n$/

describe('a start whose disk fails', { skip: missing('strace') }, () => {
  for (const isUsed of [false, true]) {
    for (const [call, errors] of Object.entries(faults)) {
      for (const error of errors) {
        const what = `${isUsed ? 'of a used folder' : 'of a new folder'}, at ${call.split(',')[0]} with ${error}`
        it(`${what}, names the file and the remedy`, async (t) => {
          const base = isUsed ? await usedFolder(t) : undefined
          let failed = 0
          /** @returns Whether there was such a call. */
          const failAt = async (when: number) => {
            const folder = await temporaryFolder(t)
            const [data, log] = [join(folder, 'data'), join(folder, 'strace.log')]
            if (base !== undefined) await cp(base, data, { recursive: true })
            const paths = ['', ...files].flatMap((file) => ['-P', join(data, file)])
            const through = ['strace', '-D', '-f', '-qq', '-o', log, ...paths]
            const inject = `inject=${call}:error=${error}:when=${when}`
            const { code, said } = await startThrough([...through, '-e', inject], data)
            // The audit trail and the revocations are also written later, when the server runs.
            if (said === '') return (await readFile(log, 'utf8')).includes('(INJECTED)')
            failed++
            assert.equal(code, 1)
            assert.match(said, inOneLine, `call ${when}`)
            assert.ok(said.includes(data), said)
            return true
          }
          for (let when = 1, isMore = true; isMore && when <= CALLS_MAX; when += AT_ONCE) {
            const tried = await Promise.allSettled(
              Array.from({ length: AT_ONCE }, (_, i) => failAt(when + i)),
            )
            for (const one of tried) if (one.status === 'rejected') throw one.reason
            isMore = tried.every((one) => one.status === 'fulfilled' && one.value)
          }
          if (usual.includes(call)) assert.ok(failed > 0, 'nothing was tried')
          t.diagnostic(`${failed} calls failed`)
        })
      }
    }
  }
})

/** Starts a server, and stops it once it listens. @returns Its exit code, and what it printed besides its log. */
async function startThrough([command = '', ...words]: readonly string[], data: string) {
  const args = ['--host', '127.0.0.1', '--port', '0', '--data', data]
  const child = spawn(command, [...words, executable, ...args], {
    env: { PATH: process.env.PATH, ...oneFileThread },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    if (stderr.includes('"event":"listening"')) child.kill()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, said: stderr.replace(/^\{.*\}\n/gm, '') }
}
