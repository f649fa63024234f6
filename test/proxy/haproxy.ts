import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeCertificate } from '../support/certificate.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import { canConnect } from './can-connect.ts'
import {
  type Change,
  type PublishedServer,
  put,
  readPublished,
  startPublishedServer,
} from './published-site.ts'
import type { Site } from './site-checks.ts'

/** For the `skip` of a test. */
export const noHaproxy = missing('haproxy')

/** connbook behind HAProxy, both set up as the manual says. */
export interface HaproxySite extends PublishedServer, Site {
  /** What HAProxy has logged so far, requests and states of connbook. */
  readonly log: () => string
}

/**
 * Starts both, and waits until HAProxy takes connections; it is stopped when the test or the suite ends.
 *
 * @param changes Changes of HAProxy's configuration besides port and files.
 * @param without A flag of the published command line to leave out, as written there.
 * @param flags Further flags for connbook.
 */
export async function startHaproxySite(
  t: Lifetime,
  {
    changes = [],
    without,
    flags,
  }: { changes?: readonly Change[]; without?: string; flags?: readonly string[] } = {},
): Promise<HaproxySite> {
  const published = await startPublishedServer(t, { without, ...(flags ? { flags } : {}) })
  const { cert, key } = await makeCertificate(t)
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'site.pem'), cert + key)
  const port = await freePort()
  const site = [
    ['bind :443 ', `bind 127.0.0.1:${port} `] as const,
    ['127.0.0.1:8080', `127.0.0.1:${published.port}`] as const,
    ['/etc/ssl/connbook/site.pem', join(folder, 'site.pem')] as const,
    ...changes,
  ].reduce(put, readPublished('haproxy'))
  const log = await startHaproxy(t, folder, site, port)
  const origin = `https://127.0.0.1:${port}`
  const { pathname } = new URL(published.server.url)
  return { ...published, url: origin + (pathname === '/' ? '' : pathname), origin, log }
}

/**
 * Debian's own settings, without its user, its chroot and its socket. Without the time for checks, connbook would be
 * down for a HAProxy that asks every 50 ms whenever the machine is busy.
 */
const DEBIAN_SETTINGS = `global
    log stdout format raw local0
    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets

defaults
    log global
    mode http
    option httplog
    option dontlognull
    timeout connect 5000
    timeout client 50000
    timeout server 50000
    timeout check 20000

`

async function startHaproxy(t: Lifetime, folder: string, site: string, port: number): Promise<() => string> {
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, DEBIAN_SETTINGS + site)
  // Rejects with what it prints if there is as much as a warning.
  await promisify(execFile)('haproxy', ['-c', '-dW', '-f', file])
  const child = spawn('haproxy', ['-db', '-f', file], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await exited
  })
  let [log, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (log += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await eventually(`HAProxy listens on port ${port}`, () => {
    if (child.exitCode !== null) assert.fail(`haproxy could not start: ${stderr}`)
    return canConnect(port)
  })
  return () => log
}
