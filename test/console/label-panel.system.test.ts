import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { assertAccessible } from './support/accessible.ts'
import { openConsole } from './support/browser.ts'
import { noChromium } from './support/chromium.ts'
import { reader, startConsoleServer } from './support/console-server.ts'
import { logIn } from './support/log-in.ts'
import { showsNames } from './support/shows-names.ts'

const records = [
  draft('a', { labels: { env: 'prod', group: 'web, db' } }),
  draft('b', { labels: { env: 'prod', group: 'web' } }),
  draft('c', { labels: { env: 'test', group: 'db' } }),
  draft('d', { labels: { env: '' } }),
  draft('e'),
]

const group = (page: Page, key: string) => page.getByRole('group', { name: key, exact: true })
const choice = (page: Page, key: string, name: string) =>
  group(page, key).getByRole('checkbox', { name, exact: true })
const search = (page: Page) => new URL(page.url()).search

describe('the filter by labels in the console', { skip: noChromium }, () => {
  it('keeps records with either value of a key, and with each key, and counts them', async (t) => {
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server })
    await logIn(page, reader.username, reader.password)
    await showsNames(page, ['a', 'b', 'c', 'd', 'e'])
    const button = page.getByRole('button', { name: 'Labels', exact: true })
    assert.equal(await button.getAttribute('aria-expanded'), 'false')
    await button.press('Enter')
    await choice(page, 'env', 'prod 2').check()
    await showsNames(page, ['a', 'b'])
    assert.equal(search(page), '?label=env%3Dprod')
    // The counts of its own key stay; those of other keys are of the kept records.
    await choice(page, 'group', 'web 2').waitFor()
    await choice(page, 'group', 'db 1').waitFor()
    await choice(page, 'env', 'test 1').press('Space')
    await showsNames(page, ['a', 'b', 'c'])
    await choice(page, 'group', 'db 2').waitFor()
    assert.equal(await page.evaluate('document.activeElement.value'), 'env=test')
    await choice(page, 'group', 'db 2').check()
    await showsNames(page, ['a', 'c'])
    assert.equal(search(page), '?label=env%3Dprod&label=env%3Dtest&label=group%3Ddb')
    await assertAccessible(page)
    await choice(page, 'env', 'prod 1').uncheck()
    await showsNames(page, ['c'])
    await page.goBack()
    await showsNames(page, ['a', 'c'])
    await page.getByRole('link', { name: 'Remove the filter label: group=db' }).click()
    await showsNames(page, ['a', 'b', 'c'])
    await choice(page, 'env', 'empty 1').check()
    await showsNames(page, ['a', 'b', 'c', 'd'])
    await page.getByRole('searchbox').fill('nothing')
    await page.getByText('No matching records').waitFor()
    await page.getByRole('link', { name: 'Show all records' }).click()
    await showsNames(page, ['a', 'b', 'c', 'd', 'e'])
    assert.equal(await choice(page, 'env', 'prod 2').isChecked(), false)
    await button.click()
    assert.equal(await group(page, 'env').isVisible(), false)
  })

  it('counts anew when others change labels, and says why it cannot', async (t) => {
    const server = await startConsoleServer(t, { records })
    const page = await openConsole(t, { server, isHurried: true, expected: { statuses: [503] } })
    await logIn(page, admin.username, admin.password)
    await page.getByRole('button', { name: 'Labels', exact: true }).click()
    await choice(page, 'env', 'prod 2').waitFor()
    await server.api('PATCH', '/configurations/e', { body: { labels: { env: 'prod' } } })
    await choice(page, 'env', 'prod 3').waitFor()
    const body = { type: 'urn:connbook:problem:overloaded', status: 503, detail: 'Too many counts' }
    await page.route('**/v1/labels*', (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(body) }),
    )
    await server.api('PATCH', '/configurations/e', { body: { labels: { env: 'other' } } })
    await page.getByText('Too many counts.').waitFor()
  })
})
