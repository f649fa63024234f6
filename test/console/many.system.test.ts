import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { type ConsoleServer, reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { showsNames } from './support/shows-names.ts'
import { assertFits } from './support/views.ts'

const box = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true })
const wholePage = (page: Page) => page.getByRole('checkbox', { name: 'Select all on this page' })
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const saysSelected = (page: Page, count: number | string) =>
  page.getByText(`${count} selected`, { exact: true }).waitFor()
const isNothingSelected = (page: Page) => page.getByText(/ selected$/).waitFor({ state: 'detached' })

/** Names of the boxes that are checked. */
const checked = (page: Page) => page.locator('.records tbody tr:has(input:checked) td.name').allTextContents()

async function everything(server: ConsoleServer) {
  const records = recordsIn(await server.api('GET', '/configurations/?sort=name'))
  return records.map(({ name, port, labels = {} }) => [name, port, labels])
}

const three = [draft('a'), draft('b', { labels: { env: 'prod', role: 'db' } }), draft('c')]

describe('the selection in the console', { skip: noChromium }, () => {
  it('takes single records, a stretch, a page and all, also over pages', async (t) => {
    const server = await startConsoleServer(t, { records: 120 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–50 of 120').waitFor()
    const rows = await page.locator('td.name').allTextContents()
    await page.locator('td.select input').nth(2).click()
    await page
      .locator('td.select input')
      .nth(6)
      .click({ modifiers: ['Shift'] })
    assert.deepEqual(await checked(page), rows.slice(2, 7))
    await saysSelected(page, 5)
    await page
      .locator('td.select input')
      .nth(4)
      .click({ modifiers: ['Shift'] })
    await saysSelected(page, 2)
    assert.equal(await page.locator('th.select input:indeterminate').count(), 1)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('51–100 of 120').waitFor()
    assert.deepEqual(await checked(page), [])
    await wholePage(page).check()
    await saysSelected(page, 52)
    await page.getByRole('link', { name: 'Previous' }).click()
    await page.getByText('1–50 of 120').waitFor()
    assert.deepEqual(await checked(page), rows.slice(2, 4))
    await press(page, 'Select all 120')
    await saysSelected(page, 120)
    assert.equal((await checked(page)).length, 50)
    // One of all is taken out: those of the page stay.
    await page.locator('td.select input').first().click()
    await saysSelected(page, 49)
    await press(page, 'Select none')
    await isNothingSelected(page)
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Select all 120')
    await assertAccessible(page)
  })

  it('takes records by the keyboard', async (t) => {
    const server = await startConsoleServer(t, { records: 5 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–5 of 5').waitFor()
    await box(page, 'record-2').focus()
    await page.keyboard.press('Space')
    await box(page, 'record-4').focus()
    await page.keyboard.press('Shift+Space')
    assert.deepEqual(await checked(page), ['record-2', 'record-3', 'record-4'])
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    assert.deepEqual(await checked(page), ['record-1', 'record-2', 'record-3', 'record-4'])
    await page.keyboard.press('x')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+X')
    assert.deepEqual(await checked(page), ['record-4'])
  })

  it('stays while others change the list, and forgets what they delete', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server, isHurried: true })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a', 'b', 'c'])
    await box(page, 'a').check()
    await box(page, 'c').check()
    await server.api('POST', '/configurations/', { body: draft('aa') })
    await server.api('PATCH', '/configurations/c', { body: { name: 'cc' } })
    await showsNames(page, ['a', 'aa', 'b', 'cc'])
    assert.deepEqual(await checked(page), ['a', 'cc'])
    await server.api('DELETE', '/configurations/a')
    await saysSelected(page, 1)
    await showsNames(page, ['aa', 'b', 'cc'])
    assert.deepEqual(await checked(page), ['cc'])
    // A search keeps the single records; of all that a search keeps, another one keeps none.
    await page.getByRole('searchbox').fill('b')
    await showsNames(page, ['b'])
    await saysSelected(page, 1)
    await press(page, 'Select all 1')
    assert.deepEqual(await checked(page), ['b'])
    await page.getByRole('searchbox').fill('')
    await showsNames(page, ['aa', 'b', 'cc'])
    await isNothingSelected(page)
    assert.deepEqual(await checked(page), [])
  })

  it('is not there for an account that may only read', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server })
    await logIn(page, reader.username, reader.password)
    await showsNames(page, ['a', 'b', 'c'])
    assert.equal(await page.getByRole('checkbox').count(), 0)
    assert.equal(await page.getByRole('button', { name: /^Select/ }).count(), 0)
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    assert.equal(await page.getByText(/selected/).isVisible(), false)
  })
})

describe('a change of many in the console', { skip: noChromium }, () => {
  it('changes fields and labels of the selected records, each fault at its field', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server, expected: { statuses: [400] } })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a', 'b', 'c'])
    await box(page, 'a').check()
    await box(page, 'b').check()
    await press(page, 'Change')
    const dialog = page.getByRole('dialog', { name: 'Change' })
    await dialog.getByText('This changes 2 records.').waitFor()
    const last = dialog.getByRole('button').last()
    assert.equal(await last.innerText(), 'Change')
    await last.click()
    await dialog.getByText('Fill in what shall change.').waitFor()
    await dialog.getByLabel('Port').fill('x')
    await assertFits(page, 320, 'change')
    await last.click()
    await dialog.getByText(/^Port must be an integer/).waitFor()
    await assertAccessible(page)
    await page.setViewportSize({ width: 1280, height: 800 })
    await dialog.getByLabel('Port').fill('2222')
    await dialog.getByText('2 records, of which 2 would change').waitFor()
    assert.deepEqual(await dialog.locator('.changes').allInnerTexts(), Array(2).fill('port: 22 → 2222'))
    await page.keyboard.press('Enter')
    await page.getByText('Changed 2 records').waitFor()
    await saysSelected(page, 2)

    await press(page, 'Label')
    const labels = page.getByRole('dialog', { name: 'Label' })
    await labels.getByText('This labels 2 records.').waitFor()
    assert.equal(await labels.getByRole('button').last().innerText(), 'Label')
    await labels.getByLabel('Key').fill('Env')
    await labels.getByRole('button', { name: 'Label' }).click()
    await labels.getByText(/^Env is not a label/).waitFor()
    await assertAccessible(page)
    await labels.getByLabel('Key').fill('env')
    await labels.getByLabel('Value').fill('prod')
    await labels.getByText('2 records, of which 1 would change').waitFor()
    await labels.getByText('labels.env: prod').waitFor()
    await labels.getByRole('button', { name: 'Label' }).click()
    await page.getByText('Changed 1 record; 1 record had this already').waitFor()
    assert.deepEqual(await everything(server), [
      ['a', 2222, { env: 'prod' }],
      ['b', 2222, { env: 'prod', role: 'db' }],
      ['c', 22, {}],
    ])

    await press(page, 'Label')
    await labels.getByLabel('Key').fill('env')
    await labels.getByLabel('Remove it instead').check()
    assert.equal(await labels.getByLabel('Value').isVisible(), false)
    await labels.getByRole('button', { name: 'Label' }).click()
    await page.getByText('Changed 2 records').waitFor()
    assert.deepEqual(await everything(server), [
      ['a', 2222, {}],
      ['b', 2222, { role: 'db' }],
      ['c', 22, {}],
    ])
  })

  it('changes all that the search keeps, and deletes all', async (t) => {
    const records = Array.from({ length: 60 }, (_, place) =>
      draft(`r${100 + place}`, { labels: { env: 'x' } }),
    )
    const server = await startConsoleServer(t, { records: [...records, draft('other')] })
    const page = await openConsole(t, { server, path: '/console/?label=env%3Dx' })
    await logIn(page, admin.username, admin.password)
    await press(page, 'Select all 60')
    const sent = page.waitForRequest((request) => request.method() === 'PATCH')
    await press(page, 'Change')
    await page.getByText('This changes 60 records.').waitFor()
    await page.getByLabel('Username').fill('deploy')
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()
    await page.getByText('Changed 60 records').waitFor()
    const request = await sent
    assert.equal(new URL(request.url()).search, '?label=env%3Dx')
    assert.equal(request.headers().prefer, 'max-affected=60')
    assert.match(request.headers()['if-match'] ?? '', /^".+"$/)
    // The search may keep others after it.
    await isNothingSelected(page)
    const found = recordsIn(await server.api('GET', '/configurations/?username=deploy'))
    assert.equal(found.length, 60)

    await page.getByRole('link', { name: 'Remove the filter label: env=x' }).click()
    await press(page, 'Select all 61')
    await press(page, 'Delete')
    await page.getByText('This deletes 61 records.').waitFor()
    await assertAccessible(page)
    await page.getByRole('dialog').getByRole('button').last().click()
    await page.getByText('Deleted 61 records').waitFor()
    await page.getByText('No records yet').waitFor()
    assert.deepEqual(await everything(server), [])
  })

  it('counts anew, and changes nothing, when others have changed one of them', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server, expected: { statuses: [412] } })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a', 'b', 'c'])
    await press(page, 'Select all 3')
    await press(page, 'Delete')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('This deletes 3 records.').waitFor()
    await server.api('POST', '/configurations/', { body: draft('d') })
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText(/^Records have changed meanwhile, so nothing was done/).waitFor()
    await dialog.getByText('This deletes 4 records.').waitFor()
    assert.equal((await everything(server)).length, 4)
    await assertAccessible(page)
    // The same number of records, but one of them is not as it was shown.
    await server.api('PATCH', '/configurations/a', { body: { port: 99 } })
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('alert').filter({ hasText: 'Records have changed' }).waitFor()
    await dialog.getByRole('button', { name: 'Delete', disabled: false }).waitFor()
    assert.equal((await everything(server)).length, 4)
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deleted 4 records').waitFor()
  })

  it('is done, and can be undone, when the answer was lost and it is tried again', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server, expected: { statuses: [412], hasLostConnections: true } })
    await logIn(page, admin.username, admin.password)
    const before = await everything(server)
    const dialog = page.getByRole('dialog')
    const tryTwice = async (word: string) => {
      await page.route(/\/configurations\/\?/, async (route) => {
        if (route.request().method() === 'GET') return route.fallback()
        await route.fetch()
        await route.abort('connectionreset')
      })
      await dialog.getByRole('button', { name: word, exact: true }).click()
      await dialog.getByText('Cannot reach the server.').waitFor()
      await page.unrouteAll({ behavior: 'wait' })
      await dialog.getByRole('button', { name: word, exact: true }).click()
    }
    await press(page, 'Select all 3')
    await press(page, 'Change')
    await dialog.getByText('This changes 3 records.').waitFor()
    await page.getByLabel('Port').fill('99')
    await tryTwice('Change')
    await page.getByText('Changed 3 records').waitFor()
    await press(page, 'Undo')
    await page.getByText('Undone: 3 records as before.').waitFor()
    await press(page, 'Select all 3')
    await press(page, 'Delete')
    await dialog.getByText('This deletes 3 records.').waitFor()
    await tryTwice('Delete')
    await page.getByText('Deleted 3 records').waitFor()
    await press(page, 'Undo')
    await page.getByText('Undone: 3 records as before. They have new ids.').waitFor()
    assert.deepEqual(await everything(server), before)
  })

  it('goes on when others have changed other records only', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server, expected: { statuses: [412] } })
    await logIn(page, admin.username, admin.password)
    await box(page, 'a').check()
    await press(page, 'Delete')
    await page.getByText('This deletes 1 record.').waitFor()
    await server.api('PATCH', '/configurations/b', { body: { port: 99 } })
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deleted 1 record').waitFor()
    assert.deepEqual(
      (await everything(server)).map(([name]) => name),
      ['b', 'c'],
    )
  })

  it('says how many of the selected records are gone, and names those that cannot be changed', async (t) => {
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, place) => [`k${place}`, '']))
    const server = await startConsoleServer(t, {
      records: [draft('full', { labels }), draft('b'), draft('c')],
    })
    const page = await openConsole(t, { server, expected: { statuses: [400] } })
    // Nobody sends the page what is deleted.
    await page.route('**/v1/events*', (route) => route.fulfill({ status: 204 }))
    await logIn(page, admin.username, admin.password)
    await box(page, 'full').check()
    await box(page, 'b').check()
    await server.api('DELETE', '/configurations/b')
    await press(page, 'Label')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('This labels 1 record.').waitFor()
    await dialog.getByText('1 of those selected: deleted meanwhile.').waitFor()
    await dialog.getByLabel('Key').fill('one-more')
    await dialog.getByRole('button', { name: 'Label' }).click()
    await dialog.getByRole('table', { name: 'Faults' }).getByText('full').waitFor()
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    await saysSelected(page, 1)
  })

  it('exports the selected records in a format, and says which do not fit', async (t) => {
    const records = [draft('a'), draft('b'), draft('has blank')]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server, expected: { statuses: [422] } })
    await logIn(page, admin.username, admin.password)
    await box(page, 'a').check()
    await box(page, 'has blank').check()
    await press(page, 'Export')
    const dialog = page.getByRole('dialog', { name: 'Export' })
    await dialog.getByText('This exports 2 records').waitFor()
    assert.equal(await dialog.getByRole('button').last().innerText(), 'Export')
    await dialog.getByLabel('Format').selectOption('ssh_config')
    await assertAccessible(page)
    await dialog.getByRole('button', { name: 'Export' }).click()
    await dialog.getByRole('region', { name: 'Records that do not fit' }).getByText('has blank').waitFor()
    await dialog.getByLabel('Format').selectOption('CSV')
    const download = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Export' }).click()
    // The dialogue, which closes, says it as well.
    await page.locator('.notices').getByText('The browser saves CSV with 2 records.').waitFor()
    const text = await readFile(await (await download).path(), 'utf8')
    assert.deepEqual(
      text.split('\r\n').map((line) => line.split(',')[0]),
      ['name', 'a', 'has blank', ''],
    )
  })
})

describe('Undo in the console', { skip: noChromium }, () => {
  it('takes back a change, with all labels as they were', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a', 'b', 'c'])
    const before = recordsIn(await server.api('GET', '/configurations/'))
    await press(page, 'Select all 3')
    await press(page, 'Label')
    await page.getByText('It can be undone while this page is open.').waitFor()
    await page.getByLabel('Key').fill('env')
    await page.getByLabel('Value').fill('prod')
    await page.getByRole('dialog').getByRole('button', { name: 'Label' }).click()
    await page.getByText('Changed 2 records; 1 record had this already').waitFor()
    await assertAccessible(page)
    // What others do to other records does not hinder.
    await server.api('POST', '/configurations/', { body: draft('d') })
    await page.getByRole('link', { name: 'Status' }).click()
    await press(page, 'Undo')
    await page.getByText('Undone: 2 records as before.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    const after = recordsIn(await server.api('GET', '/configurations/'))
    assert.deepEqual(after.slice(0, 3), before)
  })

  it('brings back what was deleted, with new ids', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a', 'b', 'c'])
    const before = await everything(server)
    await wholePage(page).check()
    await press(page, 'Delete')
    await page.getByText('This deletes 3 records.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No records yet').waitFor()
    await press(page, 'Undo')
    await page.getByText('Undone: 3 records as before. They have new ids.').waitFor()
    await showsNames(page, ['a', 'b', 'c'])
    assert.deepEqual(await everything(server), before)
  })

  it('says that it is done when the answer was lost, and is tried again', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server, expected: { hasLostConnections: true } })
    await logIn(page, admin.username, admin.password)
    const before = await everything(server)
    await press(page, 'Select all 3')
    await press(page, 'Delete')
    await page.getByText('This deletes 3 records.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.route(/\/v1\/import\?format=json$/, async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    })
    await press(page, 'Undo')
    await page.getByText('Cannot undo the change: Cannot reach the server.').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await showsNames(page, ['a', 'b', 'c'])
    await press(page, 'Undo')
    await page.getByText('Undone: 3 records as before.').waitFor()
    assert.deepEqual(await everything(server), before)
  })

  it('goes once somebody has changed one of the records', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await box(page, 'a').check()
    await press(page, 'Change')
    await page.getByLabel('Port').fill('99')
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await server.api('PATCH', '/configurations/a', { body: { username: 'other' } })
    await page.getByText('The change can no longer be undone.').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
  })

  it('finds out at the server that a name is taken, and changes nothing', async (t) => {
    const server = await startConsoleServer(t, { records: three })
    const page = await openConsole(t, { server })
    await page.route('**/v1/events*', (route) => route.fulfill({ status: 204 }))
    await logIn(page, admin.username, admin.password)
    await box(page, 'a').check()
    await press(page, 'Delete')
    await page.getByText('This deletes 1 record.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await server.api('POST', '/configurations/', { body: draft('a', { port: 1 }) })
    await press(page, 'Undo')
    await page.getByText('The change can no longer be undone.').waitFor()
    assert.deepEqual((await everything(server))[0], ['a', 1, {}])
  })

  it('is not kept for more records than it may hold, which the dialogue says', async (t) => {
    const server = await startConsoleServer(t, { records: 10_001 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await press(page, 'Select all 10,001')
    await press(page, 'Label')
    await page
      .getByText('This labels 10,001 records. It cannot be undone: Undo is for 10,000 records at most.')
      .waitFor()
    await page.getByLabel('Key').fill('env')
    await page.getByRole('dialog').getByRole('button', { name: 'Label' }).click()
    await page.getByText('Changed 10,001 records').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    await eventually('all have the label', async () => {
      const answer = await server.api('GET', '/configurations/?label=env&page=0&per_page=1')
      return answer.headers['x-total-count'] === '10001'
    })
  })
})
