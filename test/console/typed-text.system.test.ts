import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { logIn as startSession } from '../support/api.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { editRecord } from './support/record-page.ts'

/** As a text is that was copied from a sheet or a page: with a no-break space, a tab and blanks at its ends. */
const pasted = (text: string) => `\u00a0\t ${text} \t\u00a0`

async function fillIn(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, text] of Object.entries(values))
    await page.getByRole('dialog').getByRole('textbox', { name: label, exact: true }).fill(text)
}

async function send(page: Page, button: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: button, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

describe('blanks at the ends of what is pasted', { skip: noChromium }, () => {
  it('are taken off each value of a record, and those that are stored stay', async (t) => {
    const stored = { hostname: 'db', port: 5432, username: ' ops ', labels: { note: ' as it is ' } }
    const server = await startConsoleServer(t, { records: [{ name: 'stored', ...stored }] })
    const recordNow = async (name: string) => recordsIn(await server.api('GET', `/configurations/${name}`))[0]
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Add a label' }).click()
    const fields = { Name: 'web1', Hostname: '192.0.2.1', Port: '22', Username: 'deploy' }
    for (const [label, text] of Object.entries(fields)) await fillIn(page, { [label]: pasted(text) })
    await page.getByLabel('Key', { exact: true }).fill(pasted('env'))
    await page.getByLabel('Value', { exact: true }).fill(pasted('prod one'))
    await send(page, 'Save')
    const { id: _, ...added } = (await recordNow('web1')) ?? assert.fail('web1 was not added')
    assert.deepEqual(added, {
      ...{ name: 'web1', hostname: '192.0.2.1', port: 22, username: 'deploy' },
      labels: { env: 'prod one' },
    })

    await editRecord(page, 'stored')
    await fillIn(page, { Port: '5433' })
    await send(page, 'Save')
    const { id: __, ...changed } = (await recordNow('stored')) ?? assert.fail('stored is gone')
    assert.deepEqual(changed, { name: 'stored', ...stored, port: 5433 })
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await fillIn(page, { Username: ' root ' })
    await send(page, 'Save')
    assert.equal((await recordNow('stored'))?.username, 'root')
  })

  it('are taken off what many records get', async (t) => {
    const server = await startConsoleServer(t, { records: 2 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    const open = async (word: string) => {
      await page.getByRole('button', { name: word, exact: true }).click()
      await page.getByText(/^This (changes|labels) 2 records/).waitFor()
    }
    await open('Change')
    await fillIn(page, { Hostname: pasted('web.example.net'), Username: pasted(''), Port: pasted('2222') })
    await send(page, 'Change')
    await open('Label')
    await page.getByRole('dialog').getByLabel('Key', { exact: true }).fill(pasted('team'))
    await fillIn(page, { Value: pasted('a') })
    await send(page, 'Label')
    for (const record of recordsIn(await server.api('GET', '/configurations/'))) {
      const { hostname, port, username, labels } = record
      assert.deepEqual([hostname, port, labels?.team], ['web.example.net', 2222, 'a'])
      assert.notEqual(username.trim(), '')
    }
  })

  it('are taken off the name and the limits of an account, never off its password', async (t) => {
    const server = await startConsoleServer(t)
    const page = await openConsole(t, {
      server,
      path: '/console/?view=accounts',
      expected: { statuses: [400] },
    })
    await logIn(page, admin.username, admin.password)
    const ask = createClient(server.url, await startSession(server.url, admin))
    const grantsNow = async () => {
      const answer = await ask('GET', '/v1/users/eve')
      return answer.json<{ accounts: { grants?: string[] }[] }>().accounts[0]?.grants
    }
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add a user' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill(pasted('eve'))
    await dialog.getByLabel(/^Password/).fill(' a good password ')
    await dialog.getByLabel('Only some records').check()
    await dialog.getByLabel('Name begins with').fill(pasted('a/'))
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await dialog.getByText('The password begins or ends with white space').waitFor()
    await dialog.getByLabel(/^Password/).fill('a good password')
    await send(page, 'Add')
    assert.deepEqual(await grantsNow(), ['read?prefix=a%2F'])

    // What nobody touches in the form stays, also an & in a value.
    const kept = 'read?prefix=b%20&label=team=R%26D'
    await ask('PATCH', '/v1/users/eve', { body: { grants: [kept] } })
    await page.reload()
    await page.getByRole('button', { name: 'Change eve' }).click()
    await dialog.getByRole('button', { name: 'Add a limit' }).click()
    await dialog.getByLabel('Name begins with').last().fill('a/')
    await send(page, 'Save')
    assert.deepEqual(await grantsNow(), ['read?prefix=a%2F', kept])
  })
})
