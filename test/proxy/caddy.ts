import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCertificate } from '../support/certificate.ts'
import { missing } from '../support/debian.ts'
import { freePort } from '../support/free-port.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import {
  type Change,
  type PublishedServer,
  put,
  readPublished,
  startPublishedServer,
} from './published-site.ts'
import type { Site } from './site-checks.ts'

/** For the `skip` of a test. */
export const noCaddy = missing('caddy')

/** connbook behind Caddy, both set up as the manual says. */
export interface CaddySite extends PublishedServer, Site {}

/**
 * Starts both, and waits until Caddy takes connections; it is stopped when the test or the suite ends.
 *
 * @param changes Changes of the Caddyfile besides port and files.
 * @param without A flag of the published command line to leave out, as written there.
 * @param flags Further flags for connbook.
 * @param socket The Unix socket that connbook listens on, instead of a port.
 */
export async function startCaddySite(
  t: Lifetime,
  {
    changes = [],
    without,
    flags,
    socket,
  }: { changes?: readonly Change[]; without?: string; flags?: readonly string[]; socket?: string } = {},
): Promise<CaddySite> {
  const published = await startPublishedServer(t, { without, socket, ...(flags ? { flags } : {}) })
  const { certPath, keyPath } = await makeCertificate(t)
  const origin = `https://127.0.0.1:${await freePort()}`
  const site = [
    ['connbook.example.net {', `${origin} {`] as const,
    ['127.0.0.1:8080', `127.0.0.1:${published.port}`] as const,
    ['/etc/ssl/connbook/fullchain.pem', certPath] as const,
    ['/etc/ssl/connbook/privkey.pem', keyPath] as const,
    ...changes,
  ].reduce(put, readPublished('caddyfile'))
  await startCaddy(t, site)
  const { pathname } = new URL(published.server.url)
  return { ...published, url: origin + (pathname === '/' ? '' : pathname), origin }
}

/**
 * By default, Caddy would make a certificate authority for an address outside the certificate, and install it on the
 * machine. Clients that connect to an IP address send no name to choose a certificate by.
 */
const GLOBAL_OPTIONS = `{
  auto_https off
  skip_install_trust
  admin off
  default_bind 127.0.0.1
  default_sni localhost
  servers {
    protocols h1 h2
  }
}
`

async function startCaddy(t: Lifetime, site: string): Promise<void> {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'Caddyfile'), GLOBAL_OPTIONS + site)
  const child = spawn('caddy', ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'], {
    cwd: folder,
    // All of its own files go into the folder.
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const { promise: serving, resolve } = Promise.withResolvers<void>()
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    if (stderr.includes('"msg":"serving initial configuration"')) resolve()
  })
  await Promise.race([serving, exited.then(([code]) => assert.fail(`caddy: exit ${code}: ${stderr}`))])
  assert.doesNotMatch(stderr, /installing root certificate/)
}
