import assert from 'node:assert/strict'
import { readBlock } from '../manual/published.ts'
import { makeCertificate } from '../support/certificate.ts'
import { type RunningServer, startExecutable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { usedFolder } from '../support/service.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { type Nginx, startNginx } from './nginx.ts'
import type { Site } from './site-checks.ts'

const CHAPTER = 'proxy'

/** connbook behind nginx, both set up as the manual says. */
export interface PublishedSite extends Site {
  readonly nginx: Nginx
  readonly server: RunningServer
  readonly folder: string
  /** The port that connbook listens on. */
  readonly port: number
  /** Starts connbook again, on the same folder and port. */
  startServer(): Promise<RunningServer>
  /** Starts nginx again, on the same port. */
  startNginx(): Promise<Nginx>
}

/** A text that occurs once in the manual's configuration, and its replacement. */
export type Change = readonly [published: string, instead: string]

/**
 * Starts both.
 *
 * @param changes Changes of nginx's configuration besides ports and files.
 * @param without A flag of the published command line to leave out, as written there.
 * @param flags Further flags for connbook.
 * @param socket The Unix socket that connbook listens on, instead of a port.
 */
export async function startPublishedSite(
  t: Lifetime,
  {
    changes = [],
    without,
    flags = [],
    socket,
  }: { changes?: readonly Change[]; without?: string; flags?: readonly string[]; socket?: string } = {},
): Promise<PublishedSite> {
  const published = await startPublishedServer(t, { without, flags, socket })
  const { server, folder, port, startServer } = published
  const { pathname } = new URL(server.url)
  const configuration = readPublished('nginx')
  const { certPath, keyPath } = await makeCertificate(t)
  const site = (frontPort: number) =>
    [
      ['server 127.0.0.1:8080;', `server 127.0.0.1:${port};`] as const,
      ['listen 443 ssl;', `listen 127.0.0.1:${frontPort} ssl;`] as const,
      ['/etc/ssl/connbook/fullchain.pem', certPath] as const,
      ['/etc/ssl/connbook/privkey.pem', keyPath] as const,
      ...changes,
    ].reduce(put, configuration)
  const nginx = await startNginx(t, site)
  const origin = `https://127.0.0.1:${nginx.port}`
  return {
    url: origin + (pathname === '/' ? '' : pathname),
    origin,
    nginx,
    server,
    folder,
    port,
    startServer,
    startNginx: () => startNginx(t, site, nginx.port),
  }
}

/** The connbook behind any proxy. */
export type PublishedServer = Pick<PublishedSite, 'server' | 'folder' | 'port' | 'startServer'>

/** Starts connbook with the manual's flags for a proxy; parameters as in `startPublishedSite`. */
export async function startPublishedServer(
  t: Lifetime,
  {
    without,
    flags = [],
    socket,
  }: { without?: string | undefined; flags?: readonly string[]; socket?: string | undefined } = {},
): Promise<PublishedServer> {
  const command =
    /^connbook systemd --host 127\.0\.0\.1 (.+?) \|/m.exec(readBlock(CHAPTER, 'shell'))?.[1] ??
    assert.fail('no command line')
  const published = without === undefined ? command : put(command, [without, ''])
  const folder = await usedFolder(t)
  const args = [...published.split(' ').filter((arg) => arg !== ''), '--data', folder, ...flags]
  const place = socket === undefined ? {} : { place: ['--listen', `unix:${socket}`] }
  const start = (port: number) => startExecutable(t, args, { port, ...place })
  // No other process is given this port while connbook restarts.
  const server = await start(await freePort())
  const port = Number(new URL(server.url).port)
  return { server, folder, port, startServer: () => start(port) }
}

/** The configuration that the manual has for a proxy. */
export function readPublished(proxy: 'nginx' | 'caddyfile' | 'haproxy'): string {
  return readBlock(CHAPTER, proxy)
}

/** Makes a change in a text of the manual. */
export function put(text: string, [published, instead]: Change): string {
  const parts = text.split(published)
  assert.equal(parts.length, 2, `the manual must have ${JSON.stringify(published)} once`)
  return parts.join(instead)
}
