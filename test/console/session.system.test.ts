import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn, sendLogIn } from './support/log-in.ts'
import { editRecord } from './support/record-page.ts'
import { showsNames } from './support/shows-names.ts'

describe('a login in the console', { skip: noChromium }, () => {
  it('says why it is refused, and password managers know its fields', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [401, 429] } })
    await assertAccessible(page)
    assert.equal(await page.getByLabel('User').getAttribute('autocomplete'), 'username')
    assert.equal(await page.getByLabel('Password').getAttribute('autocomplete'), 'current-password')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await sendLogIn(page, admin.username, 'wrong')
    await page.getByText('User or password is wrong.').waitFor()
    for (let tries = 0; tries < 20; tries += 1) {
      const answer = page.waitForResponse('**/login')
      await sendLogIn(page, admin.username, 'wrong')
      if ((await answer).status() === 429) break
    }
    await page.getByText(/^Too many attempts: try again in \d+ s\.$/).waitFor()
  })

  it('explains itself when the browser does not keep the cookie', async (t) => {
    const server = await startConsoleServer(t)
    const page = await openConsole(t, { server, expected: { statuses: [403] } })
    await page.route('**/login', (route) => route.fulfill({ status: 200, body: 'Authorized' }))
    await sendLogIn(page, admin.username, admin.password)
    await page.getByText('The browser has not kept the session. Allow cookies of this server.').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await logIn(page, admin.username, admin.password)
    await page.getByText('No records yet').waitFor()
  })

  it('leads to the place that was asked for, and ends by a logout', async (t) => {
    const server = await startConsoleServer(t, { records: 3 })
    const page = await openConsole(t, { server, path: '/console/?q=2&sort=-name' })
    await logIn(page, reader.username, reader.password)
    await page.getByText('1–1 of 1 found').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Password').waitFor()
    assert.equal(new URL(page.url()).search, '?q=2&sort=-name')
    assert.equal(await page.getByRole('table').count(), 0)
  })

  it('is asked for again, over what was typed, when a command ended the session', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [403] } })
    await logIn(page, admin.username, admin.password)
    await editRecord(page, 'record-1')
    await page.getByRole('textbox', { name: 'Username' }).fill('typed')
    const passwd = ['user', 'passwd', admin.username, '--data', server.folder]
    assert.equal((await runCommand(passwd, { input: 'another password\n' })).code, 0)
    await page.getByText('The session has ended. Log in to go on where you were.').waitFor()
    await assertAccessible(page)
    await logIn(page, admin.username, 'another password')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Changed record-1').waitFor()
    const answer = await server.api('GET', '/configurations/record-1')
    assert.equal(recordsIn(answer)[0]?.username, 'typed')
  })

  it('of another user in a second window restarts the first window', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const first = await openConsole(t, { server })
    await logIn(first, admin.username, admin.password)
    await first.getByRole('button', { name: 'Add', exact: true }).waitFor()
    const second = await first.context().newPage()
    await second.goto(`${server.url}/console/`)
    await second.getByText('1–1 of 1').waitFor()
    const reloaded = first.waitForEvent('load')
    await second.evaluate(
      `fetch('../login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(reader))} }).then(() => localStorage.setItem('connbook-session', 'reader'))`,
    )
    await reloaded
    await first.getByText('read-only').waitFor()
    assert.equal(await first.getByRole('button', { name: 'Add', exact: true }).count(), 0)
  })

  it('in one window logs all windows in, and a logout logs all out', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const first = await openConsole(t, { server, expected: { statuses: [403] } })
    const second = await first.context().newPage()
    await second.goto(`${server.url}/console/`)
    await second.getByLabel('Password').waitFor()
    await logIn(first, admin.username, admin.password)
    await second.getByRole('dialog').waitFor({ state: 'detached' })
    await showsNames(second, ['record-1'])
    const passwd = ['user', 'passwd', admin.username, '--data', server.folder]
    assert.equal((await runCommand(passwd, { input: 'another password\n' })).code, 0)
    for (const page of [first, second]) await page.getByText('The session has ended.').waitFor()
    await logIn(second, admin.username, 'another password')
    await first.getByRole('dialog').waitFor({ state: 'detached' })
    await first.getByRole('searchbox').fill('nothing')
    await first.getByText('No matching records').waitFor()
  })

  it('is asked for again when the session ended unnoticed, and then the change is made', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [403] } })
    await logIn(page, admin.username, admin.password)
    await editRecord(page, 'record-1')
    await page.getByRole('textbox', { name: 'Username' }).fill('typed')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The session has ended. Log in to go on where you were.').waitFor()
    await logIn(page, admin.username, admin.password)
    await page.getByText('Changed record-1').waitFor()
    const answer = await server.api('GET', '/configurations/record-1')
    assert.equal(recordsIn(answer)[0]?.username, 'typed')
  })

  it('can change its own password', async (t) => {
    const server = await startConsoleServer(t)
    const page = await openConsole(t, { server, expected: { statuses: [400] } })
    await logIn(page, reader.username, reader.password)
    await page.getByRole('button', { name: 'Password…' }).click()
    await assertAccessible(page)
    const [present, next, again] = [
      page.getByLabel('Current password'),
      page.getByLabel('New password, at least 8 characters'),
      page.getByLabel('New password again'),
    ]
    const change = page.getByRole('button', { name: 'Change the password' })
    // As one types: the first field has the focus, and the others follow.
    for (const password of ['wrong', 'a new password', 'another']) {
      await page.keyboard.type(password)
      await page.keyboard.press('Tab')
    }
    await change.click()
    assert.equal(await present.inputValue(), 'wrong')
    await page.getByText('The two new passwords differ; type them again.').waitFor()
    await again.fill('a new password')
    await change.click()
    await page.getByText('The current password is wrong.').waitFor()
    await present.fill(reader.password)
    await next.fill('short')
    await again.fill('short')
    await change.click()
    await page.getByText(/^The new password is shorter than 8 characters/).waitFor()
    await next.fill('a new password')
    await again.fill('a new password')
    await change.click()
    await page.getByText('The password is changed').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await logIn(page, reader.username, 'a new password')
    await page.getByText('No records yet').waitFor()
  })
})
