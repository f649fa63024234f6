import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { startExecutable } from '../support/executable.ts'
import { shownFingerprint } from '../support/tls-client.ts'
import { openHostShell } from './host.ts'
import { blocksOf, readChapterNamed } from './published.ts'
import { stepsOf } from './steps.ts'

const notRoot = process.getuid?.() === 0 ? false : 'needs root: a key of another owner may not have mode 0640'

describe('the commands for certbot in the chapter "https"', { skip: missing('openssl') || notRoot }, () => {
  it('put certificates in place that the unit names, at first and at a renewal', async (t) => {
    const host = await openHostShell(t)
    const steps = blocksOf(readChapterNamed('https'))
      .filter(({ language }) => language === 'shell')
      .flatMap(({ text }) => stepsOf(host.moved(text)))
    for (const { command } of steps) assert.equal((await host.run(command)).code, 0, command)
    const place = join(host.root, 'etc/connbook')
    assert.equal((await stat(join(place, 'privkey.pem'))).mode & 0o777, 0o640)

    const unit = await readFile(join(host.root, 'etc/systemd/system/connbook.service'), 'utf8')
    assert.match(unit, /^User=connbook$/m)
    const flags = unit.match(/--tls-(?:cert|key)=\S+/g) ?? []
    const server = await startExecutable(t, [...flags, '--data', join(host.root, 'var/lib/connbook')])
    const first = await shownFingerprint(t, server.url)

    const renewal = steps.find(({ command }) => command.includes('certbot')) ?? assert.fail('no certbot')
    assert.equal((await host.run(renewal.command)).code, 0)
    const reload = 'systemctl try-reload-or-restart connbook'
    assert.equal((await readFile(host.calls, 'utf8')).split('\n').filter((line) => line === reload).length, 2)
    server.process.kill('SIGHUP')
    await eventually('the new certificate', async () => (await shownFingerprint(t, server.url)) !== first)
  })
})
