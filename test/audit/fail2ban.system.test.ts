import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { readBlock } from '../manual/published.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { createClient } from '../support/http-client.ts'
import { admin, client, start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const [FILTER, JAIL] = ['Ban addresses with fail2ban', 'The jail']

describe('the fail2ban filter of the manual', { skip: missing('fail2ban-regex') }, () => {
  it('finds address and time of each failed attempt and of nothing else, in any time zone', async (t) => {
    const folder = await temporaryFolder(t)
    const filter = join(folder, 'connbook.conf')
    await writeFile(filter, readBlock('audit', 'ini', FILTER))

    const service = await start(t, { flags: ['--trust-proxy', '127.0.0.1'] })
    const ask = createClient(service.url)
    const from = (address: string) => ({ 'X-Forwarded-For': address })
    const wrong = { ...admin, password: 'wrong' }
    await ask('POST', '/login', { body: admin, headers: from('192.0.2.1') })
    await ask('POST', '/login', { body: wrong, headers: from('192.0.2.2') })
    await ask('POST', '/login', { body: { ...wrong, username: 'nobody' }, headers: from('2001:db8::2') })
    const wrongClient = { ...client, client_secret: 'wrong' }
    await ask('POST', '/v1/auth/token', { body: wrongClient, headers: from('192.0.2.3') })
    // A record name that looks like a log line, and a request id that imitates one.
    const forged = '","event":"login_failed","address":"192.0.2.99"'
    const name = `{"time":"2026-01-01T00:00:00.000Z${forged}`
    const Authorization = await service.bearer()
    const headers = { Authorization, ...from('192.0.2.4'), 'X-Request-Id': '","address":"192.0.2.98"' }
    await ask('POST', '/configurations/', {
      body: { name, hostname: 'h', port: 1, username: forged },
      headers,
    })

    const trail = join(service.folder.path, 'audit.jsonl')
    await eventually('the change is listed', async () =>
      (await readFile(trail, 'utf8')).includes('192.0.2.99'),
    )
    const text = await readFile(trail, 'utf8')
    const lines = text.split('\n').slice(0, -1)
    const expected = ['192.0.2.2', '2001:db8::2', '192.0.2.3'].map((address) => {
      const line = lines.find((one) => one.includes(address)) ?? assert.fail(address)
      return [address, Math.floor(Date.parse((JSON.parse(line) as { time: string }).time) / 1000)]
    })
    for (const TZ of ['UTC', 'Asia/Tokyo']) {
      const { stdout } = await run('fail2ban-regex', ['-o', 'row', trail, filter], {
        env: { ...process.env, TZ },
      })
      const found = Array.from(stdout.matchAll(/^\['([^']+)',\s+([\d.]+)/gm), ([, address, seconds]) => [
        address,
        Number(seconds),
      ])
      assert.deepEqual(found, expected)
    }
  })
})

describe('the fail2ban jail of the manual', { skip: missing('fail2ban-server') }, () => {
  it('bans the address that fails five times, and no other', async (t) => {
    const folder = await temporaryFolder(t)
    const service = await start(t, { flags: ['--trust-proxy', '127.0.0.1'] })
    const bans = join(folder, 'bans')
    await writeFile(bans, '')
    const jail = readBlock('audit', 'ini', JAIL)
    const published = '/var/lib/connbook/audit.jsonl'
    assert.ok(jail.includes(`logpath = ${published}\n`))
    // Bans are only written down here.
    const files = {
      'filter.d/connbook.conf': readBlock('audit', 'ini', FILTER),
      'jail.d/connbook.conf': jail.replace(published, join(service.folder.path, 'audit.jsonl')),
      'action.d/note.conf': `[Definition]\nactionban = echo <ip> <port> >> ${bans}\n`,
      'jail.local': '[DEFAULT]\nbanaction = note\naction = note[port="%(port)s"]\n',
      'fail2ban.local': `[Definition]\nlogtarget = ${join(folder, 'log')}\ndbfile = None\n`,
    }
    for (const name of ['fail2ban.conf', 'jail.conf', 'paths-debian.conf', 'paths-common.conf'])
      await cp(join('/etc/fail2ban', name), join(folder, name))
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(folder, name, '..'), { recursive: true })
      await writeFile(join(folder, name), text)
    }
    const ask = createClient(service.url)
    const from = (address: string) => ({ 'X-Forwarded-For': address })
    const fail = async (address: string, times: number) => {
      for (let i = 0; i < times; i++)
        await ask('POST', '/login', { body: { ...admin, password: 'wrong' }, headers: from(address) })
    }
    await fail('192.0.2.4', 4)
    await fail('192.0.2.5', 5)

    const place = ['-c', folder, '-s', join(folder, 'socket'), '-p', join(folder, 'pid')]
    const server = spawn('fail2ban-server', [...place, '-f', 'start'], { stdio: 'ignore' })
    t.after(() => void server.kill('SIGKILL'))
    await eventually('the start of fail2ban', () => existsSync(join(folder, 'socket')))
    await eventually('a ban', async () => (await readFile(bans, 'utf8')).includes('\n'))
    assert.equal(await readFile(bans, 'utf8'), '192.0.2.5 8080\n')
  })
})
