import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { noNginx } from '../proxy/nginx.ts'
import { startPublishedSite } from '../proxy/published-site.ts'
import { admin } from '../support/service.ts'
import { closePagesFirst, openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { showsNames } from './support/shows-names.ts'

describe('the console elsewhere', { skip: noChromium }, () => {
  it('works behind nginx with HTTPS, below a base path', { skip: noNginx }, async (t) => {
    closePagesFirst(t)
    const server = await startPublishedSite(t)
    const page = await openConsole(t, { server, ignoreHTTPSErrors: true, path: '/' })
    assert.equal(page.url(), `${server.url}/console/`)
    await logIn(page, admin.username, admin.password)
    await page.getByText('No records yet').waitFor()
    await page.keyboard.press('n')
    const name = '../../a b%2F?x#y'
    for (const [field, value] of Object.entries({ Name: name, Hostname: 'h', Port: '22', Username: 'u' }))
      await page.getByRole('textbox', { name: field, exact: true }).fill(value)
    await page.getByRole('button', { name: 'Save' }).click()
    await showsNames(page, [name])
  })

  it('finds one of 100,000 records', async (t) => {
    const server = await startConsoleServer(t, { records: 100_000 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–50 of 100,000').waitFor()
    await page.getByRole('searchbox').pressSequentially('record-77777')
    await showsNames(page, ['record-77777'])
    await page.getByRole('searchbox').fill('')
    await page.getByRole('link', { name: 'Last' }).click()
    await page.getByText('99,951–100,000 of 100,000').waitFor()
  })
})
