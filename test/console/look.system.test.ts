import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { showsNames } from './support/shows-names.ts'
import { assertFits, goTo, startServerOfViews, views } from './support/views.ts'

const NARROW = 320

describe('the look of the console', { skip: noChromium }, () => {
  it('has no finding of axe and nothing to scroll sideways in a narrow window', async (t) => {
    const server = await startServerOfViews(t, 2)
    const page = await openConsole(t, { server, expected: { statuses: [404] } })
    const assertGood = async () => {
      await assertAccessible(page)
      await page.emulateMedia({ colorScheme: 'dark' })
      // The themes differ in nothing but their colours.
      await assertAccessible(page, { rules: ['color-contrast'] })
      await page.emulateMedia({ colorScheme: 'light' })
    }
    await assertGood()
    await logIn(page, admin.username, admin.password)
    await page.setViewportSize({ width: NARROW, height: 800 })
    for (const [name, goThere] of Object.entries(views)) {
      await goTo(page, server, goThere)
      await assertFits(page, NARROW, name)
      await assertGood()
    }
  })

  it('is printed dark on light, also by somebody who works in the dark', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, colorScheme: 'dark' })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['record-1'])
    await page.emulateMedia({ media: 'print' })
    await assertAccessible(page, { rules: ['color-contrast'] })
    assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)')
  })

  it('can sort in a narrow window, too', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('web-2'), draft('web-1', { port: 99 })] })
    const page = await openConsole(t, { server, viewport: { width: NARROW, height: 800 } })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–2 of 2').waitFor()
    await page.getByRole('link', { name: /^Port/ }).click()
    await showsNames(page, ['web-2', 'web-1'])
  })
})
