import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { warnOfVariables } from '../../src/commands/serve.ts'
import { createMemoryLog } from '../support/memory-log.ts'

function linesFor(environment: NodeJS.ProcessEnv): string[] {
  const log = createMemoryLog()
  warnOfVariables(environment, log)
  return log.lines.map((line) => line.replace(/"time":"[^"]*",/, '').trim())
}

describe('the variables of a server', () => {
  it('are logged when they are empty', () => {
    assert.deepEqual(
      linesFor({ CONNBOOK_PORT: '', CONNBOOK_ADMIN_PASSWORD_FILE: '', CONNBOOK_HOST: '::1' }),
      ['{"level":"info","event":"variables_empty","variables":"CONNBOOK_PORT CONNBOOK_ADMIN_PASSWORD_FILE"}'],
    )
  })

  it('are logged when their name is nearly one that is known', () => {
    assert.deepEqual(linesFor({ CONNBOOK_PROT: '80', CONNBOOK_ADMIN_PASWORD: 'x' }), [
      '{"level":"warn","event":"variable_unknown","variable":"CONNBOOK_PROT","remedy":"did you mean CONNBOOK_PORT?"}',
      '{"level":"warn","event":"variable_unknown","variable":"CONNBOOK_ADMIN_PASWORD","remedy":"did you mean CONNBOOK_ADMIN_PASSWORD?"}',
    ])
  })

  it('are not logged when they have effect, or belong to others', () => {
    const others = {
      CONNBOOK_PORT: '80',
      PORT: '',
      HOME: '',
      CONNBOOK_SERVICE_HOST: '10.0.0.1',
      CONNBOOK_SERVICE_PORT: '80',
      CONNBOOK_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      CONNBOOK_PORT_8080_TCP_ADDR: '10.0.0.1',
      CONNBOOK_PORT_8080_TCP_PORT: '8080',
      CONNBOOK_PORT_8080_TCP_PROTO: 'tcp',
    }
    assert.deepEqual(linesFor(others), [])
  })
})
