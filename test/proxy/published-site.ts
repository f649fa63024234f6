import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeCertificate } from '../support/certificate.ts'
import { type RunningServer, startExecutable } from '../support/executable.ts'
import { usedFolder } from '../support/service.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { type Nginx, startNginx } from './nginx.ts'
import type { Site } from './site-checks.ts'

/** connbook behind nginx, both set up as the README says. */
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

/** A text that occurs once in the README, and its replacement. */
export type Change = readonly [published: string, instead: string]

/**
 * Starts both.
 *
 * @param changes Changes of nginx's configuration besides ports and files.
 * @param without A flag of the published command line to leave out, as written there.
 * @param flags Further flags for connbook.
 */
export async function startPublishedSite(
  t: Lifetime,
  {
    changes = [],
    without,
    flags = [],
  }: { changes?: readonly Change[]; without?: string; flags?: readonly string[] } = {},
): Promise<PublishedSite> {
  const published = await startPublishedServer(t, { without, flags })
  const { server, folder, port, startServer } = published
  const { pathname } = new URL(server.url)
  const configuration = await readPublished('nginx')
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

/** Starts connbook with the README's command line for a proxy; parameters as in `startPublishedSite`. */
export async function startPublishedServer(
  t: Lifetime,
  { without, flags = [] }: { without?: string | undefined; flags?: readonly string[] } = {},
): Promise<PublishedServer> {
  const command =
    /^connbook --host 127\.0\.0\.1 (.+)$/m.exec(await readProxySection())?.[1] ??
    assert.fail('no command line')
  const published = without === undefined ? command : put(command, [without, ''])
  const folder = await usedFolder(t)
  const args = [...published.split(' ').filter((arg) => arg !== ''), '--data', folder, ...flags]
  const start = (port: number) => startExecutable(t, args, { port })
  const server = await start(0)
  const port = Number(new URL(server.url).port)
  return { server, folder, port, startServer: () => start(port) }
}

/** The configuration that the README has for a proxy. */
export async function readPublished(proxy: 'nginx' | 'caddyfile' | 'haproxy'): Promise<string> {
  const block = new RegExp(`\`\`\`${proxy}\\n(.*?)\`\`\``, 's')
  return block.exec(await readProxySection())?.[1] ?? assert.fail(`no ${proxy} configuration`)
}

/** Makes a change in a text of the README. */
export function put(text: string, [published, instead]: Change): string {
  const parts = text.split(published)
  assert.equal(parts.length, 2, `the README must have ${JSON.stringify(published)} once`)
  return parts.join(instead)
}

async function readProxySection(): Promise<string> {
  const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8')
  return (
    /\n## Behind a proxy\n(.*?)\n## /s.exec(readme)?.[1] ?? assert.fail('the README says nothing of a proxy')
  )
}
