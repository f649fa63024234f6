import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type Browser, chromium } from 'playwright-core'
import { missing } from '../../support/debian.ts'

/** For the `skip` of a suite. */
export const noChromium = missing('chromium-headless-shell')

let browser: Promise<Browser> | undefined
let home = ''

after(async () => {
  await (await browser)?.close()
  if (home !== '') await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
})

/** The one browser of the process, started by the first call and closed after the last test. */
export function getChromium(): Promise<Browser> {
  browser ??= launch()
  return browser
}

async function launch(): Promise<Browser> {
  home = await mkdtemp(join(tmpdir(), 'connbook-test-browser-'))
  return chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    // Tests run as root, too, for whom chromium has no sandbox.
    chromiumSandbox: false,
    args: [
      '--disable-dev-shm-usage',
      '--no-proxy-server',
      // A page that asks another host is found out, and nothing leaves this one.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
    // Crash reports and settings of the desktop go below these.
    env: { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: home },
  })
}
