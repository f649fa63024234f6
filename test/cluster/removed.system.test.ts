import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '../..')

it('without the folder of the cluster, types fail only in the two files that reach it', async (t) => {
  const copy = await temporaryFolder(t)
  for (const name of ['src', 'package.json', 'tsconfig.json'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const compile = () => promisify(execFile)(join(copy, 'node_modules/.bin/tsc'), [], { cwd: copy })
  await compile()

  await rm(join(copy, 'src/cluster'), { recursive: true })
  const stdout = await compile().then(
    () => assert.fail('it compiles'),
    (error: { stdout: string }) => error.stdout,
  )
  const failed = [...stdout.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, file]) => file)
  assert.deepEqual([...new Set(failed)].sort(), [
    'src/commands/used-cluster.ts',
    'src/service/cluster-state.ts',
  ])
})
