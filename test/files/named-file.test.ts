import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readNamedFile } from '../../src/files/named-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('a secret file that others can read', { skip: process.platform === 'win32' }, () => {
  it('needs a chmod, but in a volume of Kubernetes another definition', async (t) => {
    const folder = await temporaryFolder(t)
    await mkdir(join(folder, '..first'))
    await writeFile(join(folder, '..first', 'key'), 'secret')
    await chmod(join(folder, '..first', 'key'), 0o644)
    await symlink('..first', join(folder, '..data'))
    await symlink('..data/key', join(folder, 'key'))
    const read = (path: string) => () =>
      readNamedFile({ flag: '--tls-key', path, kind: 'PEM file', bytesMax: 10 }, { isSecret: true })
    assert.throws(read(join(folder, '..first', 'key')), /mode 0644\); run: chmod 600 '/)
    const message = /mode 0644\); it is of a volume of Kubernetes: give the volume defaultMode: 0440, and /
    assert.throws(read(join(folder, 'key')), { name: 'KeyExposedError', message })
  })
})
