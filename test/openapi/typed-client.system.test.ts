import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, symlink, writeFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { client, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const nodeModules = join(import.meta.dirname, '../../node_modules')
const tsc = join(nodeModules, 'typescript/bin/tsc')

/** Makes the types of a document; throws where it has something that they cannot say. */
async function typesOf(document: string): Promise<string> {
  // The compiler of the project has no programming interface; that inside of this package has the one that is needed.
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(
        specifier === 'typescript' && context.parentURL?.includes('/openapi-typescript/')
          ? '@ts-morph/common/dist/typescript.js'
          : specifier,
        context,
      ),
  })
  try {
    const { default: makeTypes, astToString } = await import('openapi-typescript')
    return astToString(await makeTypes(document, { silent: true }))
  } finally {
    hooks.deregister()
  }
}

describe('a client on types that are made from the OpenAPI document', () => {
  it('compiles, and works', async (t) => {
    const folder = await temporaryFolder(t)
    const { stdout: document } = await runExecutable(['openapi'])
    await symlink(nodeModules, join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'openapi.d.ts'), await typesOf(document))
    const program = join(folder, 'client.mts')
    await copyFile(join(import.meta.dirname, 'client.mts'), program)

    const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2025', '--types', 'node']
    const strict = [
      '--exactOptionalPropertyTypes',
      '--noUncheckedIndexedAccess',
      '--allowImportingTsExtensions',
    ]
    const run = promisify(execFile)
    await run(process.execPath, [tsc, ...flags, ...strict, program], { cwd: folder }).catch(
      ({ stdout }: { stdout: string }) => assert.fail(stdout),
    )

    const server = await startExecutable(t, ['--data', await usedFolder(t)])
    const args = [program, server.url, client.client_id, client.client_secret]
    const { stdout } = await run(process.execPath, args, { cwd: folder })
    assert.deepEqual(JSON.parse(stdout), {
      record: { id: 1, name: 'db/main', hostname: '192.0.2.7', port: 5432, username: 'postgres' },
      holder: ['db/main'],
      port: 5433,
      listed: ['db/main'],
      removed: 209,
      problem: 'urn:connbook:problem:unknown_name',
    })
  })
})
