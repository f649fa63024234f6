import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'

const entries = (page: Page) => page.getByRole('list', { name: 'Changes' }).locator(':scope > li')
/** What was done, without the time. */
const acts = async (page: Page) =>
  (await entries(page).allInnerTexts()).map((text) => text.replace(/^.*?\d\d:\d\d:\d\d /, '').split('\n')[0])
const waitForEntries = (page: Page, count: number) =>
  entries(page)
    .nth(count - 1)
    .waitFor()

async function startWithChanges(t: TestContext) {
  const server = await startConsoleServer(t)
  await server.api('POST', '/configurations/', { body: draft('web1', { labels: { env: 'prod' } }) })
  await server.api('PATCH', '/configurations/web1', { body: { port: 2222 } })
  await server.api('POST', '/configurations/', { body: draft('web2') })
  await server.api('DELETE', '/configurations/web1')
  return server
}

describe('the activity in the console', { skip: noChromium }, () => {
  it('lists what was done to all records, newest first, with values before and after', async (t) => {
    const server = await startWithChanges(t)
    const page = await openConsole(t, { server, expected: { statuses: [404] } })
    await logIn(page, reader.username, reader.password)
    await page.getByRole('link', { name: 'Activity' }).click()
    await waitForEntries(page, 4)
    assert.deepEqual(await acts(page), [
      'script (a client) deleted web1',
      'script (a client) added web2',
      'script (a client) changed web1',
      'script (a client) added web1',
    ])
    await entries(page).nth(2).getByText('port: 22 → 2222').waitFor()
    await page.getByText(/^History goes back to /).waitFor()
    assert.equal(await page.title(), 'Activity – connbook')
    await assertAccessible(page)
    // Who may only read may look, and no more.
    await page.getByRole('link', { name: 'Deleted', exact: true }).click()
    // The other list has this text, too.
    await entries(page).nth(1).waitFor({ state: 'detached' })
    await entries(page).getByText('port: 2222').waitFor()
    assert.deepEqual(await acts(page), ['script (a client) deleted web1'])
    assert.equal(await page.getByRole('button', { name: 'Put back' }).count(), 0)
    await page.getByRole('link', { name: 'web1' }).click()
    await page.getByText('There is no record web1.').waitFor()
  })

  it('keeps the changes of an account, and of a time, and its address says so', async (t) => {
    const server = await startWithChanges(t)
    const page = await openConsole(t, { server, path: '/console/?view=activity' })
    await logIn(page, admin.username, admin.password)
    await waitForEntries(page, 4)
    await page.getByLabel('Who').fill('admin')
    await page.keyboard.press('Enter')
    await page.getByText(/^No changes\./).waitFor()
    await page.getByLabel('When').selectOption('Last 7 days')
    assert.equal(new URL(page.url()).search, '?view=activity&by=admin&since=7d')
    await page.getByLabel('Who').fill('script')
    await page.keyboard.press('Enter')
    await waitForEntries(page, 4)
    await page.reload()
    await waitForEntries(page, 4)
    assert.equal(await page.getByLabel('Who').inputValue(), 'script')
    assert.equal(await page.getByLabel('When').inputValue(), '7d')
    await page.goBack()
    await page.getByText(/^No changes\./).waitFor()
  })

  it('shows more of many, and offers what is newer', async (t) => {
    const server = await startConsoleServer(t)
    for (let port = 1; port <= 60; port += 1)
      await server.api('PUT', '/configurations/a', { body: draft('a', { port }) })
    const page = await openConsole(t, { server, path: '/console/?view=activity' })
    await logIn(page, admin.username, admin.password)
    await waitForEntries(page, 50)
    await page.getByRole('button', { name: 'Show more' }).press('Enter')
    await waitForEntries(page, 60)
    assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
    assert.equal(await page.evaluate('document.activeElement.localName'), 'ol')
    await server.api('POST', '/configurations/', { body: draft('b') })
    await page.getByRole('button', { name: 'Show newer changes' }).click()
    await page.getByText('script (a client) added b').waitFor()
    assert.equal(await entries(page).count(), 50)
  })

  it('counts the records of a change that is not listed one by one', async (t) => {
    const server = await startConsoleServer(t, { records: 1_001 })
    await server.api('PATCH', '/configurations/?prefix=record', { body: { port: 99 } })
    await server.api('DELETE', '/configurations/?all=1')
    const page = await openConsole(t, { server, path: '/console/?view=activity' })
    await logIn(page, admin.username, admin.password)
    await waitForEntries(page, 2)
    assert.deepEqual(await acts(page), [
      'script (a client) deleted 1,001 records',
      'script (a client) changed 1,001 records (prefix=record)',
    ])
    await page.getByRole('link', { name: 'Deleted', exact: true }).click()
    await page.getByText(/^No deleted records\./).waitFor()
  })

  it('puts a deleted record back, and says that its name is taken', async (t) => {
    const server = await startWithChanges(t)
    await server.api('DELETE', '/configurations/web2')
    await server.api('POST', '/configurations/', { body: draft('web2', { port: 1 }) })
    const page = await openConsole(t, { server, expected: { statuses: [409, 412] } })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByRole('link', { name: 'Deleted', exact: true }).click()
    await entries(page).nth(2).waitFor({ state: 'detached' })
    await waitForEntries(page, 2)
    const back = (name: string) =>
      entries(page)
        .filter({ hasText: `deleted ${name}` })
        .getByRole('button', { name: 'Put back' })
        .click()
    const question = page.getByRole('dialog', { name: 'Put back' })
    await page.getByText('There is a record of this name again.').waitFor()
    await back('web2')
    await question.getByRole('button').last().click()
    await page.getByText('another record has its name now.').waitFor()
    await back('web1')
    await question.getByText('labels.env: prod').waitFor()
    await assertAccessible(page)
    await question.getByRole('button').last().click()
    await page.getByText('Put back web1').waitFor()
    const records = recordsIn(await server.api('GET', '/configurations/?sort=name'))
    assert.deepEqual(
      records.map(({ name, port, labels = {} }) => [name, port, labels]),
      [
        ['web1', 2222, { env: 'prod' }],
        ['web2', 1, {}],
      ],
    )
    await entries(page)
      .filter({ hasText: 'deleted web1' })
      .getByText('There is a record of this name again.')
      .waitFor()
  })
})
