import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Lifetime } from '../../support/temporary-folder.ts'
import { getChromium } from './chromium.ts'
import { type Expected, type Finding, watchContext } from './page-watch.ts'

/** Shorter than the time of a test, so that a failure says what was waited for. */
const TIMEOUT_MS = 60_000

/** The rest is as in playwright: `colorScheme`, `viewport`, `reducedMotion`, `javaScriptEnabled`, `offline` and so on. */
export interface ConsoleOptions extends BrowserContextOptions {
  /** The server, or what stands before it; its `url` ends without a slash and may have a base path. */
  readonly server: { readonly url: string }
  /** Begins behind the base path. */
  readonly path?: string
  readonly expected?: Expected
  /** Whether the page's pauses last a tenth, also those in which it shows something. */
  readonly isHurried?: boolean
}

const HURRY = 'const set = setTimeout; setTimeout = (call, ms = 0, ...rest) => set(call, ms / 10, ...rest)'

/**
 * In ms, the most that a page waits, at random, before it sends a call, before it has the answer, and before each event
 * of its stream; not for uploads. It finds tests, and pages, that are right only while answers come at once.
 */
const { CONNBOOK_TEST_DELAY_MS: DELAY_MS_MAX } = process.env
const DELAY = `{
  const [set, send] = [setTimeout, fetch]
  const wait = () => new Promise((resolve) => set(resolve, Math.random() ** 2 * ${DELAY_MS_MAX}))
  fetch = async (...call) => {
    await wait()
    const answer = await send(...call)
    await wait()
    return answer
  }
  const listen = EventSource.prototype.addEventListener
  let last
  EventSource.prototype.addEventListener = function (kind, hear) {
    listen.call(this, kind, (event) => {
      last = Promise.all([last, wait()]).then(() => this.readyState !== EventSource.CLOSED && hear(event))
    })
  }
}`

/** What closes the contexts of a test that is running, and gives their findings. */
const contexts = new WeakMap<object, (() => Promise<readonly Finding[]>)[]>()

/**
 * Opens a page of the console in a context of its own: without cookies and storage, with a window of 1280 by 800, light,
 * with little motion, in English and UTC. `page.context().newPage()` opens a second window of the same browser.
 *
 * When the test ends, the context is closed, and the test fails if a page had an error in the console that `expected` does
 * not name, an uncaught error, a violation of the Content-Security-Policy, a failed request or a request to another host.
 *
 * Wait with locators: `page.waitForFunction` uses `eval`, which the policy forbids.
 *
 * Servers of the same test are stopped before that unless they were started with `closePagesFirst`, as
 * `startConsoleServer` does.
 */
export async function openConsole(
  t: TestContext,
  { server, path = '/console/', expected = {}, isHurried = false, ...options }: ConsoleOptions,
): Promise<Page> {
  const context = await (await getChromium()).newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...options,
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  if (DELAY_MS_MAX !== undefined) await context.addInitScript(DELAY)
  if (isHurried) await context.addInitScript(HURRY)
  const findings = watchContext(context, server.url, expected)
  const open = contexts.get(t) ?? []
  if (open.length === 0) closePagesFirst(t)
  contexts.set(t, [
    ...open,
    async () => {
      const found = await findings()
      if (!t.passed) await reportFailure(t, context, found)
      await context.close()
      return found
    },
  ])
  const page = await context.newPage()
  await page.goto(server.url + path)
  return page
}

/**
 * Has the pages of a test closed before anything that the test starts from now on is stopped. Otherwise they would find
 * their server gone, which is a failed request.
 */
export function closePagesFirst(t: Lifetime): void {
  t.after(async () => {
    const closing = contexts.get(t) ?? []
    contexts.delete(t)
    const findings = (await Promise.all(closing.map((close) => close()))).flat()
    // Last, because a function that throws keeps those behind it from running, which stop servers.
    if (findings.length > 0) t.after(() => assertNoFindings(findings))
  })
}

export function assertNoFindings(findings: readonly Finding[]): void {
  if (findings.length === 0) return
  const lines = findings.map(({ kind, detail }) => `${kind}: ${detail}`)
  assert.fail(`pages did what they must not:\n${lines.join('\n')}`)
}

/** Most failures here are a wait for something that never shows: says what the pages showed, and what they did. */
async function reportFailure(
  t: TestContext,
  context: BrowserContext,
  findings: readonly Finding[],
): Promise<void> {
  for (const page of context.pages()) {
    const shown = await page.locator('body').innerText({ timeout: 2_000 }).catch(String)
    t.diagnostic(`the page ${page.url()} showed:\n${shown}`)
  }
  for (const { kind, detail } of findings) t.diagnostic(`${kind}: ${detail}`)
}
