import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { getToken, logIn, pathOf } from '../support/api.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient, recordsIn, type ShownRecord } from '../support/http-client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const SERVICES = '/etc/services'
const PER_PAGE = 100
const MEMBERS = ['id', 'name', 'hostname', 'port', 'username']

describe('every TCP service of Debian', () => {
  const skip = existsSync(SERVICES) ? false : `${SERVICES} is missing: apt-get install netbase`

  it('is added through the API, listed in order, and survives kill -9', { skip }, async (t) => {
    const folder = await temporaryFolder(t)
    const data = join(folder, 'data')
    const first = await startExecutable(t, ['--data', data])
    const credentials: unknown = JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))
    const cookie = await logIn(first.url, credentials)
    const bearer = await getToken(first.url, credentials)
    // One connection for all.
    const agent = new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    const asUser = createClient(first.url, cookie, { agent })
    const asClient = createClient(first.url, bearer, { agent })

    const services = await readTcpServices()
    assert.ok(services.length > 150, `only ${services.length} services in ${SERVICES}`)
    for (const service of services) {
      const added = await asUser('POST', '/configurations/', { body: service })
      assert.equal(added.status, 200, added.text)
      assert.equal(added.headers.location, pathOf(service.name))
    }

    const paged: ShownRecord[] = []
    for (let page = 0; page * PER_PAGE < services.length; page++) {
      const answer = await asClient('GET', `/configurations/?sort=port&page=${page}&per_page=${PER_PAGE}`)
      assert.equal(answer.headers['x-total-count'], String(services.length))
      assert.equal(/rel="next"/.test(String(answer.headers.link)), (page + 1) * PER_PAGE < services.length)
      paged.push(...recordsIn(answer))
    }
    assert.deepEqual(
      paged.map(({ port, name }) => `${port} ${name}`),
      await sortedByPort(join(folder, 'unsorted'), services),
    )
    for (const record of paged) assert.deepEqual(Object.keys(record), MEMBERS)

    const renamed = await asClient('PATCH', pathOf('ssh/tcp'), { body: { name: 'secure-shell/tcp' } })
    assert.equal(renamed.status, 200)
    const deleted = await asUser('DELETE', pathOf('telnet/tcp'))
    assert.equal(deleted.status, 209)
    const acknowledged = await asUser('GET', '/configurations/')
    assert.equal(await first.stop('SIGKILL'), 'SIGKILL')

    const second = await startExecutable(t, ['--data', data])
    for (const credential of [cookie, bearer]) {
      const found = await createClient(second.url, credential)('GET', '/configurations/')
      assert.equal(found.text, acknowledged.text)
      assert.equal(found.headers.etag, acknowledged.headers.etag)
    }
    assert.equal(recordsIn(acknowledged).length, services.length - 1)
    const ssh = await createClient(second.url, bearer)('GET', pathOf('secure-shell/tcp'))
    assert.equal(recordsIn(ssh)[0]?.port, 22)
    assert.equal(await second.stop(), 0)
  })
})

/** Real names only: the aliases follow the port. */
async function readTcpServices() {
  const lines = (await readFile(SERVICES, 'utf8')).split('\n')
  return lines.flatMap((line) => {
    const [, service, port] = /^([^\s#]+)\s+(\d+)\/tcp\b/.exec(line) ?? []
    if (service === undefined) return []
    return [{ name: `${service}/tcp`, hostname: 'localhost', port: Number(port), username: 'root' }]
  })
}

/** The services as the system's own `sort` orders them; it keeps the order of equal ports, as ids do. */
async function sortedByPort(
  path: string,
  services: readonly { port: number; name: string }[],
): Promise<string[]> {
  await writeFile(path, services.map(({ port, name }) => `${port} ${name}\n`).join(''))
  const { stdout } = await promisify(execFile)('sort', ['--stable', '--numeric-sort', '--key=1,1', path])
  return stdout.trimEnd().split('\n')
}
