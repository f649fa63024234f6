import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn, sendLogIn } from './support/log-in.ts'
import { screenshot } from './support/screenshot.ts'
import { showsNames } from './support/shows-names.ts'

const HEADER = 'name,hostname,port,username\n'
const HOSTILE = '<b>x</b>\u202etxt'
const VIEW = '/console/?view=exchange'
/** 400 for a file with faults, 503 where a choice breaks off a check: then the page sends the next one again. */
const REFUSED_CHECKS = [400, 503]

const file = (text: string | Buffer, name = 'hosts.csv') => ({
  name,
  mimeType: '',
  buffer: Buffer.from(text),
})
const choose = (page: Page, text: string | Buffer, name?: string) =>
  page.locator('#import-file').setInputFiles(file(text, name))
const check = (page: Page) => page.getByRole('button', { name: 'Check' }).click()
const importNow = (page: Page) => page.getByRole('button', { name: 'Import', exact: true }).click()

describe('the import', { skip: noChromium }, () => {
  it('shows each fault with its line; then the dry run, the import and the list', async (t) => {
    const server = await startConsoleServer(t, { records: 2 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: REFUSED_CHECKS } })
    await logIn(page, admin.username, admin.password)
    await choose(page, `${HEADER}"${HOSTILE}",h,ssh,u\n,h2,70000,u\n`)
    const table = page.getByRole('region', { name: 'Errors in the file' })
    await table.waitFor()
    assert.deepEqual(
      await table.locator('tbody tr').evaluateAll((rows) => rows.map(({ textContent }) => textContent)),
      [
        '2<b>x</b>U+202Etxtport must be an integer from 1 to 65535"<b>x</b>U+202Etxt",h,ssh,u',
        '3name must not be empty,h2,70000,u',
        '3port must be an integer from 1 to 65535,h2,70000,u',
      ],
    )
    assert.equal(
      await page.evaluate('document.activeElement.getAttribute("aria-label")'),
      'Errors in the file',
    )
    assert.equal(await page.locator('#import-format').inputValue(), 'csv')
    await assertAccessible(page)
    await screenshot(page, 'import-faults')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 320, height: 800 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
    await assertAccessible(page)
    await screenshot(page, 'import-faults')
    await page.setViewportSize({ width: 1280, height: 800 })

    const body = Array.from({ length: 250 }, (_, index) => `new-${index},h,22,u\n`).join('')
    await choose(page, `${HEADER}"${HOSTILE}",h,22,u\nrecord-1,other,22,u\n${body}`)
    await page
      .getByText('Checked: an import would give 251 added, 1 modified, 0 removed, 0 unchanged.')
      .waitFor()
    const modified = page.getByRole('list', { name: 'Names' }).filter({ hasText: 'record-1' })
    await modified.getByText('hostname: host-1.example → other').waitFor()
    await page.getByText('251 added', { exact: true }).click()
    await page.getByText('and 51 more').waitFor()
    await page.getByRole('list', { name: 'Names' }).getByText('<b>x</b>U+202Etxt').waitFor()
    await page.getByRole('region', { name: 'The first records' }).getByText('<b>x</b>U+202Etxt').waitFor()
    await assertAccessible(page)
    await screenshot(page, 'import-checked')
    await importNow(page)
    await page.getByText('Imported: 251 added, 1 modified, 0 removed, 0 unchanged.').waitFor()
    await page.getByRole('link', { name: 'Show the records' }).click()
    await page.getByText('1–50 of 253').waitFor()
  })

  it('takes pasted text by keyboard alone; replace asks, and Escape keeps all', async (t) => {
    const server = await startConsoleServer(t, { records: 2 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: REFUSED_CHECKS } })
    await logIn(page, admin.username, admin.password)
    await page.locator('#import-text').focus()
    await page.keyboard.insertText('Host web1\n  HostName h.example.net\n  User deploy\n')
    await page.locator('#import-format:has(option:checked[value="ssh-config"])').waitFor()
    // What a person chooses stays while the text goes on as it began.
    await page.locator('#import-format').selectOption('csv')
    await page.locator('#import-text').focus()
    await page.keyboard.insertText('  Port 22\n')
    await check(page)
    await page.getByText('header names').waitFor()
    assert.equal(await page.locator('#import-format').inputValue(), 'csv')
    await page.locator('#import-format').selectOption('ssh-config')
    await page.locator('#import-text').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    // The username and what to leave out are between the modes and the button.
    for (let i = 0; i < 3; i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('1 added, 0 modified, 2 removed').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const question = page.getByRole('dialog', { name: 'Remove records?' })
    await question.getByText('record-2').waitFor()
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Import')
    await page.keyboard.press('Enter')
    await question.getByRole('button', { name: 'Import and remove' }).click()
    await page.getByText('Imported: 1 added, 0 modified, 2 removed').waitFor()
    await page.keyboard.press('Enter')
    await showsNames(page, ['web1'])
  })

  it('offers to read a file as Windows-1252, and says what its first odd word then is', async (t) => {
    const server = await startConsoleServer(t, { records: 0 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: REFUSED_CHECKS } })
    await logIn(page, admin.username, admin.password)
    await choose(page, Buffer.from(`${HEADER}b\u00fcro,h,22,u\n`, 'latin1'))
    await page.getByText('The first word with such a character would be b\u00fcro.').waitFor()
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Read as Windows-1252' }).click()
    await page.getByText('Checked: an import would give 1 added').waitFor()
    await importNow(page)
    await page.getByText('Imported: 1 added').waitFor()
  })

  it('shows a fault of many lines once, with its lines', async (t) => {
    const server = await startConsoleServer(t, { records: 0 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: REFUSED_CHECKS } })
    await logIn(page, admin.username, admin.password)
    await choose(page, 'Host a\nHost b\nHost c\nHost d\nMatch user x\n', 'config')
    const rows = page.getByRole('region', { name: 'Errors in the file' }).locator('tbody tr')
    await rows.first().waitFor()
    const texts = await rows.evaluateAll((all) => all.map(({ textContent }) => textContent))
    assert.match(texts[0] ?? '', /^5Match cannot be followed/)
    assert.match(texts[1] ?? '', /^1, 2, 3 and 1 moreUser is missing/)
  })

  it('takes a username, and what to leave out, for the formats that have them; shows what was left out', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: REFUSED_CHECKS } })
    await logIn(page, admin.username, admin.password)
    const username = page.getByLabel('Username where there is none')
    const skip = page.getByLabel('Leave out what cannot be kept')
    await choose(page, `${HEADER}a,h,1,u\n`)
    await page.getByText('Checked: an import would give 1 added').waitFor()
    assert.deepEqual([await username.isVisible(), await skip.isVisible()], [true, true])
    await choose(page, 'Host web1\n  ForwardAgent yes\nHost web3\n  ProxyCommand x\n', 'config')
    await page.getByRole('region', { name: 'Errors in the file' }).waitFor()
    await username.fill('deploy')
    await skip.check()
    await check(page)
    const left = page.getByRole('region', { name: 'Left out' })
    await left.getByText('ForwardAgent was left out').waitFor()
    await left.getByText('ProxyCommand cannot be kept').waitFor()
    await assertAccessible(page)
    await importNow(page)
    await page.getByText('Imported: 1 added').waitFor()
    await left.getByText('ForwardAgent was left out').waitFor()
    await choose(page, '{"_meta":{"hostvars":{"web2":{"x":1}}}}', 'inventory.json')
    await page.getByText('Checked: an import would give 1 added').waitFor()
    assert.deepEqual([await username.isVisible(), await skip.isVisible()], [true, true])
    assert.equal(await page.locator('#import-format').inputValue(), 'ansible')
    await left.getByText('variables were left out: x of 1 host').waitFor()
  })

  it('shows what becomes of each column, and takes another choice, by keyboard alone', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: REFUSED_CHECKS } })
    await logIn(page, admin.username, admin.password)
    const rows = [
      'Host Name;IP;Rack;Root Password;Größe;<b>',
      'web6;192.0.2.6;A1;hunter2;9;',
      'web7;h;;;;b',
      ';;;;;',
    ]
    await choose(page, Buffer.from(`\ufeffsep=;\r\n${rows.join('\r\n')}\r\n`, 'utf16le'), 'rack.csv')
    const columns = page.getByRole('group', { name: 'Columns', exact: true })
    const choiceOf = (column: string) => columns.getByRole('combobox', { name: column, exact: true })
    const shownChoices = () => columns.locator('option:checked').allTextContents()
    const focused = () =>
      page.evaluate('document.activeElement.id || document.activeElement.getAttribute("aria-labelledby")')
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const faults = page.getByRole('region', { name: 'Errors in the file' })
    await faults.getByText('header names "Rack", "Größe" and "<b>", which are not fields').waitFor()
    await columns.getByText('Never taken: its name says a secret').waitFor()
    assert.equal(await faults.getByText(/extra=|map=/).count(), 0)
    const open = ['Choose…', 'Choose…', 'Choose…']
    assert.deepEqual(await shownChoices(), ['Say it for each', 'Hostname', 'Hostname', ...open])
    assert.equal(await focused(), 'import-extra')
    await assertAccessible(page)
    await screenshot(page, 'import-columns')

    await press('A')
    await faults.getByText('header does not name name, port and username').waitFor()
    assert.deepEqual(await shownChoices(), ['Are left out', 'Hostname', 'Hostname', ...open.fill('Left out')])
    await press('Tab', 'N')
    await faults.getByText('header does not name port and username').waitFor()
    assert.equal(await focused(), await choiceOf('Host Name').getAttribute('aria-labelledby'))
    await press('Shift+Tab', 'Shift+Tab', 'Shift+Tab', '2', '2', 'Shift+Tab', 'o', 'p', 's', 'Tab')
    const first = page.getByRole('region', { name: 'The first records' })
    const firstRows = () =>
      first.locator('tbody tr').evaluateAll((all) => all.map((row) => (row as HTMLElement).innerText))
    await page.getByText('Checked: an import would give 2 added').waitFor()
    assert.deepEqual(await firstRows(), ['web6\t192.0.2.6\t22\tops', 'web7\th\t22\tops'])
    assert.equal(await focused(), 'import-port')
    await press('Tab', 'Tab', 'Tab', 'Tab', 'Tab', 'A')
    await first.getByText('rack=A1').waitFor()
    await press('Tab', 'Tab', 'A')
    await first.getByText('gro-e=9').waitFor()
    await press('Tab')
    await page.keyboard.insertText('size')
    await press('Tab')
    await first.getByText('size=9').waitFor()
    assert.deepEqual(await firstRows(), ['web6\t192.0.2.6\t22\tops\track=A1, size=9', 'web7\th\t22\tops\t'])
    await assertAccessible(page)
    await screenshot(page, 'import-columns-chosen')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 320, height: 800 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
    await assertAccessible(page)
    await screenshot(page, 'import-columns-chosen')
    await page.setViewportSize({ width: 1280, height: 800 })

    // A file with the same header is read in the same way.
    await choose(page, Buffer.from(`\ufeff${rows.slice(0, 2).join('\n')}\n`, 'utf16le'), 'rack.csv')
    await page.getByText('Checked: an import would give 1 added').waitFor()
    await importNow(page)
    await page.getByText('Imported: 1 added').waitFor()
    const record = recordsIn(await server.api('GET', '/configurations/web6'))[0]
    assert.deepEqual(record?.labels, { rack: 'A1', size: '9' })
    await choose(page, 'web8 192.0.2.8', 'hosts.csv')
    await faults.getByText('of which none is known').waitFor()
    assert.deepEqual(await shownChoices(), ['Say it for each', 'Choose…'])
    await choose(page, 'Host web1\n  User u\n', 'config')
    await page.getByText('Checked: an import would give 1 added').waitFor()
    assert.equal(await columns.isVisible(), false)
  })

  it('checks again by itself while the server is still at the check that a choice broke off', async (t) => {
    const server = await startConsoleServer(t)
    const expected = { statuses: [503], hasLostConnections: true }
    const page = await openConsole(t, { server, path: VIEW, expected })
    await logIn(page, admin.username, admin.password)
    let asked = 0
    const isAsked = Promise.withResolvers<void>()
    await page.route('**/v1/import?*', async (route) => {
      asked += 1
      if (asked === 1) isAsked.resolve()
      else if (asked === 2) await route.fulfill({ status: 503, headers: { 'Retry-After': '1' } })
      else await route.continue()
    })
    await choose(page, `${HEADER}a,h,22,u\n`)
    await isAsked.promise
    await page.getByRole('radio', { name: 'Replace' }).check()
    await page.getByText('Checked: an import would give 1 added').waitFor()
    assert.equal(asked, 3)
  })

  it('removes nothing that was added since the check: it checks again, and says so', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: [412] } })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('radio', { name: 'Replace' }).check()
    await choose(page, `${HEADER}new,h,22,u\n`)
    await page.getByText('Checked: an import would give 1 added, 0 modified, 1 removed').waitFor()
    await server.api('POST', '/configurations/', { body: draft('unseen') })
    await importNow(page)
    await page.getByRole('button', { name: 'Import and remove' }).click()
    await page.getByText('The records have changed since the check, so nothing is imported.').waitFor()
    await page.getByText('Checked: an import would give 1 added, 0 modified, 2 removed').waitFor()
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Import')
    await assertAccessible(page)
    const listed = recordsIn(await server.api('GET', '/configurations/'))
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['record-1', 'unseen'],
    )
    await importNow(page)
    await page.getByRole('dialog').getByText('unseen').waitFor()
    await page.getByRole('button', { name: 'Import and remove' }).click()
    await page.getByText('Imported: 1 added, 0 modified, 2 removed').waitFor()
  })

  it('goes on over changes that leave it as it was shown, and through a proxy that compresses', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: [412] } })
    await logIn(page, admin.username, admin.password)
    let [port, asked] = [1, 0]
    await page.route('**/v1/import?*', async (route) => {
      asked += 1
      const isTrial = route.request().url().includes('dry_run')
      if (!isTrial && port < 4) {
        port += 1
        await server.api('PATCH', '/configurations/record-1', { body: { port } })
      }
      const response = await route.fetch()
      const { etag = '""', ...headers } = response.headers()
      const compressed = asked % 2 === 0 ? `W/${etag}` : etag.replace(/"$/, '-gzip"')
      await route.fulfill({ response, headers: { ...headers, etag: compressed } })
    })
    await choose(page, `${HEADER}new,h,22,u\n`)
    await page.getByText('Checked: an import would give 1 added').waitFor()
    await importNow(page)
    await page.getByText('Imported: 1 added, 0 modified, 0 removed').waitFor()
    // 412 three times, and a check after each.
    assert.equal(asked, 8)
  })

  it('takes a dropped file anywhere, and says what is wrong with one', async (t) => {
    const server = await startConsoleServer(t)
    const page = await openConsole(t, { server, path: VIEW })
    await logIn(page, admin.username, admin.password)
    await drop(page, 'hosts.txt', `{"name":"${HOSTILE}","hostname":"h","port":22,"username":"u"}\n`)
    await page.getByText('Checked: an import would give 1 added').waitFor()
    assert.equal(await page.locator('#import-format').inputValue(), 'jsonl')
    await drop(page, 'empty.csv', '')
    await page.getByText('The file is empty').waitFor()
    await choose(page, Buffer.of(0x50, 0x4b, 3, 4), 'sheet.xlsx')
    await page.getByText('It is a workbook').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled())
  })

  it('keeps the file and the choices over each refusal, a lost server and an ended session', async (t) => {
    const server = await startConsoleServer(t)
    const expected = { statuses: [403, 413, 503, 507], hasLostConnections: true }
    const page = await openConsole(t, { server, path: VIEW, expected })
    await logIn(page, admin.username, admin.password)
    const answers = [
      {
        status: 503,
        headers: { 'Retry-After': '7' },
        code: 'busy',
        words: 'Another import is under way. Try again in 7 s.',
      },
      { status: 507, headers: {}, code: 'storage_full', words: 'The disk is full.' },
    ]
    for (const { status, headers, code, words } of answers) {
      await page.route('**/v1/import?*', (route) => {
        const type = `urn:connbook:problem:${code}`
        const detail = words.replace(/\..*/, '')
        return route.fulfill({
          status,
          headers: { 'Content-Type': 'application/problem+json', ...headers },
          body: JSON.stringify({ type, title: 'x', status, detail }),
        })
      })
      await choose(page, `${HEADER}a,h,22,u\n`)
      await page.getByText(words).waitFor()
      await page.unroute('**/v1/import?*')
    }
    await page.route('**/v1/import?*', (route) => route.fulfill({ status: 413, body: '<html>nginx</html>' }))
    await check(page)
    await page.getByText('The file is too large').waitFor()
    await page.unroute('**/v1/import?*')
    await check(page)
    await page.getByText('Checked: an import would give 1 added').waitFor()

    await page.route('**/v1/import?*', (route) => route.abort('connectionreset'))
    await importNow(page)
    await page.getByText(/Cannot reach the server; nothing|The server went away before/).waitFor()
    await page.unroute('**/v1/import?*')
    await page.context().clearCookies()
    await importNow(page)
    await page.getByText('The session has ended').waitFor()
    await sendLogIn(page, admin.username, admin.password)
    await page.getByText('Imported: 1 added').waitFor()

    const path = join(await temporaryFolder(t), 'hosts.csv')
    await writeFile(path, `${HEADER}b,h,22,u\n`)
    await page.locator('#import-file').setInputFiles(path)
    await page.getByText('Checked: an import would give 1 added').waitFor()
    await writeFile(path, `${HEADER}b,h,22,u\nc,h,22,u\n`)
    await importNow(page)
    await page.getByText('it has changed or gone since you chose it').waitFor()
  })
})

describe('the export', { skip: noChromium }, () => {
  it('downloads each format with the bytes of the API, for a user who may only read', async (t) => {
    const server = await startConsoleServer(t, { records: 3 })
    const page = await openConsole(t, { server, path: VIEW })
    await logIn(page, reader.username, reader.password)
    await page.getByText('read-only').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Import', exact: true }).isVisible(), false)
    for (const [title, format] of [
      ['JSON', 'json'],
      ['JSON lines', 'jsonl'],
      ['CSV', 'csv'],
      ['ssh_config', 'ssh-config'],
      ['Ansible inventory', 'ansible'],
      ['Ansible inventory as JSON', 'ansible-json'],
      ['PostgreSQL services', 'pg-service'],
      ['Prometheus targets', 'prometheus-sd'],
      ['Hosts', 'hosts'],
      ['Variables', 'env'],
    ]) {
      const downloading = page.waitForEvent('download')
      await page.getByRole('button', { name: `Download ${title}`, exact: true }).click()
      const download = await downloading
      const answer = await server.api('GET', `/v1/export?format=${format}`)
      assert.equal(await readFile(await download.path(), 'utf8'), answer.text)
      assert.ok(answer.headers['content-disposition']?.includes(`"${download.suggestedFilename()}"`))
    }
    await assertAccessible(page)
    await screenshot(page, 'export-reader')
  })

  it('downloads what the list shows', async (t) => {
    const records = [draft('web1', { labels: { env: 'prod' } }), draft('web2'), draft('a b')]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–3 of 3').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Export these' }).isVisible(), false)
    await page.getByRole('searchbox').fill('web')
    await page.getByText('1–2 of 2').waitFor()
    await page.getByRole('link', { name: 'env=prod' }).first().click()
    await page.getByRole('link', { name: 'Export these' }).click()
    await page.getByText('Downloads the records with search: web · label: env=prod as one file.').waitFor()
    await assertAccessible(page)
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download ssh_config' }).click()
    const text = await readFile(await (await downloading).path(), 'utf8')
    assert.deepEqual(text.match(/^Host .*$/gm), ['Host web1'])
    await page.getByRole('link', { name: 'All records' }).click()
    await page.getByText('Downloads all records as one file.').waitFor()
  })

  it('names the records that do not fit, and leaves them out if asked; asks for a new login', async (t) => {
    const fields = { hostname: 'h', port: 22, username: 'u' }
    const records = [
      { name: `file ${HOSTILE}`, ...fields },
      { name: 'web1', ...fields },
    ]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server, path: VIEW, expected: { statuses: [403, 422, 503] } })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('button', { name: 'Download ssh_config' }).click()
    await page.getByText('Cannot express 1 of 2 records as ssh-config').waitFor()
    await page
      .getByRole('region', { name: 'Records that do not fit' })
      .getByText('file <b>x</b>U+202Etxt')
      .waitFor()
    await assertAccessible(page)
    await screenshot(page, 'export-refused')
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the others' }).click()
    assert.match(await readFile(await (await downloading).path(), 'utf8'), /^Host web1\n/)
    await page.getByText('with 1 record; 1 left out').waitFor()

    await page.route('**/v1/export?*', (route) =>
      route.fulfill({ status: 503, headers: { 'Retry-After': '4' } }),
    )
    await page.getByRole('button', { name: 'Download JSON', exact: true }).click()
    await page.getByText('refused with 503. Try again in 4 s.').waitFor()
    await page.unroute('**/v1/export?*')
    await page.context().clearCookies()
    const second = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download JSON', exact: true }).click()
    await page.getByText('The session has ended').waitFor()
    await sendLogIn(page, admin.username, admin.password)
    assert.equal((await second).suggestedFilename().endsWith('.json'), true)
  })
})

async function drop(page: Page, name: string, text: string): Promise<void> {
  const transfer = await page.evaluateHandle<object>(
    `(() => { const transfer = new DataTransfer(); transfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)})); return transfer })()`,
  )
  for (const type of ['dragover', 'drop'])
    await page.locator('main').dispatchEvent(type, { dataTransfer: transfer })
}
