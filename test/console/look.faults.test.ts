import '../support/node-version.ts'
import { describe, it } from 'node:test'
import { admin } from '../support/service.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { logIn } from './support/log-in.ts'
import { screenshot } from './support/screenshot.ts'
import { assertFits, goTo, startServerOfViews, views } from './support/views.ts'

const WIDTHS = [1440, 768, 320]

describe('the look of the console at each width', { skip: noChromium }, () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no finding of axe and nothing to scroll sideways, ${colorScheme}`, async (t) => {
      const server = await startServerOfViews(t, 60)
      const page = await openConsole(t, { server, colorScheme, expected: { statuses: [404] } })
      await screenshot(page, 'login')
      await assertAccessible(page)
      await logIn(page, admin.username, admin.password)
      for (const [name, goThere] of Object.entries(views)) {
        await goTo(page, server, goThere)
        for (const width of WIDTHS) {
          await assertFits(page, width, name)
          await screenshot(page, name)
          await assertAccessible(page)
        }
      }
    })
  }
})
