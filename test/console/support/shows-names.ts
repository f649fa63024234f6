import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/eventually.ts'

/** Waits until the list shows exactly these names, with the marks of hidden characters, in this order. */
export async function showsNames(page: Page, expected: readonly string[]): Promise<void> {
  let shown: string[] = []
  const look = async () => {
    shown = await page.locator('td.name').allTextContents()
    return isDeepStrictEqual(shown, expected)
  }
  await eventually('the list shows the names', look).catch(() => assert.deepEqual(shown, expected))
}
