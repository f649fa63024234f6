import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { executable } from '../support/executable.ts'
import { noNamespaces } from '../support/namespace.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Runs a shell script on a new file system that has so many inodes and room for bytes; it is in the working folder. */
function runOn(folder: string, inodes: number, script: string) {
  const mount = `mount -t tmpfs -o size=64m,nr_inodes=${inodes} none ${folder} && cd ${folder} && ${script}`
  return spawnSync('unshare', ['--map-root-user', '--mount', 'sh', '-c', mount], {
    encoding: 'utf8',
    input: 'a good secret\n',
  })
}

describe('a file system without inodes', { skip: noNamespaces }, () => {
  it('is named as that, not as one without room', async (t) => {
    const folder = await temporaryFolder(t)
    const refused: string[] = []
    for (let inodes = 2; inodes < 20; inodes += 1) {
      const { status, stderr } = runOn(folder, inodes, `${executable} user add eve --data book`)
      if (status === 0) break
      refused.push(stderr)
    }
    assert.ok(refused.length > 1)
    for (const stderr of refused) assert.match(stderr, /inodes left/)
  })
})
