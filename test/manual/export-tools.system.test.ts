import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runLine } from '../deploy/shell.ts'
import { missing } from '../support/debian.ts'
import { executable, runExecutable } from '../support/executable.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readBlock } from './published.ts'

/** The first bytes of a client of PostgreSQL that asks for TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** A port that notes how each client begins, and then hangs up. */
async function listen(t: TestContext) {
  const begun: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      if (bytes.equals(SSL_REQUEST)) return void socket.write('N')
      begun.push(bytes.toString('latin1'))
      socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return { begun, port: (server.address() as AddressInfo).port }
}

describe('the commands of other tools in the chapter "export"', () => {
  const lines = readBlock('export', 'bash').trimEnd().split('\n')

  async function runFor(t: TestContext, format: string) {
    const line = lines.find((each) => each.includes(`--format ${format} `)) ?? assert.fail(format)
    const { begun, port } = await listen(t)
    const cwd = await temporaryFolder(t)
    const data = await usedFolder(t)
    const file = join(cwd, 'records.csv')
    await writeFile(file, `name,hostname,port,username\ndb/main,127.0.0.1,${port},postgres\n`)
    assert.equal((await runExecutable(['import', file, '--data', data])).code, 0)
    const env = {
      PATH: [dirname(executable), process.env.PATH].join(':'),
      HOME: cwd,
      LC_ALL: 'C.UTF-8',
      CONNBOOK_DATA: data,
    }
    const { code, output } = await runLine(line, { cwd, env })
    return { begun, code, output }
  }

  it('are one for each tool', () => assert.equal(lines.length, 4))

  it('let ssh find the host', { skip: missing('ssh') }, async (t) => {
    const { begun, output } = await runFor(t, 'ssh-config')
    assert.match(begun[0] ?? output, /^SSH-2\.0-/)
  })

  it('let Ansible find the host', { skip: missing('ssh') || missing('ansible-inventory') }, async (t) => {
    const { begun, output } = await runFor(t, 'ansible')
    assert.match(begun[0] ?? output, /^SSH-2\.0-/)
    assert.match(output, /db\/main \| UNREACHABLE!/)
  })

  it('let psql find the server and the user', { skip: missing('psql') }, async (t) => {
    const { begun, output } = await runFor(t, 'pg-service')
    assert.ok(begun[0]?.includes('user\0postgres\0'), output)
  })

  it('give a shell its variables', async (t) => {
    assert.deepEqual(await runFor(t, 'env'), { begun: [], code: 0, output: '127.0.0.1\n' })
  })
})
