import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { extent } from '../support/extent.ts'
import { admin } from '../support/service.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { screenshot } from './support/screenshot.ts'
import { showsNames } from './support/shows-names.ts'

const WIDTHS = extent({ quick: [320], full: [1440, 768, 320] })
const record = (id: number) => ({
  name: `web-${id}`,
  hostname: `web-${id}.example.net`,
  port: 22,
  username: 'deploy',
  labels: { env: 'prod', group: 'web,db' },
})
const long = {
  name: 'a name of many words '.repeat(12).trim().slice(0, 255),
  hostname: `${'long-label-of-a-host.'.repeat(10)}example.net`,
  port: 65535,
  username: 'שלום \u202e'.repeat(20),
  labels: { 'ssh.identityfile': '~/.ssh/id_ed25519_of_somebody_with_a_long_name', note: 'x'.repeat(255) },
}

/** Each view and state: how to come there from the list. */
const views: Record<string, (page: Page) => Promise<void>> = {
  list: async () => {},
  'nothing-found': async (page) => {
    await page.getByRole('searchbox').fill('nothing')
    await page.getByText('No record has what you search for.').waitFor()
  },
  add: async (page) => {
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('dialog').waitFor()
  },
  record: async (page) => {
    await page.getByRole('button', { name: /^a name of many words/ }).click()
    await page.getByRole('dialog').waitFor()
  },
  history: async (page) => {
    await page.getByRole('button', { name: /^a name of many words/ }).click()
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByText(/Complete since|No record/).waitFor()
  },
  exchange: async (page) => {
    await page.getByRole('link', { name: 'Bring in, take out' }).click()
    await page.getByText('Take out', { exact: true }).first().waitFor()
  },
  operation: async (page) => {
    await page.getByRole('link', { name: 'Operation' }).click()
    await page.getByText('Ready · takes changes').waitFor()
  },
  keys: async (page) => {
    await page.getByRole('button', { name: 'Keys' }).click()
  },
}

describe('the look of the console', { skip: noChromium }, () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no finding of axe and nothing to scroll sideways, ${colorScheme}`, async (t) => {
      const server = await startConsoleServer(t, {
        records: Array.from({ length: 60 }, (_, place) => record(place + 1)),
      })
      assert.equal((await server.api('POST', '/configurations/', { body: long })).status, 200)
      const page = await openConsole(t, { server, colorScheme, expected: { statuses: [404] } })
      await screenshot(page, 'login')
      await assertAccessible(page)
      await logIn(page, admin.username, admin.password)
      for (const [name, goThere] of Object.entries(views)) {
        await page.goto(`${server.url}/console/`)
        await page.getByText('1–50 of 61').waitFor()
        await goThere(page)
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 })
          assert.equal(
            await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
            true,
            `${name} is wider than ${width} px`,
          )
          await screenshot(page, name)
          await assertAccessible(page)
        }
      }
    })
  }

  it('lets one sort in a narrow window, too', async (t) => {
    const server = await startConsoleServer(t, { records: [record(2), { ...record(1), port: 99 }] })
    const page = await openConsole(t, { server, viewport: { width: 320, height: 800 } })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–2 of 2').waitFor()
    await page.getByRole('link', { name: 'Port' }).click()
    await showsNames(page, ['web-2', 'web-1'])
  })
})
