import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { getToken, logIn as startSession } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'

const hostile = '<b>eve</b>\u202e'

async function openAccounts(t: TestContext, statuses: readonly number[] = []) {
  const server = await startConsoleServer(t)
  const page = await openConsole(t, { server, path: '/console/?view=accounts', expected: { statuses } })
  await logIn(page, admin.username, admin.password)
  await page.getByRole('button', { name: 'Change reader' }).waitFor()
  return { server, page, ask: createClient(server.url, await startSession(server.url, admin)) }
}

/** The cells of each row, of users and then of clients. */
async function rowsOf(page: Page): Promise<string[]> {
  const rows = await page.locator('.accounts tbody tr').all()
  return Promise.all(
    rows.map(async (row) => (await row.locator('th, td').allInnerTexts()).slice(0, 2).join(': ')),
  )
}

describe('accounts in the console', { skip: noChromium }, () => {
  it('are listed, added, changed and removed: users', async (t) => {
    const { page, server, ask } = await openAccounts(t, [400, 409])
    assert.deepEqual(await rowsOf(page), [
      'admin: read and change records, and manage accounts',
      'reader: read',
      'script: read and change records',
    ])
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Add a user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(hostile)
    await dialog.getByLabel(/^Password/).fill('short')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await dialog.getByText('The password is shorter than 8 characters; choose a longer one.').waitFor()
    await assertAccessible(page)
    await dialog.getByLabel(/^Password/).fill('a good password')
    await dialog.getByLabel('May').selectOption('read')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('<b>eve</b>').first().waitFor()
    await startSession(server.url, { username: hostile, password: 'a good password' })

    await page.getByRole('button', { name: `Change ${hostile}` }).click()
    await dialog.getByLabel('May').selectOption('admin')
    await dialog.getByLabel(/^New password/).fill('another password')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const changed = await ask('GET', `/v1/users/${encodeURIComponent(hostile)}`)
    assert.equal(changed.json<{ accounts: { scope: string }[] }>().accounts[0]?.scope, 'admin')
    await startSession(server.url, { username: hostile, password: 'another password' })

    await page.getByRole('button', { name: `Remove ${hostile}` }).click()
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText(/^Removed/).waitFor()
    await page.getByRole('button', { name: 'Remove admin' }).click()
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('Cannot remove the user "admin": no other user is an admin').waitFor()
    await page.getByRole('button', { name: `Remove ${hostile}` }).waitFor({ state: 'detached' })
    assert.equal((await rowsOf(page)).length, 3)
  })

  it('are asked about before what was typed of one is dropped', async (t) => {
    const { page } = await openAccounts(t)
    const form = page.getByRole('dialog', { name: 'Change a client' })
    const open = async () => {
      await page.getByRole('button', { name: 'Change script' }).click()
      await form.getByText('All records').waitFor()
    }
    await open()
    await page.keyboard.press('Escape')
    await form.waitFor({ state: 'detached' })
    await open()
    await form.getByLabel('Only some records').check()
    await form.getByLabel('Name begins with').fill('a/')
    await page.keyboard.press('Escape')
    const question = page.getByRole('dialog', { name: 'Leave' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await form.getByLabel('Name begins with').inputValue(), 'a/')
    await form.getByRole('button', { name: 'Close', exact: true }).click()
    await question.getByRole('button', { name: 'Drop it' }).click()
    await form.waitFor({ state: 'detached' })
  })

  it('show the secret of a client once, and can give it another', async (t) => {
    const { page, server } = await openAccounts(t)
    const dialog = page.getByRole('dialog')
    const takeSecret = async () => {
      const secret = await dialog.locator('code').innerText()
      await dialog.getByRole('button', { name: 'Copy the secret' }).click()
      await page.getByText(/^Copied: the secret$/).waitFor()
      await dialog.getByRole('button', { name: 'Close', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal((await page.content()).includes(secret), false)
      return secret
    }
    await page.getByRole('button', { name: 'Add a client' }).click()
    await dialog.getByLabel('Id').fill('ci')
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    const first = await takeSecret()
    await getToken(server.url, { client_id: 'ci', client_secret: first })
    await page.getByRole('button', { name: 'Change ci' }).click()
    await dialog.getByLabel('Make a new secret').check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.locator('code').waitFor()
    const second = await takeSecret()
    assert.notEqual(second, first)
    await getToken(server.url, { client_id: 'ci', client_secret: second })
    assert.equal((await page.content()).includes(second), false)
  })

  it('are limited to some records, a row for each grant', async (t) => {
    const { page, ask } = await openAccounts(t, [400])
    for (const name of ['a/one', 'a/two', 'b/one'])
      await ask('POST', '/configurations/', {
        body: { name, hostname: 'host', port: 22, username: 'ops', labels: { team: name.slice(0, 1) } },
      })
    const dialog = page.getByRole('dialog')
    const grantsNow = async () => {
      const answer = await ask('GET', '/v1/clients/script')
      return answer.json<{ accounts: { grants?: string[] }[] }>().accounts[0]?.grants
    }
    const change = () => page.getByRole('button', { name: 'Change script' }).click()
    const save = async () => {
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await change()
    await dialog.getByLabel('Only some records').check()
    await dialog.getByText('3 records').waitFor()
    await dialog.getByLabel('Name begins with').fill('a/')
    await dialog.getByLabel('Labels, with & between').fill('team=a & !secret')
    await dialog.getByLabel('May do').selectOption('change')
    await dialog.getByText('2 records').waitFor()
    await assertAccessible(page)
    await save()
    assert.deepEqual(await grantsNow(), ['write?prefix=a%2F&label=!secret&label=team=a'])
    await page.getByText('; only: change a/… & !secret & team=a').waitFor()
    await change()
    await dialog.getByText('2 records').waitFor()
    await dialog.getByLabel('May').first().selectOption('admin')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('The grants must not be there for an admin').waitFor()
    await dialog.getByLabel('May').first().selectOption('write')
  })

  for (const kind of ['user', 'client'] as const)
    it(`see all records only when a person says so: a ${kind}`, async (t) => {
      const { page, ask } = await openAccounts(t)
      for (const name of ['a/one', 'a/two', 'b/one'])
        await ask('POST', '/configurations/', { body: { name, hostname: 'host', port: 22, username: 'ops' } })
      const grants = ['write?prefix=a%2F']
      const secret = kind === 'user' ? { password: 'a good password' } : {}
      await ask('POST', `/v1/${kind}s/`, { body: { name: 'contractor', grants, ...secret } })
      const grantsOf = async (name: string) => {
        const answer = await ask('GET', `/v1/${kind}s/${name}`)
        return answer.json<{ accounts: { grants?: string[] }[] }>().accounts[0]?.grants
      }
      const form = page.getByRole('dialog', { name: /^(Add|Change) a/ })
      const question = page.getByRole('dialog', { name: 'All records' })
      const openForm = async (button: string) => {
        await page.getByRole('button', { name: button }).click()
        await form.getByRole('group', { name: 'Records' }).waitFor()
      }
      await page.reload()
      await openForm('Change contractor')
      await form.getByRole('button', { name: 'Remove this limit' }).click()
      await form.getByRole('button', { name: 'Save' }).click()
      await form.getByText('Choose which records: all, or only some.').waitFor()
      await assertAccessible(page)
      await form.getByLabel('All records').check()
      await form.getByRole('button', { name: 'Save' }).click()
      await question.getByText('contractor sees all records: 3 now. It may change all of them').waitFor()
      await assertAccessible(page)
      await question.getByRole('button', { name: 'Cancel' }).click()
      assert.deepEqual(await grantsOf('contractor'), grants)
      // A limit that says nothing is none.
      await form.getByLabel('Only some records').check()
      await form.getByLabel('May', { exact: true }).selectOption('read')
      await form.getByRole('button', { name: 'Save' }).click()
      assert.match(await question.innerText(), /contractor sees all records: 3 now\.\n/)
      await question.getByRole('button', { name: 'Take the limits away' }).click()
      await form.waitFor({ state: 'detached' })
      assert.deepEqual(await grantsOf('contractor'), ['read'])

      await openForm(`Add a ${kind}`)
      await form.getByLabel(kind === 'user' ? 'Name' : 'Id', { exact: true }).fill('another')
      await form.getByLabel(/^(Password|Secret)/).fill('a good password, a long one')
      await form.getByLabel('Only some records').check()
      await form.getByRole('button', { name: 'Remove this limit' }).click()
      await form.getByRole('button', { name: 'Add', exact: true }).click()
      await form.getByText('Choose which records: all, or only some.').waitFor()
      await form.getByLabel('All records').check()
      await form.getByRole('button', { name: 'Add', exact: true }).click()
      await question.getByRole('button', { name: 'Take the limits away' }).click()
      await form.waitFor({ state: 'detached' })
      assert.equal(await grantsOf('another'), undefined)
    })

  it('with one grant to change records, have a form filled with what that asks for', async (t) => {
    const { server, ask } = await openAccounts(t)
    const limited = { username: 'limited', password: 'a good password' }
    const made = await ask('POST', '/v1/users/', {
      body: {
        name: 'limited',
        password: limited.password,
        grants: ['read', 'write?prefix=a%2F&label=team=a'],
      },
    })
    assert.equal(made.status, 201, made.text)
    const page = await openConsole(t, { server, expected: { statuses: [403] } })
    await logIn(page, limited.username, limited.password)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a record' })
    assert.equal(await dialog.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), 'a/')
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('b/new')
    await dialog.getByRole('textbox', { name: 'Hostname', exact: true }).fill('host')
    await dialog.getByRole('textbox', { name: 'Username', exact: true }).fill('ops')
    await dialog.getByRole('textbox', { name: 'Port', exact: true }).fill('22')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('This account may change only records').waitFor()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('a/new')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const added = await ask('GET', '/configurations/a%2Fnew')
    assert.deepEqual(added.json<{ configurations: { labels?: object }[] }>().configurations[0]?.labels, {
      team: 'a',
    })
  })

  it('are not in the menu of others, and say so when the right has gone', async (t) => {
    const { page, server } = await openAccounts(t, [403])
    const link = page.getByRole('link', { name: 'Accounts' })
    assert.equal(await link.count(), 1)
    const demotion = ['user', 'set', 'admin', '--read-write', '--data', server.folder]
    assert.equal((await runCommand(demotion, { input: '' })).code, 0)
    await page.getByRole('button', { name: 'Change script' }).click()
    await page.getByRole('dialog').getByLabel('May').selectOption('read')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('This credential cannot manage accounts').waitFor()
    const other = await openConsole(t, { server })
    await logIn(other, reader.username, reader.password)
    assert.equal(await other.getByRole('link', { name: 'Accounts' }).count(), 0)
  })
})
