import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { Spectral } from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { describeRoutes } from '../../src/resources/routes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const redocly = join(import.meta.dirname, '../../node_modules/@redocly/cli/bin/cli.js')
/** It would send what was run, and ask for a newer version. */
const OFFLINE = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

describe('linters of OpenAPI documents', () => {
  for (const basePath of ['', '/like/this']) {
    const text = describeRoutes({ basePath, metricsPublic: false })

    it(`find nothing with the base path "${basePath}": redocly, recommended rules`, async (t) => {
      assert.deepEqual(await lintByRedocly(await temporaryFolder(t), text), [])
    })

    it(`find nothing with the base path "${basePath}": spectral:oas`, async () => {
      assert.deepEqual(await lintBySpectral(text), [])
    })
  }

  it('find a description that is missing', async (t) => {
    const document = JSON.parse(describeRoutes({ basePath: '', metricsPublic: false }))
    document.paths['/login'].post.description = undefined
    document.paths['/login'].post.operationId = 'a b'
    const text = JSON.stringify(document)
    assert.deepEqual(await lintBySpectral(text), [
      'operation-description',
      'operation-operationId-valid-in-url',
    ])
    assert.deepEqual(await lintByRedocly(await temporaryFolder(t), text), ['operation-operationId-url-safe'])
  })
})

/** @returns The rules that are broken, warnings included. */
async function lintByRedocly(folder: string, text: string): Promise<string[]> {
  const file = join(folder, 'openapi.json')
  await writeFile(file, text)
  const args = [redocly, 'lint', '--extends', 'recommended', '--format', 'json', file]
  const options = { cwd: folder, env: { ...process.env, ...OFFLINE }, maxBuffer: 16 * 1024 * 1024 }
  // It fails where it finds an error.
  const { stdout } = await promisify(execFile)(process.execPath, args, options).catch(
    (failed: { stdout: string }) => failed,
  )
  return JSON.parse(stdout).problems.map(({ ruleId }: { ruleId: string }) => ruleId)
}

async function lintBySpectral(text: string): Promise<string[]> {
  const spectral = new Spectral()
  spectral.setRuleset({ extends: [oas] } as unknown as Parameters<typeof spectral.setRuleset>[0])
  const found = await spectral.run(JSON.parse(text))
  return found.map(({ code }) => String(code)).sort()
}
