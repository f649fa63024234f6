import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeRoutes } from '../../src/resources/routes.ts'
import { runCommand } from '../support/command.ts'

describe('connbook openapi', () => {
  it('prints what the server with the same options answers', async () => {
    const plain = await runCommand(['openapi'])
    assert.deepEqual([plain.code, plain.stderr], [0, ''])
    assert.equal(plain.stdout, describeRoutes({ basePath: '', metricsPublic: false }))
    const other = await runCommand(['openapi', '--base-path', '/x', '--metrics-public'])
    assert.equal(other.stdout, describeRoutes({ basePath: '/x', metricsPublic: true }))
    const without = await runCommand(['openapi', '--no-console'])
    const options = { basePath: '', metricsPublic: false, noConsole: true }
    assert.equal(without.stdout, describeRoutes(options))
    assert.ok(plain.stdout.includes('"/console"') && !without.stdout.includes('/console'))
  })

  it('fails when it cannot print all of it', async () => {
    const { code, stderr } = await runCommand(['openapi'], { outputError: 'ENOSPC' })
    assert.deepEqual([code, stderr], [1, 'connbook: Cannot show the document (ENOSPC)\n'])
  })
})
