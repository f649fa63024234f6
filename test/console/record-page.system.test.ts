import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { backToList, openRecord } from './support/record-page.ts'
import { showsNames } from './support/shows-names.ts'

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 2, name, exact: true })
const searchOf = (page: Page) => new URL(page.url()).search
/** Each line of a title and its value; without the buttons. */
const facts = async (page: Page) =>
  Object.fromEntries(
    await page
      .locator('.lines > div')
      .evaluateAll((lines) =>
        lines.map((line) => [line.firstElementChild?.textContent, line.querySelector('dd > *')?.textContent]),
      ),
  ) as Record<string, string>
const focused = (page: Page) =>
  page.evaluate<string>("document.activeElement.localName + ' ' + document.activeElement.textContent")

describe('the page of a record', { skip: noChromium }, () => {
  it('shows everything, at an address that leads there after the login, and Back and Forward work', async (t) => {
    const web = { ...draft('web/1', { port: 2222 }), labels: { env: 'prod', group: 'a,b' } }
    const server = await startConsoleServer(t, { records: [draft('db'), web] })
    const page = await openConsole(t, { server, path: '/console/?record=web%2F1' })
    await logIn(page, admin.username, admin.password)
    await heading(page, 'web/1').waitFor()
    assert.equal(await page.title(), 'web/1 – connbook')
    await page.getByText('ssh -p 2222').waitFor()
    const { curl, ...others } = await facts(page)
    assert.match(curl ?? '', /configurations\/web%2F1$/)
    assert.deepEqual(others, {
      Name: web.name,
      Hostname: web.hostname,
      Port: '2222',
      Username: web.username,
      Labels: 'env=prodgroup=a,b',
      ID: '2',
      ssh: `ssh -p 2222 -- ${web.username}@${web.hostname}`,
      address: `${web.username}@${web.hostname}:2222`,
    })
    const actions = page.getByRole('region', { name: 'Record' }).locator('.bar').getByRole('button')
    assert.deepEqual(await actions.allInnerTexts(), ['Edit', 'Duplicate', 'History', 'Delete…'])
    await assertAccessible(page)

    await backToList(page)
    await showsNames(page, ['db', 'web/1'])
    await eventually('the row has the focus', async () => (await focused(page)) === 'a web/1')
    await openRecord(page, 'db')
    await page.getByText('ssh -- ').waitFor()
    assert.equal(await focused(page), 'h2 db')
    assert.equal(searchOf(page), '?record=db')
    await page.goBack()
    await showsNames(page, ['db', 'web/1'])
    assert.equal(await focused(page), 'a db')
    await page.goBack()
    await heading(page, 'web/1').waitFor()
    await page.goForward()
    await page.goForward()
    await heading(page, 'db').waitFor()
    await page.reload()
    await heading(page, 'db').waitFor()
    await page.keyboard.press('Escape')
    await showsNames(page, ['db', 'web/1'])
  })

  it('leads back to the same search, order and page, and its labels to all records with them', async (t) => {
    const labels = { env: 'prod' }
    const records = [{ ...draft('web1'), labels }, draft('web2'), { ...draft('b1'), labels }]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server, path: '/console/?q=web&sort=-name' })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['web2', 'web1'])
    await openRecord(page, 'web1')
    assert.equal(searchOf(page), '?record=web1&q=web&sort=-name')
    await backToList(page)
    await showsNames(page, ['web2', 'web1'])
    assert.equal(searchOf(page), '?q=web&sort=-name')
    await openRecord(page, 'web1')
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Records' }).click()
    await showsNames(page, ['web2', 'web1'])
    await openRecord(page, 'web1')
    await page.getByRole('link', { name: 'env=prod' }).click()
    await showsNames(page, ['b1', 'web1'])
  })

  it('says that a record is gone, and what the history knows of it', async (t) => {
    const server = await startConsoleServer(t)
    for (const name of ['old', 'gone'])
      assert.equal((await server.api('POST', '/configurations/', { body: draft(name) })).status, 200)
    await server.api('PATCH', '/configurations/old', { body: { name: 'new' } })
    await server.api('PATCH', '/configurations/new', { body: { port: 7 } })
    await server.api('DELETE', '/configurations/gone')
    const page = await openConsole(t, {
      server,
      path: '/console/?record=old',
      expected: { statuses: [404] },
    })
    await logIn(page, admin.username, admin.password)
    const said = page.getByRole('region', { name: 'Record' }).getByRole('status')
    await page.getByText('There is no record old. It has another name now: new.').waitFor()
    for (const name of ['Edit', 'Duplicate', 'Delete…'])
      assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name)
    await assertAccessible(page)
    await said.getByRole('link', { name: 'new', exact: true }).click()
    await heading(page, 'new').waitFor()
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    assert.equal((await facts(page)).Port, '7')
    await said.waitFor({ state: 'hidden' })

    await page.goto(`${server.url}/console/?record=gone`)
    await page.getByText(/^There is no record gone\. .* script \(a client\) deleted it\.$/).waitFor()
    const answered = page.waitForResponse('**/v1/history/never*')
    await page.goto(`${server.url}/console/?record=never`)
    await page.getByText('There is no record never.', { exact: true }).waitFor()
    await answered
    await assertAccessible(page)
    assert.equal((await server.api('POST', '/configurations/', { body: draft('never') })).status, 200)
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    await said.waitFor({ state: 'hidden' })
  })

  it('shows changes of others, also under a new name, and says that somebody deleted it', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a', { port: 1 })] })
    const page = await openConsole(t, {
      server,
      path: '/console/?record=a',
      expected: { statuses: [404] },
      isHurried: true,
    })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    // It comes by the stream, or is there when the page reads the record again because it has a stream.
    await server.api('PATCH', '/configurations/a', { body: { port: 2 } })
    await eventually('the port is shown', async () => (await facts(page)).Port === '2')
    const marked = page.locator('.lines [data-mark=changed] dt')
    const isUnmarked = () => eventually('the marks are gone', async () => (await marked.count()) === 0)
    await isUnmarked()
    await page.evaluate(`{
      globalThis.marked = new Set()
      const look = (line) => line.dataset?.mark && marked.add(line.firstElementChild.textContent)
      new MutationObserver((all) => {
        for (const { target, addedNodes } of all) for (const line of [target, ...addedNodes]) look(line)
      }).observe(document.body, { subtree: true, childList: true, attributeFilter: ['data-mark'] })
    }`)
    await page.getByRole('button', { name: 'Copy curl' }).focus()
    await server.api('PATCH', '/configurations/a', { body: { username: 'theirs', labels: { env: 'prod' } } })
    await page.getByText('theirs', { exact: true }).waitFor()
    await page.getByText(/^Somebody changed this record at \d\d:\d\d:\d\d\.$/).waitFor()
    assert.deepEqual(await page.evaluate('[...marked].sort()'), ['Labels', 'Username', 'address', 'ssh'])
    await isUnmarked()
    assert.equal(await focused(page), 'button Copy')
    assert.equal((await facts(page)).address, `theirs@${draft('a').hostname}:2`)

    await server.api('PATCH', '/configurations/a', { body: { name: 'b' } })
    await page.getByText(/^Somebody renamed this record at .*\. It was a before\.$/).waitFor()
    assert.equal(searchOf(page), '?record=b')
    await heading(page, 'b').waitFor()
    await page.reload()
    await heading(page, 'b').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).focus()
    await server.api('DELETE', '/configurations/b')
    await page.getByText(/^There is no record b\. .* deleted it\. Below is what it said last\.$/).waitFor()
    assert.equal((await facts(page)).Username, 'theirs')
    assert.equal(await page.getByRole('button', { name: 'Edit', exact: true }).count(), 0)
    assert.equal(await focused(page), 'h2 b')
    await assertAccessible(page)
  })

  it('follows a record of which it found the old name gone before it heard of the new one', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, { server, expected: { statuses: [404] } })
    const connected = page.waitForResponse('**/v1/events*')
    await logIn(page, admin.username, admin.password)
    await connected
    const gone = { type: 'urn:connbook:problem:not_found', title: 'x', status: 404, detail: 'x' }
    await page.route('**/configurations/a', (route) =>
      route.fulfill({ status: 404, contentType: 'application/problem+json', body: JSON.stringify(gone) }),
    )
    await openRecord(page, 'a')
    await page.getByText(/^There is no record a\./).waitFor()
    // This may be older than the answer: the record is read again, and not taken to be there.
    const readAgain = page.waitForResponse('**/configurations/a')
    await server.api('PATCH', '/configurations/a', { body: { port: 7 } })
    await readAgain
    assert.equal(await page.getByRole('button', { name: 'Edit', exact: true }).count(), 0)
    await server.api('PATCH', '/configurations/a', { body: { name: 'b' } })
    await heading(page, 'b').waitFor()
    await page.getByText(/^Somebody renamed this record at .*\. It was a before\.$/).waitFor()
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    assert.equal(searchOf(page), '?record=b')
  })

  it('is read again by itself when the server could not answer', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, {
      server,
      path: '/openapi.json',
      expected: { statuses: [403, 502] },
      isHurried: true,
    })
    await page.route('**/configurations/record-1', (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>502 Bad Gateway</h1>' }),
    )
    await page.goto(`${server.url}/console/?record=record-1`)
    await logIn(page, admin.username, admin.password)
    await page.getByText('The server, or a proxy before it, refused with 502.').waitFor()
    await assertAccessible(page)
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    assert.equal(await page.getByText('refused with 502').count(), 0)
  })

  it('keeps the form of a new record beside the record that has its name', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('taken')] })
    const page = await openConsole(t, { server, expected: { statuses: [409] } })
    await logIn(page, admin.username, admin.password)
    await openRecord(page, 'taken')
    await page.getByRole('button', { name: 'Duplicate' }).click()
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('taken')
    await page.getByRole('button', { name: 'Save' }).click()
    const opened = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Show it in a new window' }).click()
    await heading(await opened, 'taken').waitFor()
    assert.equal(await name.inputValue(), 'taken')
  })

  it('asks before it drops a duplicate in which something was typed, and only then', async (t) => {
    const record = { ...draft('web1'), labels: { env: 'prod' } }
    const server = await startConsoleServer(t, { records: [record] })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await openRecord(page, 'web1')
    const duplicate = page.getByRole('button', { name: 'Duplicate' })
    const dialog = page.getByRole('dialog', { name: 'Add a record' })
    const close = dialog.getByRole('button', { name: 'Close', exact: true }).last()
    const question = page.getByRole('dialog', { name: 'Leave' })

    await duplicate.click()
    await close.click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal(await question.count(), 0)
    assert.equal(await focused(page), 'button Duplicate')

    for (const touch of [
      () => dialog.getByLabel('Hostname').fill('other.example.net'),
      () => dialog.getByRole('button', { name: 'Remove this label' }).click(),
    ]) {
      await duplicate.click()
      await touch()
      await close.click()
      await question.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor()
      await close.click()
      await question.getByRole('button', { name: 'Drop it' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
  })
})
