import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { missing } from '../../support/debian.ts'
import { executable } from '../../support/executable.ts'
import { extent } from '../../support/extent.ts'
import { usedFolder } from '../../support/service.ts'
import { oneFileThread } from '../../support/strace.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const quick = ['openat', 'fsync,fdatasync', 'read,pread64']
const calls = extent({
  quick,
  full: [
    ...quick,
    'statx',
    'newfstatat',
    'access,faccessat,faccessat2',
    'getdents64',
    'fcntl',
    'fchown',
    'close',
  ],
})
const errors = extent({ quick: ['EIO'], full: ['EIO', 'ENOSPC', 'EACCES'] })
const files = [...Object.values(dataFiles), 'audit.jsonl']
/** Each call of a start that fails is one run. */
const CALLS_MAX = extent({ quick: 6, full: 16 })

/** What a start prints last when it fails. */
const inOneLine = /^connbook: Cannot (?:use|make data folder|read) "[^"\n]+"[^\n]*; [^\n]+\n$/

describe('a start whose disk fails', { skip: missing('strace') }, () => {
  for (const isUsed of [false, true]) {
    for (const call of calls) {
      for (const error of errors) {
        // That is how the system says that another process has the lock.
        if (call === 'fcntl' && error === 'EACCES') continue
        const what = `${isUsed ? 'of a used folder' : 'of a new folder'}, at ${call.split(',')[0]} with ${error}`
        it(`${what}, names the file and the remedy`, async (t) => {
          const base = isUsed ? await usedFolder(t) : undefined
          let failed = 0
          for (let when = 1; when <= CALLS_MAX; when++) {
            const data = join(await temporaryFolder(t), 'data')
            if (base !== undefined) await cp(base, data, { recursive: true })
            const paths = ['', ...files].flatMap((file) => ['-P', join(data, file)])
            const through = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', ...paths]
            const inject = `inject=${call}:error=${error}:when=${when}`
            const { code, said } = await startThrough([...through, '-e', inject], data)
            // The audit trail and the revocations are also written later, when the server runs.
            if (said === '') continue
            failed++
            assert.equal(code, 1)
            assert.match(said, inOneLine, `call ${when}`)
            assert.ok(said.includes(data), said)
          }
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
