import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import type { ServerStatus } from '../../src/console/status-figures.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'

const picture = (page: Page, title: string) => page.getByRole('region', { name: title, exact: true })

const LOOK_MS = 10_000

/** Lets the page's clock go on to its next look, and waits for that. */
async function lookAgain(page: Page): Promise<void> {
  const looked = page.waitForResponse('**/v1/status')
  await page.clock.runFor(LOOK_MS)
  await (await looked).finished()
}

/** The moments of a server that has run for a while: in the last one, 4 records, before that 3. */
function withPast(status: ServerStatus): ServerStatus {
  const last = Date.parse(status.moments.at(-1)?.time ?? '')
  const moments = [3, 2, 1, 0].map((ago) => ({
    ...status.moments[0],
    time: new Date(last - ago * LOOK_MS).toISOString(),
    records: ago === 0 ? 4 : 3,
    requests: { '2xx': 0.5, '3xx': 0, '4xx': 0, '5xx': 0 },
    answers: { p50: 0.001, p99: 0.002 },
    routes: { '/configurations/': { p50: 0.003, p99: 0.004 } },
  }))
  return { ...status, moments, last_backup: new Date(last - 3_600_000).toISOString() }
}

describe('the status in the console', { skip: noChromium }, () => {
  it('says at once how the server does', async (t) => {
    const server = await startConsoleServer(t, { records: 3 })
    const page = await openConsole(t, { server, expected: { hasLostConnections: true } })
    await page.clock.install()
    await page.goto(`${server.url}/console/?view=operation`)
    await logIn(page, reader.username, reader.password)
    await page.getByText(/^Ready · takes changes · version \d.* free on the disk · no backup yet$/).waitFor()
    const states = page.getByRole('region', { name: 'Status' }).getByRole('status')
    assert.deepEqual(await states.allInnerTexts(), ['Ready · takes changes'])
    await picture(page, 'Records').getByText('records 3').waitFor()
    await assertAccessible(page)
    await page.getByRole('link', { name: 'Records' }).click()
    await page.getByRole('link', { name: 'Status' }).click()
    assert.match(page.url(), /\?view=status$/)

    await server.stop()
    const failed = page.waitForEvent('requestfailed')
    await page.clock.runFor(LOOK_MS)
    await failed
    await page.getByText('Cannot reach the server. Nothing that you typed is lost').waitFor()
    await server.startAgain()
    await lookAgain(page)
    await page.getByText('Nothing that you typed is lost').waitFor({ state: 'hidden' })
    await picture(page, 'Records').getByText('records 3').waitFor()
  })

  it('has pictures of the last 15 minutes, also by keyboard and as a table', async (t) => {
    const server = await startConsoleServer(t, { records: 3 })
    const page = await openConsole(t, { server })
    await page.route('**/v1/status', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: withPast(await response.json()) })
    })
    await logIn(page, reader.username, reader.password)
    await page.getByRole('link', { name: 'Status' }).click()
    await page.getByText(/last backup 1 h 0 min ago/).waitFor()
    const records = picture(page, 'Records')
    await records.getByText('records 4').waitFor()
    await picture(page, 'Requests by status').getByText('2xx 0.5/s').waitFor()
    await records.getByRole('group', { name: 'Records: arrow keys' }).focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await records.getByText(/^\d\d:\d\d:\d\d: records 3$/).waitFor()
    await page.keyboard.press('ArrowRight')
    await records.getByText(/^\d\d:\d\d:\d\d: records 4$/).waitFor()
    await page.keyboard.press('ArrowLeft')
    await records.getByText(/^\d\d:\d\d:\d\d: records 3$/).waitFor()
    await page.keyboard.press('Tab')
    await records.getByText(/^\d\d:\d\d:\d\d: records 3$/).waitFor({ state: 'hidden' })
    await records.getByText('Table').click()
    assert.deepEqual(await records.locator('tbody tr').allInnerTexts(), ['records\t4\t3\t4'])
    const times = picture(page, 'Time to answer')
    await times.getByText('p99 2 ms').waitFor()
    await page.getByLabel('Route').selectOption('/configurations/')
    await times.getByText('p99 4 ms').waitFor()
  })
})
