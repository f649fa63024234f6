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
import { type ConsoleServer, reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { assertFits } from './support/views.ts'

const history = (page: Page) => page.getByRole('dialog', { name: 'History' })
const question = (page: Page) => page.getByRole('dialog', { name: 'Put back' })
const confirm = (page: Page) => question(page).getByRole('button').last().click()

/** Beside the entry that says so. */
const putBackAt = (page: Page, text: string) =>
  history(page)
    .getByRole('listitem')
    .filter({ hasText: text })
    .first()
    .getByRole('button', { name: 'Put back' })
    .click()

const recordOf = async (server: ConsoleServer, name: string) =>
  recordsIn(await server.api('GET', `/configurations/${name}`))[0]

/** A record that was added, changed, labelled and renamed to `web2`. */
async function startWithHistory(t: TestContext) {
  const server = await startConsoleServer(t)
  const change = (name: string, body: object) => server.api('PATCH', `/configurations/${name}`, { body })
  await server.api('POST', '/configurations/', { body: draft('web1', { labels: { old: '' } }) })
  await change('web1', { port: 2222 })
  await change('web1', { labels: { env: 'prod', old: null } })
  await change('web1', { name: 'web2' })
  return { server, change }
}

async function openHistory(page: Page, server: ConsoleServer, name: string, { username, password } = admin) {
  await page.goto(`${server.url}/console/?record=${name}`)
  await logIn(page, username, password)
  await page.getByRole('button', { name: 'History' }).click()
  await history(page)
    .getByText(/History goes back to/)
    .waitFor()
}

describe('Put back in the history of a record', { skip: noChromium }, () => {
  it('goes back behind all changes since, name and labels too, and shows each field', async (t) => {
    const { server } = await startWithHistory(t)
    const page = await openConsole(t, { server })
    await openHistory(page, server, 'web2')
    await assertAccessible(page)
    await putBackAt(page, 'port: 22 → 2222')
    await question(page).getByText('takes back all changes since').waitFor()
    assert.deepEqual(await question(page).getByRole('listitem').allInnerTexts(), [
      'name: web2 → web1',
      'port: 2222 → 22',
      'labels.env: prod',
      'labels.old:',
    ])
    assert.equal(await question(page).getByRole('button').last().innerText(), 'Put back')
    await assertAccessible(page)
    await assertFits(page, 320, 'put back')
    await confirm(page)
    await page.getByText('Put back web1').waitFor()
    assert.deepEqual(await recordOf(server, 'web1'), { id: 1, ...draft('web1', { labels: { old: '' } }) })
    await history(page).getByText('name: web2 → web1').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'web1', exact: true }).waitFor()
  })

  it('deletes a record that was not there, and brings back one that is gone', async (t) => {
    const { server } = await startWithHistory(t)
    const page = await openConsole(t, { server, expected: { statuses: [404] } })
    await openHistory(page, server, 'web2')
    await putBackAt(page, 'added it')
    await question(page).getByText('This deletes it.').waitFor()
    await confirm(page)
    await page.getByText('Deleted web2').waitFor()
    assert.equal((await server.api('GET', '/configurations/web2')).status, 404)
    await putBackAt(page, 'deleted it')
    await question(page).getByText('It gets a new ID.').waitFor()
    await confirm(page)
    await page.getByText('Put back web2').waitFor()
    const back = await recordOf(server, 'web2')
    assert.deepEqual(back, { id: 2, ...draft('web2', { port: 2222, labels: { env: 'prod' } }) })
  })

  it('asks again if somebody has changed the record, and says that its name is taken', async (t) => {
    const { server, change } = await startWithHistory(t)
    const page = await openConsole(t, { server, expected: { statuses: [409, 412] } })
    await openHistory(page, server, 'web2')
    await server.api('POST', '/configurations/', { body: draft('web1') })
    await putBackAt(page, 'name: web1 → web2')
    await question(page).getByText('name: web2 → web1').waitFor()
    await change('web2', { username: 'other' })
    await confirm(page)
    await question(page).getByText('Somebody has changed this record meanwhile.').waitFor()
    await question(page).getByText('username: other → ops').waitFor()
    await confirm(page)
    await page.getByText('another record has its name now.').waitFor()
    assert.equal((await recordOf(server, 'web2'))?.username, 'other')
  })

  it('is not there for an account that may only read', async (t) => {
    const { server } = await startWithHistory(t)
    const page = await openConsole(t, { server })
    await openHistory(page, server, 'web2', reader)
    assert.equal(await page.getByRole('button', { name: 'Put back' }).count(), 0)
  })
})
