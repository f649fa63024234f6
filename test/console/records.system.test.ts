import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { backToList, editRecord, openRecord } from './support/record-page.ts'
import { showsNames } from './support/shows-names.ts'

const names = (page: Page) => page.locator('td.name').allTextContents()
const record = (name: string, port: number, labels?: Record<string, string>) => ({
  name,
  hostname: `${name}.example.net`,
  port,
  username: 'deploy',
  ...(labels ? { labels } : {}),
})
describe('the list of the console', { skip: noChromium }, () => {
  it('asks three files, then two calls of the API', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server })
    const paths: string[] = []
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['record-1'])
    // When the stream begins, the list is read once more.
    await page.route('**/v1/events*', () => {})
    page.on('request', (request) => {
      if (request.isNavigationRequest()) paths.length = 0
      paths.push(new URL(request.url()).pathname)
    })
    await page.reload()
    await showsNames(page, ['record-1'])
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    assert.equal(paths.filter((path) => path.startsWith('/console/')).length, 3)
    assert.deepEqual(paths.filter((path) => !path.startsWith('/console/') && path !== '/v1/events').sort(), [
      '/configurations/',
      '/v1/whoami',
    ])
  })

  it('stays within its window, however long the labels are', async (t) => {
    const key = `k${'x'.repeat(62)}`
    const records = [
      record('alpha', 1, { [key]: 'v'.repeat(255) }),
      record('beta', 2, { env: `a${'\u0301'.repeat(254)}` }),
    ]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['alpha', 'beta'])
    for (const width of [320, 768, 1440]) {
      await page.setViewportSize({ width, height: 800 })
      const widths =
        'const { scrollWidth, clientWidth } = document.documentElement; [scrollWidth, clientWidth]'
      const [content = 0, window = 0] = await page.evaluate<number[]>(widths)
      assert.ok(content <= window, `${content} in ${window}`)
    }
  })

  it('shows a record in two lines on a phone', async (t) => {
    const records = [record('db', 5432), record('web1', 22, { env: 'prod' })]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server })
    await page.setViewportSize({ width: 375, height: 700 })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['db', 'web1'])
    /** Where cells overlap from top to bottom: the line that they stand in. */
    const lineOf = async (row: number, ...cells: string[]) => {
      const boxes = cells.map((cell) =>
        page.locator(`.records tbody tr:nth-child(${row}) td.${cell}`).boundingBox(),
      )
      const found = (await Promise.all(boxes)).map((box) => box ?? assert.fail(`${cells}`))
      const line = {
        top: Math.max(...found.map(({ y }) => y)),
        bottom: Math.min(...found.map(({ y, height }) => y + height)),
      }
      assert.ok(line.top < line.bottom, `${cells} are not in one line`)
      return line
    }
    for (const row of [1, 2]) {
      const first = await lineOf(row, 'name', 'actions')
      const second = await lineOf(row, 'hostname', 'port', 'username')
      assert.ok(first.bottom < second.bottom && first.top < second.top, JSON.stringify([first, second]))
    }
  })

  it('asks before a reload drops what was typed', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['record-1'])
    await page.keyboard.press('n')
    await page.getByLabel('Name', { exact: true }).fill('typed')
    const asked = page.waitForEvent('dialog')
    await page.evaluate('void setTimeout(() => location.reload())')
    const dialog = await asked
    assert.equal(dialog.type(), 'beforeunload')
    await dialog.dismiss()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed')
    await page.getByRole('button', { name: 'Close', exact: true }).last().click()
    await page.getByRole('button', { name: 'Drop it' }).click()
    await page.reload()
    await showsNames(page, ['record-1'])
  })

  it('sorts, searches, filters by a label and turns pages, and its address says so', async (t) => {
    const records = [
      record('alpha', 3, { env: 'prod' }),
      record('beta', 1, { env: 'prod', group: 'web' }),
      record('gamma', 2),
    ]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['alpha', 'beta', 'gamma'])
    await page.getByRole('link', { name: /^Port/ }).click()
    await showsNames(page, ['beta', 'gamma', 'alpha'])
    await page.getByRole('link', { name: /^Port/ }).click()
    await showsNames(page, ['alpha', 'gamma', 'beta'])
    assert.equal(await page.locator('th.port').getAttribute('aria-sort'), 'descending')
    await page.getByRole('link', { name: 'env=prod' }).first().click()
    await showsNames(page, ['alpha', 'beta'])
    await page.getByRole('searchbox').fill('ALPH')
    await showsNames(page, ['alpha'])
    assert.equal(new URL(page.url()).search, '?q=ALPH&label=env%3Dprod&sort=-port')

    const second = await page.context().newPage()
    await second.goto(page.url())
    await showsNames(second, ['alpha'])
    assert.equal(await second.getByRole('searchbox').inputValue(), 'ALPH')
    await second.close()
    await page.reload()
    await showsNames(page, ['alpha'])

    await page.getByRole('link', { name: 'Remove the filter label: env=prod' }).click()
    await page.getByRole('searchbox').fill('')
    await showsNames(page, ['alpha', 'gamma', 'beta'])
    await page.goBack()
    await showsNames(page, ['alpha'])
    await page.getByRole('searchbox').fill('nothing has this')
    await page.getByText('No matching records').waitFor()
    await page.getByRole('link', { name: 'Show all records' }).click()
    await showsNames(page, ['alpha', 'gamma', 'beta'])
  })

  it('shows fifty of many, and goes to any page of them', async (t) => {
    const server = await startConsoleServer(t, { records: 120 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–50 of 120').waitFor()
    await page.getByRole('link', { name: 'Last' }).click()
    await page.getByText('101–120 of 120').waitFor()
    assert.equal((await names(page)).length, 20)
    await assertAccessible(page)
    await page.getByRole('link', { name: 'Previous' }).click()
    await page.getByText('51–100 of 120').waitFor()
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    assert.deepEqual(await links.allInnerTexts(), ['First', 'Previous', 'Next', 'Last'])
    await links.first().click()
    await page.getByText('1–50 of 120').waitFor()
  })

  it('shows the last page in place of one that is not there, also once others have removed it', async (t) => {
    const server = await startConsoleServer(t, { records: 101 })
    const page = await openConsole(t, { server, path: '/console/?page=99&sort=-name' })
    await logIn(page, admin.username, admin.password)
    await page.getByText('101–101 of 101').waitFor()
    await page.getByText('Page 3 of 3').waitFor()
    assert.equal(new URL(page.url()).search, '?sort=-name&page=3')
    await server.api('DELETE', '/configurations/record-1')
    await page.getByText('51–100 of 100').waitFor()
    await page.getByText('Page 2 of 2').waitFor()
    assert.equal((await names(page)).length, 50)
    await page.goto(`${server.url}/console/?q=record-2&page=7`)
    await page.getByText('1–11 of 11 found').waitFor()
    await page.goto(`${server.url}/console/?q=nothing&page=7`)
    await page.getByText('No matching records').waitFor()
    assert.equal(await page.getByText(/Page \d/).isVisible(), false)
  })

  it('drops an answer that comes late', async (t) => {
    const server = await startConsoleServer(t, { records: [record('alpha', 1), record('beta', 2)] })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['alpha', 'beta'])
    const held = Promise.withResolvers<void>()
    await page.route('**/configurations/?q=al*', async (route) => {
      await held.promise
      await route.continue().catch(() => {})
    })
    const asked = page.waitForRequest(/q=al/)
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('q=al'))
    await page.getByRole('searchbox').fill('al')
    await asked
    await page.getByRole('searchbox').fill('be')
    await showsNames(page, ['beta'])
    await ended
    held.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    assert.deepEqual(await names(page), ['beta'])
  })

  it('drops its search in another view, whose title says what it shows', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['record-1'])
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.getByRole('searchbox').fill('rec')
    await page.getByRole('link', { name: 'Status' }).click()
    await page.clock.runFor(1_000)
    assert.equal(new URL(page.url()).search, '?view=status')
    assert.equal(await page.title(), 'Status – connbook')
  })
})

describe('a record in the console', { skip: noChromium }, () => {
  it('is added, with every fault at its field, changed, renamed and deleted', async (t) => {
    const server = await startConsoleServer(t, { records: [record('taken', 1)] })
    const page = await openConsole(t, { server, expected: { statuses: [400, 409] } })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['taken'])
    const field = (name: string) => page.getByRole('textbox', { name, exact: true })

    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await field('Name').fill('taken')
    await field('Port').fill('x')
    await page.getByRole('button', { name: 'Add a label' }).click()
    await page.getByRole('combobox', { name: 'Key', exact: true }).fill('Env')
    await page.getByRole('button', { name: 'Save' }).click()
    for (const fault of [
      'Hostname must not be empty.',
      /^Port must be an integer/,
      'Username must not be empty.',
      /^Env is not a label/,
    ])
      await page.getByText(fault).waitFor()
    assert.equal(await page.evaluate('document.activeElement.id'), 'field-hostname')
    await assertAccessible(page)

    await field('Hostname').fill('new.example.net')
    await field('Port').fill('22')
    await field('Username').fill('deploy')
    await page.getByRole('combobox', { name: 'Key', exact: true }).fill('env')
    await page.getByRole('combobox', { name: 'Value', exact: true }).fill('prod')
    await page.getByRole('button', { name: 'Add a label' }).click()
    await page.getByRole('combobox', { name: 'Key', exact: true }).last().fill('env')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('env is there twice; remove one.').waitFor()
    await page.getByRole('button', { name: 'Remove this label' }).last().click()
    assert.equal(await page.evaluate('document.activeElement.value'), 'env')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Another record has the name: taken (deploy@taken.example.net:1).').waitFor()
    await field('Name').fill('new')
    await page.getByRole('button', { name: 'Save' }).click()
    await showsNames(page, ['new', 'taken'])
    await page.getByText('Added new').waitFor()

    await editRecord(page, 'new')
    await field('Name').fill('renamed')
    await page.getByRole('combobox', { name: 'Value', exact: true }).fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'renamed', exact: true }).waitFor()
    assert.equal(new URL(page.url()).search, '?record=renamed')
    await backToList(page)
    await showsNames(page, ['renamed', 'taken'])
    const answer = await server.api('GET', '/configurations/renamed')
    assert.deepEqual(recordsIn(answer), [
      { id: 2, ...record('renamed', 22, { env: '' }), hostname: 'new.example.net' },
    ])

    await openRecord(page, 'renamed')
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByText('changed it').waitFor()
    assert.match(
      await page.getByRole('dialog', { name: 'History' }).innerText(),
      /name: new → renamed[\s\S]*added it/,
    )
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByText('This deletes renamed (deploy@new.example.net:22).').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await showsNames(page, ['taken'])
    assert.equal((await server.api('GET', '/configurations/renamed')).status, 404)
  })

  it('asks before it drops what was typed', async (t) => {
    const server = await startConsoleServer(t)
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await page.getByText('No records yet').waitFor()
    await page.keyboard.press('n')
    await page.keyboard.type('web1')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    assert.equal(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), 'web1')
    if ((await page.getByRole('button', { name: 'Drop it' }).count()) === 0)
      await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Drop it' }).click()
    await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  })

  it('can only be looked at by an account that may only read', async (t) => {
    const server = await startConsoleServer(t, { records: 1 })
    const page = await openConsole(t, { server })
    await logIn(page, reader.username, reader.password)
    await showsNames(page, ['record-1'])
    await page.getByText('read-only').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Add', exact: true }).count(), 0)
    await page.keyboard.press('n')
    await openRecord(page, 'record-1')
    await page.getByRole('button', { name: 'Copy ssh' }).waitFor()
    for (const name of ['Edit', 'Duplicate', 'Delete…'])
      assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name)
    await page.keyboard.press('e')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await assertAccessible(page)
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByRole('dialog', { name: 'History' }).waitFor()
  })

  it('shows hostile values as text', async (t) => {
    const hostile = [
      '<img src=x onerror=alert(1)>',
      '"><script>x</script>',
      '\u202egnp.exe',
      '../../x?y#z%2F',
      "'; DROP",
      '😀'.repeat(255),
    ]
    const records = hostile.map((name, place) => ({
      name,
      hostname: 'h',
      port: place + 1,
      username: name.slice(0, 100),
      labels: { x: name.slice(0, 100) },
    }))
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server, path: '/console/?sort=port' })
    await logIn(page, admin.username, admin.password)
    await showsNames(
      page,
      hostile.map((name) => name.replace('\u202e', 'U+202E')),
    )
    for (const [place, name] of hostile.entries()) {
      await page.locator('tbody tr').nth(place).getByRole('link').first().click()
      const heading = page.getByRole('heading', { level: 2 })
      assert.equal(await heading.innerText(), name.replace('\u202e', 'U+202E'))
      assert.equal(new URL(page.url()).searchParams.get('record'), name)
      await page.keyboard.press('e')
      const field = page.getByRole('textbox', { name: 'Name', exact: true })
      assert.equal(await field.inputValue(), name)
      await page.getByRole('textbox', { name: 'Hostname', exact: true }).fill(`h${place}`)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const said = await page.locator('.notices').innerText()
      assert.equal(said, `Changed ${name.replace('\u202e', 'U+202E')}`)
      await backToList(page)
    }
    await showsNames(
      page,
      hostile.map((name) => name.replace('\u202e', 'U+202E')),
    )
    const answer = await server.api('GET', '/configurations/?sort=port')
    assert.deepEqual(
      recordsIn(answer).map((one) => one.hostname),
      hostile.map((_, place) => `h${place}`),
    )
    await page.setViewportSize({ width: 320, height: 600 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= 320'), true)
  })

  it('is duplicated, and the form offers the labels of those that are listed', async (t) => {
    const labels = { env: 'prod', role: 'web' }
    const server = await startConsoleServer(t, { records: [{ ...record('web1', 2222), labels }] })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    await openRecord(page, 'web1')
    await page.getByRole('button', { name: 'Duplicate' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a record' })
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'web1-copy')
    await dialog.getByLabel('Port').fill('2223')
    await dialog.getByRole('button', { name: 'Add a label' }).click()
    const offered = (id: string) =>
      dialog
        .locator(`#${id} option`)
        .evaluateAll((options) => options.map((each) => each.getAttribute('value')))
    assert.deepEqual(await offered('label-keys'), ['env', 'role'])
    await dialog.getByLabel('Key').last().fill('tier')
    await dialog.getByLabel('Value').last().focus()
    assert.deepEqual(await offered('label-values'), [])
    await dialog.getByLabel('Value').last().fill('1')
    await dialog.getByLabel('Value').first().focus()
    assert.deepEqual(await offered('label-values'), ['prod'])
    await assertAccessible(page)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Added web1-copy').waitFor()
    await page.getByRole('heading', { name: 'web1-copy', exact: true }).waitFor()
    const answer = await server.api('GET', '/configurations/?sort=name')
    assert.deepEqual(
      recordsIn(answer).map(({ name, port, labels }) => [name, port, labels]),
      [
        ['web1', 2222, labels],
        ['web1-copy', 2223, { ...labels, tier: '1' }],
      ],
    )
  })

  it('offers lines to copy', async (t) => {
    const server = await startConsoleServer(t, { records: [record('web1', 2222)] })
    const page = await openConsole(t, { server, permissions: ['clipboard-read', 'clipboard-write'] })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('button', { name: 'Copy the line to connect with' }).click()
    await page.getByText('Copied: ssh -p 2222 -- deploy@web1.example.net').waitFor()
    assert.equal(
      await page.evaluate('navigator.clipboard.readText()'),
      'ssh -p 2222 -- deploy@web1.example.net',
    )
    await openRecord(page, 'web1')
    await page.getByRole('button', { name: 'Copy curl' }).click()
    await page.getByText('Copied: curl').waitFor()
    assert.equal(
      await page.evaluate('navigator.clipboard.readText()'),
      `curl -H "Authorization: Bearer $TOKEN" ${server.url}/configurations/web1`,
    )
  })

  it('says how many records go through one before it gets another name or is deleted', async (t) => {
    const web1 = { ...record('web1', 22), labels: { 'ssh.proxyjump': 'gate' } }
    const server = await startConsoleServer(t, { records: [web1, record('gate', 2222)] })
    const page = await openConsole(t, { server, expected: { statuses: [404] } })
    await logIn(page, admin.username, admin.password)
    await openRecord(page, 'gate')
    const sentence = page.getByText('1 record goes through it: "web1".')
    await page.getByRole('button', { name: 'Delete…' }).click()
    await sentence.waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name', { exact: true }).fill('door')
    await page.getByRole('button', { name: 'Save' }).click()
    await sentence.waitFor()
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByText('Changed door').waitFor()
  })

  it('offers a line through the records that a label names, and says why there is none', async (t) => {
    const through = (name: string, hop: string) => ({
      ...record(name, 22),
      labels: { 'ssh.proxyjump': hop },
    })
    const records = [through('web1', 'gate'), record('gate', 2222), through('loop', 'loop')]
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, {
      server,
      expected: { statuses: [404] },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await logIn(page, admin.username, admin.password)
    const copies = page.getByRole('button', { name: 'Copy the line to connect with' })
    await copies.nth(2).click()
    const jump = 'ssh -J deploy@gate.example.net:2222 -- deploy@web1.example.net'
    await page.getByText(`Copied: ${jump}`).waitFor()
    await copies.nth(1).click()
    await page.getByText('Cannot copy: the record goes through itself: "loop" > "loop"').waitFor()
    await openRecord(page, 'web1')
    await page.getByText(jump, { exact: true }).waitFor()
    assert.equal((await server.api('PATCH', '/configurations/gate', { body: { port: 22 } })).status, 200)
    await page
      .getByText('ssh -J deploy@gate.example.net:22 -- deploy@web1.example.net', { exact: true })
      .waitFor()
  })
})
