import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { eventually } from '../support/eventually.ts'
import { recordsIn } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { type ConsoleServer, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { backToList, editRecord, openRecord } from './support/record-page.ts'
import { showsNames } from './support/shows-names.ts'

async function streamsOf(server: ConsoleServer): Promise<number> {
  const { text } = await server.api('GET', '/metrics')
  return Number(/^connbook_event_streams (\d+)$/m.exec(text)?.[1])
}

const hasStreams = (server: ConsoleServer, count: number) =>
  eventually(`${count} streams`, async () => (await streamsOf(server)) === count)

/**
 * Waits for the first list of a page that opens, and for the one that it reads when it has a stream. A change before that
 * may come with the list, and then marks no row.
 */
async function isLive(page: Page, open: () => Promise<unknown>): Promise<void> {
  let lists = 0
  page.on('response', (response) => {
    if (response.url().includes('/configurations/?')) lists += 1
  })
  await open()
  await eventually('the page has read its list again', async () => lists > 1)
}

/** Notes which rows get a mark, which they lose soon. @returns Gives the marks so far, as `NAME MARK`. */
async function watchMarks(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(`{
    globalThis.marks = []
    const look = (row) => row.dataset?.mark && marks.push(row.querySelector('.name').textContent + ' ' + row.dataset.mark)
    new MutationObserver((all) => {
      for (const { type, target, addedNodes } of all)
        for (const row of type === 'attributes' ? [target] : addedNodes) look(row)
    }).observe(document.body, { subtree: true, childList: true, attributeFilter: ['data-mark'] })
  }`)
  return () => page.evaluate<string[]>('marks')
}

/**
 * Opens the form of a record `a`, which the server has read for it, but the page does not have the answer.
 *
 * @returns `answer` lets the answer come.
 */
async function openSlowForm(t: TestContext) {
  const server = await startConsoleServer(t, { records: [draft('a')] })
  const page = await openConsole(t, { server, path: '/console/?record=a' })
  // The page reads the record once, and again when the stream begins: in between, only the form reads it.
  const stream = Promise.withResolvers<void>()
  await page.route('**/v1/events*', async (route) => {
    await stream.promise
    await route.continue()
  })
  await logIn(page, admin.username, admin.password)
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  const [isRead, mayCome] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(
    '**/configurations/a',
    async (route) => {
      const response = await route.fetch()
      isRead.resolve()
      await mayCome.promise
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  const asked = page.waitForRequest('**/configurations/a')
  await page.keyboard.press('e')
  await isRead.promise
  const readAgain = page.waitForResponse('**/configurations/a')
  stream.resolve()
  await readAgain
  return {
    server,
    page,
    async answer() {
      mayCome.resolve()
      await (await asked).response()
    },
  }
}

describe("others' changes in the console", { skip: noChromium }, () => {
  it('show in every window, which share one stream, and mark their rows', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('b'), draft('c')] })
    const first = await openConsole(t, { server, isHurried: true })
    await isLive(first, () => logIn(first, admin.username, admin.password))
    await showsNames(first, ['b', 'c'])
    const second = await first.context().newPage()
    await isLive(second, () => second.goto(`${server.url}/console/?q=c`))
    await showsNames(second, ['c'])
    await hasStreams(server, 1)
    const [marks, marksOfSecond] = [await watchMarks(first), await watchMarks(second)]

    await first.getByRole('link', { name: 'c', exact: true }).focus()
    await server.api('POST', '/configurations/', { body: draft('a') })
    await showsNames(first, ['a', 'b', 'c'])
    assert.deepEqual(await marks(), ['a added'])
    assert.equal(await first.evaluate('document.activeElement.textContent'), 'c')
    await server.api('PATCH', '/configurations/c', { body: { hostname: 'moved.example.net' } })
    for (const page of [first, second]) await page.getByText('moved.example.net').waitFor()
    assert.deepEqual([await marks(), await marksOfSecond()], [['a added', 'c changed'], ['c changed']])
    await server.api('DELETE', '/configurations/b')
    await showsNames(first, ['a', 'c'])
    assert.deepEqual(await marks(), ['a added', 'c changed', 'b gone'])

    await first.close()
    await server.api('POST', '/configurations/', { body: draft('cc') })
    await showsNames(second, ['c', 'cc'])
    await hasStreams(server, 1)
  })

  it('go on in a window that heard of one before its first list, when the other window closes', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const first = await openConsole(t, { server, isHurried: true })
    await logIn(first, admin.username, admin.password)
    await showsNames(first, ['a'])
    await hasStreams(server, 1)
    const second = await first.context().newPage()
    const held = Promise.withResolvers<void>()
    await second.route('**/configurations/?*', async (route) => {
      await held.promise
      await route.continue().catch(() => {})
    })
    const asked = second.waitForRequest('**/configurations/?*')
    await second.goto(`${server.url}/console/`)
    await asked
    await server.api('POST', '/configurations/', { body: draft('b') })
    await showsNames(first, ['a', 'b'])
    held.resolve()
    await showsNames(second, ['a', 'b'])
    await first.close()
    await hasStreams(server, 1)
    await server.api('POST', '/configurations/', { body: draft('c') })
    await showsNames(second, ['a', 'b', 'c'])
  })

  it('show although the server is slow and changes keep coming', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, { server, isHurried: true })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a'])
    // Slower than changes are read.
    await page.route('**/configurations/?*', async (route) => {
      await setTimeout(300)
      await route.continue().catch(() => {})
    })
    let added = 0
    await eventually('the list has grown', async () => {
      added += 1
      await server.api('POST', '/configurations/', { body: draft(`b${added}`) })
      return (await page.locator('td.name').count()) > 1
    })
    await page.unrouteAll({ behavior: 'wait' })
  })

  it('mark no row as added that only moved to this page', async (t) => {
    const records = Array.from({ length: 51 }, (_, place) => draft(`m${String(place).padStart(2, '0')}`))
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server, isHurried: true })
    await isLive(page, () => logIn(page, admin.username, admin.password))
    await page.getByText('1–50 of 51').waitFor()
    await hasStreams(server, 1)
    const marks = await watchMarks(page)
    await server.api('DELETE', '/configurations/m07')
    await page.getByRole('link', { name: 'm50', exact: true }).waitFor()
    assert.deepEqual(await marks(), ['m07 gone'])
  })

  it('do not move what one reads', async (t) => {
    const records = Array.from({ length: 49 }, (_, place) => draft(`m${String(place).padStart(2, '0')}`))
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server, isHurried: true, viewport: { width: 1280, height: 500 } })
    await logIn(page, admin.username, admin.password)
    await page.getByText('1–49 of 49').waitFor()
    const read = page.getByRole('link', { name: 'm40', exact: true })
    await read.scrollIntoViewIfNeeded()
    const before = await read.boundingBox()
    await server.api('POST', '/configurations/', { body: draft('a') })
    await page.getByText('1–50 of 50').waitFor()
    const after = await read.boundingBox()
    assert.ok(Math.abs((after?.y ?? 0) - (before?.y ?? 0)) <= 1, `${before?.y} became ${after?.y}`)
  })

  it('are missing while the server is away, and come back by themselves', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, {
      server,
      isHurried: true,
      expected: { hasLostConnections: true, statuses: [503] },
    })
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a'])
    await hasStreams(server, 1)
    await server.stop()
    await page.getByText('Changes of others do not show at the moment.').waitFor()
    await assertAccessible(page)
    await server.startAgain()
    await server.api('POST', '/configurations/', { body: draft('b') })
    await showsNames(page, ['a', 'b'])
    await page.getByText('Changes of others do not show at the moment.').waitFor({ state: 'hidden' })
  })

  it('show without locks, too, as over plain HTTP, and a window that nobody sees has no stream', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, { server, isHurried: true })
    await page.addInitScript('delete Navigator.prototype.locks')
    await page.reload()
    await logIn(page, admin.username, admin.password)
    await showsNames(page, ['a'])
    await hasStreams(server, 1)
    await server.api('POST', '/configurations/', { body: draft('b') })
    await showsNames(page, ['a', 'b'])
    const hide = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await hide(true)
    await hasStreams(server, 0)
    await server.api('POST', '/configurations/', { body: draft('c') })
    await hide(false)
    await showsNames(page, ['a', 'b', 'c'])
    await hasStreams(server, 1)
  })
})

describe('two people who change one record', { skip: noChromium }, () => {
  it('see both versions, and choose', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, { server, expected: { statuses: [412] } })
    await logIn(page, admin.username, admin.password)
    const username = page.getByRole('textbox', { name: 'Username', exact: true })
    const theirs = async (name: string) =>
      assert.equal((await server.api('PATCH', '/configurations/a', { body: { username: name } })).status, 200)
    const shownRecord = async () => recordsIn(await server.api('GET', '/configurations/a'))[0]

    await editRecord(page, 'a')
    await username.fill('mine')
    await theirs('theirs1')
    await page.getByText('Somebody has changed this record. Save shows both versions.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    const versions = page.getByRole('dialog', { name: 'Somebody else was faster' })
    await versions.waitFor()
    assert.deepEqual(await versions.locator('tr.differs').allInnerTexts(), [
      'username\tmine\ttheirs1\tdiffers',
    ])
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Go on editing' }).click()
    assert.equal(await username.inputValue(), 'mine')
    await theirs('theirs2')
    await page.getByText('Somebody has changed this record.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Take theirs' }).click()
    assert.equal(await username.inputValue(), 'theirs2')
    await username.fill('mine again')
    await theirs('theirs3')
    await page.getByText('Somebody has changed this record.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByText('Changed a').waitFor()
    assert.equal((await shownRecord())?.username, 'mine again')

    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await theirs('theirs4')
    await eventually(
      'the untouched form shows what is there',
      async () => (await username.inputValue()) === 'theirs4',
    )
    await page.getByText('theirs4@', { exact: false }).first().waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing has changed').waitFor()
  })

  it('are not asked about fields they did not type, nor about their own changes', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a'), draft('b')] })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    const username = page.getByRole('textbox', { name: 'Username', exact: true })
    const second = await page.context().newPage()
    await second.goto(`${server.url}/console/`)
    await showsNames(second, ['a', 'b'])
    const fact = (text: string) => page.locator('.lines').getByText(text, { exact: true })
    await editRecord(page, 'a')
    await server.api('PATCH', '/configurations/a', { body: { username: 'theirs' } })
    await fact('theirs').waitFor()
    await eventually('the form shows it', async () => (await username.inputValue()) === 'theirs')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    for (const [button, said] of [
      ['Save', 'Changed a'],
      ['Delete', 'Deleted a'],
    ] as const) {
      const answered = Promise.withResolvers<void>()
      await page.route('**/configurations/a', async (route) => {
        if (route.request().method() === 'GET') return route.fallback()
        const response = await route.fetch()
        await answered.promise
        await route.fulfill({ response })
      })
      if (button === 'Save') {
        await page.keyboard.press('e')
        await username.fill('mine')
      } else await page.getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: button, exact: true }).click()
      // The change shows before its answer is here.
      if (button === 'Save') await fact('mine').waitFor()
      else await showsNames(second, ['b'])
      assert.deepEqual(await page.locator('[role=alert]:visible').allInnerTexts(), [])
      answered.resolve()
      await page.getByText(said).waitFor()
      assert.equal(await page.getByText(/Somebody|There is no record/).count(), 0)
      await page.unrouteAll({ behavior: 'wait' })
    }
  })

  it('see both versions without a stream, too', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, { server, expected: { statuses: [412] } })
    await page.route('**/v1/events*', () => {})
    await logIn(page, admin.username, admin.password)
    await openRecord(page, 'a')
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    const read = page.waitForResponse('**/configurations/a')
    await page.keyboard.press('e')
    await read
    await page.getByRole('textbox', { name: 'Username', exact: true }).fill('mine')
    await server.api('PATCH', '/configurations/a', { body: { username: 'theirs', port: 7 } })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'Somebody else was faster' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('textbox', { name: 'Port', exact: true }).fill('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Changed a').waitFor()
    const [record] = recordsIn(await server.api('GET', '/configurations/a'))
    assert.deepEqual([record?.username, record?.port], ['mine', 7])
  })

  it('keep a change that came while the form was still reading the record', async (t) => {
    const { server, page, answer } = await openSlowForm(t)
    await server.api('PATCH', '/configurations/a', { body: { username: 'newest' } })
    const username = page.getByRole('textbox', { name: 'Username', exact: true })
    await eventually('the form shows it', async () => (await username.inputValue()) === 'newest')
    await answer()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing has changed').waitFor()
  })

  it('see both versions of a record that got another name while the form was still reading it', async (t) => {
    const { server, page, answer } = await openSlowForm(t)
    await page.getByRole('textbox', { name: 'Username', exact: true }).fill('mine')
    await page.getByRole('button', { name: 'Save' }).click()
    await server.api('PATCH', '/configurations/a', { body: { name: 'b' } })
    await page.getByRole('heading', { name: 'b', exact: true }).waitFor()
    await answer()
    await page.getByRole('dialog', { name: 'Somebody else was faster' }).waitFor()
    await page.getByRole('button', { name: 'Go on editing' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('b')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Changed b').waitFor()
    assert.equal(recordsIn(await server.api('GET', '/configurations/b'))[0]?.username, 'mine')
  })

  it('are not asked to choose between two versions that are the same', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, {
      server,
      path: '/console/?record=a',
      expected: { statuses: [412] },
    })
    await page.route('**/v1/events*', () => {})
    await logIn(page, admin.username, admin.password)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Username', exact: true }).fill('same')
    await server.api('PATCH', '/configurations/a', { body: { username: 'same' } })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing has changed').waitFor()
    await page.locator('.lines').getByText('same', { exact: true }).waitFor()
  })

  it('are asked once about a delete', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, { server })
    await logIn(page, admin.username, admin.password)
    const held = Promise.withResolvers<void>()
    await page.route('**/configurations/a', async (route) => {
      await held.promise
      await route.continue()
    })
    await openRecord(page, 'a')
    const read = page.waitForResponse('**/configurations/a')
    const remove = page.getByRole('button', { name: 'Delete…' })
    await remove.click()
    await remove.click()
    held.resolve()
    await read
    await page.getByRole('dialog', { name: 'Delete a record' }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await remove.click()
    await page.getByRole('dialog', { name: 'Delete a record' }).waitFor()
    assert.equal(await page.getByRole('dialog', { name: 'Delete a record' }).count(), 1)
  })

  it('are asked at once about a record that goes between two answers', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a')] })
    const page = await openConsole(t, {
      server,
      path: '/console/?record=a',
      expected: { statuses: [404, 412] },
    })
    await page.route('**/v1/events*', () => {})
    await logIn(page, admin.username, admin.password)
    // The page has read the record, so the next to read it is the form.
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    const read = page.waitForResponse('**/configurations/a')
    await page.keyboard.press('e')
    await read
    await page.getByRole('textbox', { name: 'Username', exact: true }).fill('typed')
    await server.api('PATCH', '/configurations/a', { body: { username: 'theirs' } })
    let isThere = true
    await page.route('**/configurations/a', async (route) => {
      const isFirst = isThere && route.request().method() === 'GET'
      isThere &&= !isFirst
      if (isFirst) await server.api('DELETE', '/configurations/a')
      await route.continue()
    })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Add it again' }).click()
    await page.getByText('Added a').waitFor()
    const [record] = recordsIn(await server.api('GET', '/configurations/a'))
    assert.equal(record?.username, 'typed')
  })

  it('keep what was typed when the record is gone or has another name', async (t) => {
    const server = await startConsoleServer(t, { records: [draft('a'), draft('b')] })
    const page = await openConsole(t, { server, expected: { statuses: [404, 412] } })
    await logIn(page, admin.username, admin.password)
    const username = page.getByRole('textbox', { name: 'Username', exact: true })
    await editRecord(page, 'a')
    await username.fill('typed')
    await server.api('DELETE', '/configurations/a')
    await page.getByText('Somebody has deleted this record.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Add it again' }).click()
    await page.getByText('Added a').waitFor()
    assert.equal(recordsIn(await server.api('GET', '/configurations/a'))[0]?.username, 'typed')

    await backToList(page)
    await editRecord(page, 'b')
    await username.fill('typed')
    await server.api('PATCH', '/configurations/b', { body: { name: 'renamed' } })
    await page.getByText('Somebody has changed this record.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Go on editing' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('renamed')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Changed renamed').waitFor()

    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByText('This deletes renamed (typed@').waitFor()
    await server.api('PATCH', '/configurations/renamed', { body: { username: 'other' } })
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('This deletes renamed (other@').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('Deleted renamed').waitFor()
  })
})
