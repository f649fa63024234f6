import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
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

/** What a person gets of the page: by eye, by copying all of it, by a screen reader, and by the name of its window. */
async function perceived(page: Page): Promise<string> {
  const seen = await page.locator('body').innerText()
  await page.evaluate('getSelection().selectAllChildren(document.body)')
  const copied = await page.evaluate('String(getSelection())')
  return [seen, copied, await page.locator('body').ariaSnapshot(), await page.title()].join('\n')
}

async function endSessions(folder: string): Promise<void> {
  const passwd = ['user', 'passwd', admin.username, '--data', folder]
  assert.equal((await runCommand(passwd, { input: 'another password\n' })).code, 0)
}

/** Opens the form of a record, with something typed in it, over a list that is scrolled. */
async function openTypedForm(page: Page): Promise<void> {
  await page.goto(`${page.url().replace(/\?.*/, '')}?record=record-1`)
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Username' }).fill('typed')
}

describe('a session that has ended', { skip: noChromium }, () => {
  it('leaves nothing of the records to be perceived, and all is back after the login', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [403] } })
    await logIn(page, admin.username, admin.password)
    await openTypedForm(page)
    assert.match(await perceived(page), /record-1/)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await endSessions(server.folder)
    await page.getByText('The session has ended. Log in to go on where you were.').waitFor()
    assert.doesNotMatch(await perceived(page), /record-1|typed|Edit|Hostname/)
    // The end of the stream is asked about before the browser connects again, which takes seconds.
    assert.equal(asked[0], '/v1/whoami')
    await sendLogIn(page, admin.username, 'another password')
    const username = page.getByRole('textbox', { name: 'Username' })
    await username.waitFor()
    await page.getByRole('dialog', { name: 'Log in' }).waitFor({ state: 'detached' })
    assert.equal(await username.inputValue(), 'typed')
    assert.equal(await page.evaluate('document.activeElement.id'), await username.getAttribute('id'))
    assert.equal(await page.title(), 'record-1 – connbook')
  })

  it('is covered at once when another window logs out', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const first = await openConsole(t, { server, expected: { statuses: [403] } })
    await logIn(first, admin.username, admin.password)
    const second = await first.context().newPage()
    await second.goto(`${server.url}/console/`)
    await showsNames(second, ['record-1'])
    // Whose session it is stays unknown, as with a server that is away.
    await second.route('**/v1/whoami', () => {})
    await first.getByRole('button', { name: 'Log out' }).click()
    await second.getByText('record-1').first().waitFor({ state: 'hidden' })
    assert.doesNotMatch(await perceived(second), /record-1/)
  })

  it('is covered in a page that the browser kept for the way back', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['record-1'])
    await page.route('**/v1/whoami', () => {})
    // A kept page hears of no change, and neither does the window that makes it.
    await page.evaluate("localStorage.removeItem('connbook-session')")
    assert.match(await perceived(page), /record-1/)
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    assert.doesNotMatch(await perceived(page), /record-1/)
  })

  it('gives the next person nothing of what the last one had typed', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, expected: { statuses: [403] } })
    await logIn(page, admin.username, admin.password)
    await openTypedForm(page)
    const questions: string[] = []
    page.on('dialog', (question) => {
      questions.push(question.type())
      void question.dismiss()
    })
    await endSessions(server.folder)
    await page.getByText('The session has ended.').waitFor()
    const reloaded = page.waitForEvent('load')
    await sendLogIn(page, reader.username, reader.password)
    await reloaded
    await page.getByText('read-only').waitFor()
    await page.getByRole('heading', { name: 'record-1' }).waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    assert.deepEqual(questions, [])
  })
})

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

  it('is not asked for when a link of another site leads to a record', async (t) => {
    const server = await startConsoleServer(t, { records: 2 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    for (const [path, shown] of [
      ['/console/?record=record-2', 'record-2'],
      ['/', 'Records'],
    ] as const) {
      // Like a mail in a web mailer: the browser sends no cookie that is SameSite=Strict with this click.
      await page.goto(`data:text/html,<a href="${server.url}${path}">look</a>`)
      await page.getByText('look').click()
      await page.getByText(shown).first().waitFor()
      await page.getByRole('button', { name: 'Log out' }).waitFor()
      assert.equal(await page.getByLabel('Password').count(), 0)
    }
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
