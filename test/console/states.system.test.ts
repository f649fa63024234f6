import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { backToList, editRecord } from './support/record-page.ts'

const problem = (status: number, code: string, detail: string, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'Content-Type': 'application/problem+json', ...headers } as Record<string, string>,
  body: JSON.stringify({ type: `urn:connbook:problem:${code}`, title: 'x', status, detail }),
})

describe('the console by keyboard alone', { skip: noChromium }, () => {
  it('searches, adds, walks, opens and closes; the focus returns to where it was', async (t) => {
    const server = await startConsoleServer(t, { records: 3 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–3 of 3').waitFor()
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    await page.keyboard.press('j')
    await page.keyboard.press('ArrowDown')
    assert.equal(await focused(), 'record-2')
    await page.keyboard.press('k')
    assert.equal(await focused(), 'record-1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'record-1', exact: true }).waitFor()
    assert.equal(await focused(), 'record-1')
    assert.equal(await page.evaluate('document.activeElement.localName'), 'h2')
    await page.keyboard.press('e')
    await page.getByRole('dialog', { name: 'Edit a record' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.getByText('1–3 of 3').waitFor()
    assert.equal(await focused(), 'record-1')
    assert.equal(await page.evaluate('document.activeElement.localName'), 'a')

    await page.keyboard.press('/')
    await page.keyboard.type('njk')
    await page.getByText('No matching records').waitFor()
    assert.equal(await page.getByRole('searchbox').inputValue(), 'njk')
    await page.getByRole('searchbox').fill('')
    await page.getByText('1–3 of 3').waitFor()
    await page.evaluate('document.activeElement.blur()')

    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
    await assertAccessible(page)
    await page.getByLabel('Single keys do this').uncheck()
    await page.keyboard.press('Escape')
    await page.keyboard.press('n')
    await page.getByRole('button', { name: 'Shortcuts' }).click()
    await page.getByLabel('Single keys do this').check()
    await page.keyboard.press('Escape')
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('n')
    await page.getByRole('dialog', { name: 'Add a record' }).waitFor()
  })
})

describe('the focus in the console', { skip: noChromium }, () => {
  it('stays on a control that is rebuilt, and goes to the view when the control is gone', async (t) => {
    const records = Array.from({ length: 120 }, (_, place) => ({
      ...draft(`r${100 + place}`),
      labels: { env: 'prod' },
    }))
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    const press = async (role: 'link' | 'button', name: string | RegExp, shows: string | RegExp) => {
      await page.getByRole(role, { name }).first().press('Enter')
      await page.getByText(shows).waitFor()
      return page.evaluate<string>('document.activeElement.id || document.activeElement.textContent')
    }
    assert.equal(await press('link', 'Next', '51–100 of 120'), 'Next')
    assert.equal(await press('link', 'Last', '101–120 of 120'), 'Last')
    // From rows that are gone it goes to the one in their place.
    assert.equal(await press('link', 'env=prod', '1–50 of 120 found'), 'r100')
    assert.equal(await press('link', 'Remove the filter', /1–50 of 120$/), 'main')
    await page.getByRole('searchbox').fill('nothing')
    assert.equal(await press('link', 'Show all records', /1–50 of 120$/), 'main')
    await press('link', 'r104', 'Back to the list')
    await page.getByRole('button', { name: 'Delete…' }).press('Enter')
    assert.equal(await press('button', /^Delete$/, /1–50 of 119$/), 'r105')
  })

  it('is not taken back by a dialogue that closed when one has moved on already', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    // Before that, no row could have the focus and get it back.
    await page.getByText('1–1 of 1').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('n')
    await page.getByRole('dialog').waitFor()
    // The browser reports the end only with its next picture.
    await page.evaluate(`new Promise((resolve) => {
      const dialog = document.querySelector('dialog')
      dialog.addEventListener('close', () => setTimeout(resolve))
      const options = { bubbles: true, cancelable: true }
      dialog.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', ...options }))
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '/', ...options }))
    })`)
    assert.equal(await page.evaluate('document.activeElement.id'), 'search')
  })

  it('stays where one tries again, and returns to Save when that is refused', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [502, 507] } })
    await logIn(page, admin.username, admin.password)
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    await editRecord(page, 'record-1')
    await page.getByRole('textbox', { name: 'Username' }).fill('typed')
    await page.route('**/configurations/record-1', (route) =>
      route.fulfill(problem(507, 'storage_full', 'The disk is full')),
    )
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByRole('dialog').getByText('The disk is full.').waitFor()
    await eventually('Save has the focus', async () => (await focused()) === 'Save')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Drop it' }).click()
    await page.unrouteAll({ behavior: 'wait' })
    await backToList(page)

    let asked = 0
    await page.route('**/configurations/?*', async (route) => {
      asked += 1
      // So late that the page says that it waits.
      if (asked > 1) await page.locator('[data-late]').waitFor()
      await route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>502 Bad Gateway</h1>' })
    })
    await page.getByRole('searchbox').fill('rec')
    await page.getByText('The server, or a proxy before it, refused with 502.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).focus()
    await eventually('the list is asked for again', async () => asked > 2)
    assert.equal(await focused(), 'Try again')
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByText('1–1 of 1 found').waitFor()
  })
})

describe('a search that the server refuses', { skip: noChromium }, () => {
  it('shows what is wrong in it, and can be undone', async (t) => {
    const server = await startConsoleServer(t, { records: 3 })
    const page = await openConsole(t, { server, path: '/console/?port=99999', expected: { statuses: [400] } })
    await logIn(page, admin.username, admin.password)
    await page.getByText(/^The query is not valid: port must be .*\.$/).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
    await page.getByRole('link', { name: 'Show all records' }).click()
    await page.getByText('1–3 of 3').waitFor()
  })
})

describe('a browser that keeps no data of sites for pages', { skip: noChromium }, () => {
  it('shows the login and the records all the same', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, path: '/openapi.json', expected: { statuses: [403] } })
    await page.addInitScript(() => {
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new DOMException('Access is denied', 'SecurityError')
        },
      })
    })
    await page.goto(`${server.url}/console/`)
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–1 of 1').waitFor()
  })
})

describe('a server in trouble', { skip: noChromium }, () => {
  it('is reported in words where one looks, and nothing typed is lost', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, {
      server,
      expected: { statuses: [413, 429, 503, 507], hasLostConnections: true },
    })
    await logIn(page, admin.username, admin.password)
    await editRecord(page, 'record-1')
    const username = page.getByRole('textbox', { name: 'Username', exact: true })
    await username.fill('typed')
    const troubles = [
      problem(507, 'storage_full', 'The disk is full; the change was not made'),
      problem(503, 'storage_unavailable', 'The disk failed, and changes are refused', { 'Retry-After': '5' }),
      problem(429, 'too_many_attempts', 'Too many attempts', { 'Retry-After': '7' }),
      problem(413, 'body_too_large', 'The body is too long'),
    ]
    for (const trouble of troubles) {
      await page.route('**/configurations/record-1', (route) =>
        route.request().method() === 'PATCH' ? route.fulfill(trouble) : route.fallback(),
      )
      await page.getByRole('button', { name: 'Save' }).click()
      const { detail } = JSON.parse(trouble.body) as { detail: string }
      const wait = trouble.headers['Retry-After']
      await page
        .getByText(`${detail}.${wait === undefined ? '' : ` Try again in ${wait} s.`}`, { exact: true })
        .waitFor()
      assert.equal(await username.inputValue(), 'typed')
      await page.unrouteAll()
    }
    await assertAccessible(page)
    await server.stop()
    await page.getByRole('button', { name: 'Save' }).click()
    // The list behind it may say so, too.
    await page
      .getByRole('dialog')
      .getByText('Cannot reach the server. Nothing that you typed is lost; try again when it is back.')
      .waitFor()
    await server.startAgain()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Changed record-1').waitFor()
    const answer = await server.api('GET', '/configurations/record-1')
    assert.equal(recordsIn(answer)[0]?.username, 'typed')
  })

  it('is called again automatically while it cannot answer', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [503], hasLostConnections: true } })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–1 of 1').waitFor()
    await page.route('**/configurations/?*', (route) =>
      route.fulfill(problem(503, 'starting', 'The records are still being read', { 'Retry-After': '1' })),
    )
    await page.getByRole('searchbox').fill('rec')
    await page.getByText('The records are still being read. Try again in 1 s.').waitFor()
    await assertAccessible(page)
    await page.unrouteAll()
    await page.getByText('1–1 of 1 found').waitFor()
    assert.equal(await page.getByText('The records are still being read').count(), 0)
  })

  it('is no longer called away once the stream is back, in a view that makes no calls itself', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [503], hasLostConnections: true } })
    const again = page.waitForResponse((response) => response.status() === 304)
    await logIn(page, admin.username, admin.password)
    await again
    await page.getByRole('link', { name: 'Import, export' }).click()
    await server.stop()
    await page.getByRole('button', { name: 'Download JSON', exact: true }).click()
    await page.getByText('Cannot reach the server.', { exact: true }).waitFor()
    await server.startAgain()
    await page.getByText('Cannot reach the server.', { exact: true }).waitFor({ state: 'hidden' })
  })
})
