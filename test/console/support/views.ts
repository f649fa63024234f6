import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { Lifetime } from '../../support/temporary-folder.ts'
import { type ConsoleServer, startConsoleServer } from './console-server.ts'

const PAGE_RECORDS = 50

const record = (id: number) => ({
  name: `web-${id}`,
  hostname: `web-${id}.example.net`,
  port: 22,
  username: 'deploy',
  labels: { env: 'prod', group: 'web,db' },
})
const long = {
  name: 'a name of many words '.repeat(12).trim().slice(0, 255),
  hostname: `${'long-label-of-a-host.'.repeat(10)}example.net`,
  port: 65535,
  username: 'שלום \u202e'.repeat(20),
  labels: { 'ssh.identityfile': '~/.ssh/id_ed25519_of_somebody_with_a_long_name', note: 'x'.repeat(255) },
}

interface ServerOfViews extends ConsoleServer {
  /** Which records the list says that it shows. */
  readonly shown: string
}

/** Has so many records, and one with values as long as they may be. */
export async function startServerOfViews(t: Lifetime, count: number): Promise<ServerOfViews> {
  const records = Array.from({ length: count }, (_, place) => record(place + 1))
  const server = await startConsoleServer(t, { records })
  assert.equal((await server.api('POST', '/configurations/', { body: long })).status, 200)
  return { ...server, shown: `1–${Math.min(count + 1, PAGE_RECORDS)} of ${count + 1}` }
}

/** Opens the list of that server, and goes from there to a view. */
export async function goTo(page: Page, server: ServerOfViews, goThere: View): Promise<void> {
  await page.goto(`${server.url}/console/`)
  await page.getByText(server.shown).waitFor()
  await goThere(page)
}

/** Each view and state: how to come there from the list. */
export const views: Record<string, View> = {
  list: async () => {},
  'nothing-found': async (page) => {
    await page.getByRole('searchbox').fill('nothing')
    await page.getByText('No matching records').waitFor()
  },
  filtered: async (page) => {
    await page.getByRole('link', { name: 'env=prod' }).first().click()
    await page.getByRole('list', { name: 'Filters' }).waitFor()
  },
  selected: async (page) => {
    await selectPage(page)
  },
  'change-many': async (page) => {
    await openSelected(page, 'Change')
  },
  'label-many': async (page) => {
    await openSelected(page, 'Label')
  },
  'delete-many': async (page) => {
    await openSelected(page, 'Delete')
  },
  'export-selected': async (page) => {
    await openSelected(page, 'Export')
  },
  labels: async (page) => {
    await page.getByRole('button', { name: 'Labels', exact: true }).click()
    await page.getByRole('checkbox', { name: /^prod/ }).waitFor()
  },
  add: async (page) => {
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('dialog').waitFor()
  },
  record: async (page) => {
    await openLongRecord(page)
  },
  edit: async (page) => {
    await openLongRecord(page)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('dialog').waitFor()
  },
  'record-gone': async (page) => {
    await page.goto(new URL('?record=nothing', page.url()).href)
    await page.getByText('There is no record nothing.').waitFor()
  },
  history: async (page) => {
    await openLongRecord(page)
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByText(/History goes back to|No record/).waitFor()
  },
  'put-back': async (page) => {
    await openLongRecord(page)
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByRole('button', { name: 'Put back' }).click()
    await page.getByText('This deletes it.').waitFor()
  },
  exchange: async (page) => {
    await page.getByRole('link', { name: 'Import, export' }).click()
    await page.getByRole('heading', { name: 'Export' }).waitFor()
  },
  activity: async (page) => {
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByText(/^History goes back to/).waitFor()
  },
  deleted: async (page) => {
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByRole('link', { name: 'Deleted', exact: true }).click()
    await page.getByText(/^No deleted records/).waitFor()
  },
  operation: async (page) => {
    await page.getByRole('link', { name: 'Status' }).click()
    await page.getByText('Ready · takes changes').waitFor()
  },
  accounts: async (page) => {
    await page.getByRole('link', { name: 'Accounts' }).click()
    await page.getByRole('button', { name: 'Change script' }).waitFor()
  },
  account: async (page) => {
    await page.getByRole('link', { name: 'Accounts' }).click()
    await page.getByRole('button', { name: 'Add a client' }).click()
    await page.getByRole('dialog').waitFor()
  },
  keys: async (page) => {
    await page.getByRole('button', { name: 'Shortcuts' }).click()
  },
}

type View = (page: Page) => Promise<void>

async function selectPage(page: Page): Promise<void> {
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
  await page.getByText(/^\d+ selected$/).waitFor()
}

async function openSelected(page: Page, word: string): Promise<void> {
  await selectPage(page)
  await page.getByRole('button', { name: word, exact: true }).click()
  await page.getByText(/^This [a-z]+ \d+ records/).waitFor()
}

async function openLongRecord(page: Page): Promise<void> {
  await page.getByRole('link', { name: /^a name of many words/ }).click()
  await page.getByRole('button', { name: 'Delete…' }).waitFor()
}

/** Makes the window narrower or wider, and asserts that it need not be scrolled sideways. */
export async function assertFits(page: Page, width: number, view: string): Promise<void> {
  await page.setViewportSize({ width, height: 800 })
  const fits = await page.evaluate('document.documentElement.scrollWidth <= innerWidth')
  assert.equal(fits, true, `${view} is wider than ${width} px`)
}
