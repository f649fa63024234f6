import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { LOOK_MS } from '../../src/console/operation-record.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'

const picture = (page: Page, title: string) => page.getByRole('region', { name: title, exact: true })

/** Lets the page's clock go on to its next look, and waits for that. */
async function lookAgain(page: Page): Promise<void> {
  const looked = page.waitForResponse('**/metrics')
  await page.clock.runFor(LOOK_MS)
  await (await looked).finished()
}

describe('the operation in the console', { skip: noChromium }, () => {
  it('shows the figures of the server, at each moment, also by keyboard and as a table', async (t) => {
    const server = await startConsoleServer(t, { records: 3 })
    const page = await openConsole(t, { server, expected: { hasLostConnections: true } })
    await page.clock.install()
    await page.reload()
    await logIn(page, reader.username, reader.password)
    await page.getByRole('link', { name: 'Status' }).click()
    await page.getByText(/^Ready · takes changes · version \d/).waitFor()
    const states = page.getByRole('region', { name: 'Status' }).getByRole('status')
    assert.deepEqual(await states.allInnerTexts(), ['Ready · takes changes'])
    await page.getByText('Rates show after the second look, in 5 s.').waitFor()
    const records = picture(page, 'Records')
    await records.getByText('records 3').waitFor()
    await assertAccessible(page)

    await server.api('POST', '/configurations/', {
      body: { name: 'a', hostname: 'h', port: 1, username: 'u' },
    })
    await lookAgain(page)
    await records.getByText('records 4').waitFor()
    await picture(page, 'Requests by status')
      .getByText(/^2xx 0\.0*[1-9]/)
      .waitFor()
    await page.getByText('Rates show after').waitFor({ state: 'hidden' })
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

    await page.getByLabel('Route').selectOption('/configurations/')
    await lookAgain(page)
    await server.stop()
    const failed = page.waitForEvent('requestfailed')
    await page.clock.runFor(LOOK_MS)
    await failed
    await page.getByText('Cannot reach the server. Nothing that you typed is lost').waitFor()
    await server.startAgain()
    await lookAgain(page)
    await page.getByText('Nothing that you typed is lost').waitFor({ state: 'hidden' })
    await lookAgain(page)
    const requests = picture(page, 'Requests by status')
    await requests.getByText('Table').click()
    const cells = await requests.locator('tbody td').allInnerTexts()
    assert.ok(
      cells.every((text) => !text.startsWith('-')),
      `${cells}`,
    )
    // The line has a gap where the server was away.
    const path = await records.locator('.field-of-lines .line').getAttribute('d')
    assert.equal(path?.split('M').length, 3, path ?? '')
  })
})
