import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { Spectral } from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { describeRoutes } from '../../src/resources/routes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const redocly = join(import.meta.dirname, '../../node_modules/@redocly/cli/bin/cli.js')
/** It would send what was run, and ask for a newer version. */
const OFFLINE = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

const documents = ['', '/like/this'].map((basePath) => {
  return { basePath, text: describeRoutes({ basePath, metricsPublic: false }) }
})

describe('linters of OpenAPI documents', () => {
  /** The rules that redocly says each document breaks, then the faulty one: one run, because its start takes longest. */
  let byRedocly: string[][] = []
  before(async () => {
    byRedocly = await lintByRedocly([...documents.map(({ text }) => text), faultyDocument()])
  })

  for (const [i, { basePath, text }] of documents.entries()) {
    it(`find nothing with the base path "${basePath}": redocly, recommended rules`, () => {
      assert.deepEqual(byRedocly[i], [])
    })

    it(`find nothing with the base path "${basePath}": spectral:oas`, async () => {
      assert.deepEqual(await lintBySpectral(text), [])
    })
  }

  it('find a description that is missing', async () => {
    assert.deepEqual(await lintBySpectral(faultyDocument()), [
      'operation-description',
      'operation-operationId-valid-in-url',
    ])
    assert.deepEqual(byRedocly[documents.length], ['operation-operationId-url-safe'])
  })
})

function faultyDocument(): string {
  const document = JSON.parse(describeRoutes({ basePath: '', metricsPublic: false }))
  document.paths['/login'].post.description = undefined
  document.paths['/login'].post.operationId = 'a b'
  return JSON.stringify(document)
}

/** @returns Of each document the rules that are broken, warnings included. */
async function lintByRedocly(texts: readonly string[]): Promise<string[][]> {
  const folder = await temporaryFolder({ after })
  const files = texts.map((_, i) => `${i}.json`)
  for (const [i, text] of texts.entries()) await writeFile(join(folder, `${i}.json`), text)
  const args = [redocly, 'lint', '--extends', 'recommended', '--format', 'json', ...files]
  const options = { cwd: folder, env: { ...process.env, ...OFFLINE }, maxBuffer: 16 * 1024 * 1024 }
  // It fails where it finds an error.
  const { stdout } = await promisify(execFile)(process.execPath, args, options).catch(
    (failed: { stdout: string }) => failed,
  )
  // One JSON text behind the other, in the order of the files.
  const reports = stdout.split(/(?<=^\})(?=\{)/m).map((report) => JSON.parse(report))
  assert.equal(reports.length, texts.length, stdout)
  return reports.map(({ problems }) => problems.map(({ ruleId }: { ruleId: string }) => ruleId))
}

async function lintBySpectral(text: string): Promise<string[]> {
  const spectral = new Spectral()
  spectral.setRuleset({ extends: [oas] } as unknown as Parameters<typeof spectral.setRuleset>[0])
  const found = await spectral.run(JSON.parse(text))
  return found.map(({ code }) => String(code)).sort()
}
